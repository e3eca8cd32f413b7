defmodule Broker.Session do
  # A client by its name: what it has subscribed to, and what it has still to get. It writes to the socket of the connection that
  # it has at the moment; the reader of that connection sends it what the client wants.
  #
  #     {reader, {:attach, link, clean, hello}} a client has come; the reader gets `{:session, address}`, or `:again`
  #     {reader, {:subscribe, id, filters}}, {reader, {:unsubscribe, id, filters}}, {reader, {:acknowledged, id}}
  #     {reader, {:write, frame}}            an answer that needs no session
  #     {reader, {:left, kept_will, expiry, farewell}}
  #                                          it has gone; an expiry of `nil` is the one of its CONNECT, a farewell of `nil`
  #                                          says that nobody would hear it
  #     {:deliver, message, options, kept}   a message for a subscription
  #
  # `link` is a map: reader, socket, version, window and most (what the client takes), expiry (seconds that the session lasts without
  # a connection), will (`{message, seconds}` or `nil`). `hello` has properties of the answer.
  #
  # Invariants:
  # 1. Only the reader of the last connection is heard. An earlier one is dismissed: it gets the answer to what is written last, or
  #    `:late`, and closes.
  # 2. A client that does not take what is written is behind. One write of many asks for its answer; while there is none, 1,000
  #    more are written at most, and messages of QoS 0 are lost beyond that.
  # 3. A session that ends has left all topics, and the directory, before it forgets who came meanwhile.
  @moduledoc false
  use Mote.Behaviour

  alias Broker.{Frame, Outgoing}

  @most_behind 1_000
  # Milliseconds that a client has to take what is written last.
  @farewell 2_000
  @never 0xFFFFFFFF

  @doc "A session that nobody has come to yet. `me` is the name of its client, the root of the topics, and the shard of the directory."
  defactor unused(me) do
    {_reader, {:attach, link, _clean, hello}} -> attach(me, link, hello, MapSet.new(), %Outgoing{}, false)
  end

  # `behind` is how much was written since the write that has no answer yet, or `nil`.
  defactor connected(me, link, filters, out, behind) do
    {:deliver, message, options, kept} ->
      how = if kept or (message.retain and options.as_published), do: [:retain], else: []

      cond do
        options.no_local and message.from == self() ->
          :its_own

        message.qos == 1 and options.qos == 1 ->
          {new, out} = Outgoing.put(out, delivery(message, how, options), link.window, now())
          become out: out, behind: emit(link, behind, new, [])

        behind == nil or behind < @most_behind ->
          become behind: write(link, behind, plain(link.version, message, how, options))

        true ->
          :lost
      end

    :ok ->
      become behind: nil

    {_reader, {:attach, new, clean, hello}} ->
      dismiss(link, Frame.disconnect(link.version, 0x8E))
      ends = clean or link.expiry == 0
      with {will, delay} when ends or delay == 0 <- link.will, do: publish(me, will)
      take_up(me, new, hello, filters, out, ends)

    {reader, {:write, frame}} when reader == link.reader ->
      become behind: write(link, behind, frame)

    {reader, {:acknowledged, id}} when reader == link.reader ->
      {new, out} = Outgoing.acknowledged(out, id, link.window, now())
      become out: out, behind: emit(link, behind, new, [])

    {reader, {:subscribe, id, wanted}} when reader == link.reader ->
      answer = Frame.suback(link.version, id, for({_, options} <- wanted, do: options.qos))
      kept = Enum.filter(wanted, fn {filter, options} -> kept?(filter, options, filters) end)
      done = changes(reader, wanted, answer, kept)

      for {{group, levels}, options} <- wanted,
          do: change(me, levels, {:subscribe, group, self(), options}, done)

      become filters: MapSet.union(filters, MapSet.new(wanted, fn {filter, _} -> filter end))

    {reader, {:unsubscribe, id, unwanted}} when reader == link.reader ->
      codes = for {filter, _} <- unwanted, do: if(MapSet.member?(filters, filter), do: 0, else: 0x11)
      done = changes(reader, unwanted, Frame.unsuback(link.version, id, codes), [])
      for {{group, levels}, _} <- unwanted, do: change(me, levels, {:unsubscribe, group, self()}, done)
      become filters: MapSet.difference(filters, MapSet.new(unwanted, fn {filter, _} -> filter end))

    # The topics have changed.
    {reader, {:changed, answer, kept}} when reader == link.reader ->
      for {{nil, levels}, options} <- kept, do: send(elem(me, 1), {:kept, levels, self(), options})
      become behind: write(link, behind, answer)

    {reader, {:left, kept_will, expiry, farewell}} when reader == link.reader ->
      if farewell, do: dismiss(link, farewell)
      # A session that was to end with its connection cannot be prolonged.
      seconds = if expiry == nil or link.expiry == 0, do: link.expiry, else: expiry
      {will, delay} = if kept_will and link.will != nil, do: link.will, else: {nil, 0}
      due = seconds == 0 or delay == 0
      if due and will != nil, do: publish(me, will)

      if seconds == 0 do
        finish(me, filters)
      else
        later = if not due and delay < seconds, do: send_after(1_000 * delay, self(), :will)
        become away(me, filters, out, if(due, do: nil, else: will), [later, expiring(seconds)])
      end
  end

  # Without a connection.
  defactor away(me, filters, out, will, timers) do
    {:deliver, message, options, kept} when message.qos == 1 and options.qos == 1 ->
      how = if kept or (message.retain and options.as_published), do: [:retain], else: []
      {[], out} = Outgoing.put(out, delivery(message, how, options), 0, 0)
      become out: out

    {_reader, {:attach, link, clean, hello}} ->
      Enum.each(timers, &cancel_timer/1)
      if clean and will != nil, do: publish(me, will)
      take_up(me, link, hello, filters, out, clean)

    :will when will != nil ->
      publish(me, will)
      become will: nil

    :expired ->
      if will != nil, do: publish(me, will)
      finish(me, filters)
  end

  # Waits for the directory. Who comes meanwhile is to try again.
  defactor ended(waiting) do
    {reader, {:attach, _link, _clean, _hello}} ->
      become waiting: [reader | waiting]

    removed when is_boolean(removed) ->
      Enum.each(waiting, &send(&1, :again))
      become sink()
  end

  # -- connections that come and go ----------------------------------------------------------------------------

  # A connection after another one: as if there had been none, if that session has ended.
  defeffect take_up(me, link, hello, filters, _out, true) do
    leave_topics(me, filters)
    attach(me, link, hello, MapSet.new(), %Outgoing{}, false)
  end

  defeffect take_up(me, link, hello, filters, out, false), do: attach(me, link, hello, filters, out, true)

  defeffect attach(me, link, hello, filters, out, present) do
    behind = write(link, nil, Frame.connack(link.version, 0, present, hello))
    send link.reader, {:session, self()}
    behind = emit(link, behind, out.sent, [:dup])
    {new, out} = Outgoing.pump(out, link.window, now())
    become connected(me, link, filters, out, emit(link, behind, new, []))
  end

  defeffect finish({name, _root, shard} = me, filters) do
    leave_topics(me, filters)
    send shard, {self(), {:delete, name, self()}}
    become ended([])
  end

  defeffect leave_topics(me, filters) do
    for {group, levels} <- MapSet.to_list(filters), do: change(me, levels, {:unsubscribe, group, self()}, nil)
  end

  defeffect publish({_name, root, _shard}, message), do: send(root, {:publish, message})

  defeffect change({_name, root, _shard}, levels, change, done),
    do: send(root, {:change, levels, change, done})

  # The answer is due when all topics have said that they have changed.
  defeffect changes(reader, filters, answer, kept) do
    create gather(self(), length(filters), {reader, {:changed, answer, kept}}, fn _, done -> done end)
  end

  defeffect expiring(@never), do: nil
  defeffect expiring(seconds), do: send_after(1_000 * seconds, self(), :expired)

  # -- writing -------------------------------------------------------------------------------------------------

  defeffect emit(link, behind, messages, how) do
    now = now()

    Enum.reduce(messages, behind, fn {id, %{message: message, how: kept, subscription: subscription}},
                                     behind ->
      write(link, behind, Frame.publish(link.version, message, id, how ++ kept, subscription, now))
    end)
  end

  # What is more than the client takes counts as sent.
  defeffect write(%{most: most}, behind, frame) when byte_size(frame) > most, do: behind

  defeffect write(link, nil, frame) do
    send link.socket, {self(), {:write, frame}}
    0
  end

  defeffect write(link, behind, frame) do
    send link.socket, {nil, {:write, frame}}
    behind + 1
  end

  defeffect dismiss(link, farewell) do
    send link.socket, {link.reader, {:write, farewell}}
    send_after @farewell, link.reader, :late
  end

  defpurep delivery(message, how, options),
    do: %{message: message, how: how, subscription: options.subscription, expires: message.expires}

  # A message of QoS 0 goes out as it came in, if it can.
  defpurep plain(version, %{frame: {version, bytes}}, [], %{subscription: nil}), do: bytes

  defpurep plain(version, message, how, options),
    do: Frame.publish(version, message, nil, how, options.subscription, now())

  # Whether a subscription wants what is retained: always, if it is new, or never. One that is shared does not.
  defpurep kept?({nil, _} = filter, %{retained: retained}, filters),
    do: retained == 0 or (retained == 1 and not MapSet.member?(filters, filter))

  defpurep kept?(_filter, _options, _filters), do: false

  defpurep now(), do: System.monotonic_time(:millisecond)
end
