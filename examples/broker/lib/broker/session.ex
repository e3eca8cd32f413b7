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
  # `link` is `{reader, socket, terms}` (reader.ex), `hello` has properties of the answer.
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

  @doc "A session that nobody has come to yet. `env` has the root of the topics and the directory, `name` is its client's."
  defactor unused(env, name) do
    {_reader, {:attach, link, _clean, hello}} ->
      attach(env, name, link, hello, MapSet.new(), %Outgoing{}, false)
  end

  # `mine` is the reader of the last connection, `behind` how much was written since the write that has no answer yet, or `nil`.
  defactor connected(env, name, mine, socket, terms, filters, out, behind) do
    {:deliver, message, options, kept} ->
      how = if kept or (message.retain and options.as_published), do: [:retain], else: []

      cond do
        options.no_local and message.from == self() ->
          :its_own

        message.qos == 1 and options.qos == 1 ->
          {new, out} = Outgoing.put(out, delivery(message, how, options), terms.window, now())
          become out: out, behind: emit(socket, terms, behind, new, [])

        behind == nil or behind < @most_behind ->
          become behind: write(socket, terms, behind, plain(terms.version, message, how, options))

        true ->
          :lost
      end

    :ok ->
      become behind: nil

    {_reader, {:attach, new, clean, hello}} ->
      dismiss(mine, socket, Frame.disconnect(terms.version, 0x8E))
      ends = clean or terms.expiry == 0
      with {will, delay} when ends or delay == 0 <- terms.will, do: publish(env, will)
      take_up(env, name, new, hello, filters, out, ends)

    {reader, {:write, frame}} when reader == mine ->
      become behind: write(socket, terms, behind, frame)

    {reader, {:acknowledged, id}} when reader == mine ->
      {new, out} = Outgoing.acknowledged(out, id, terms.window, now())
      become out: out, behind: emit(socket, terms, behind, new, [])

    {reader, {:subscribe, id, wanted}} when reader == mine ->
      answer = Frame.suback(terms.version, id, for({_, options} <- wanted, do: options.qos))
      kept = Enum.filter(wanted, fn {filter, options} -> kept?(filter, options, filters) end)
      done = changes(reader, wanted, answer, kept)

      for {{group, levels}, options} <- wanted,
          do: change(env, levels, {:subscribe, group, self(), options}, done)

      become filters: MapSet.union(filters, MapSet.new(wanted, fn {filter, _} -> filter end))

    {reader, {:unsubscribe, id, unwanted}} when reader == mine ->
      codes = for {filter, _} <- unwanted, do: if(MapSet.member?(filters, filter), do: 0, else: 0x11)
      done = changes(reader, unwanted, Frame.unsuback(terms.version, id, codes), [])
      for {{group, levels}, _} <- unwanted, do: change(env, levels, {:unsubscribe, group, self()}, done)
      become filters: MapSet.difference(filters, MapSet.new(unwanted, fn {filter, _} -> filter end))

    # The topics have changed.
    {reader, {:changed, answer, kept}} when reader == mine ->
      for {{nil, levels}, options} <- kept, do: send(env.root, {:kept, levels, self(), options})
      become behind: write(socket, terms, behind, answer)

    {reader, {:left, kept_will, expiry, farewell}} when reader == mine ->
      if farewell, do: dismiss(mine, socket, farewell)
      # A session that was to end with its connection cannot be prolonged.
      seconds = if expiry == nil or terms.expiry == 0, do: terms.expiry, else: expiry
      {will, delay} = if kept_will and terms.will != nil, do: terms.will, else: {nil, 0}
      due = seconds == 0 or delay == 0
      if due and will != nil, do: publish(env, will)

      if seconds == 0 do
        finish(env, name, filters)
      else
        later = if not due and delay < seconds, do: send_after(1_000 * delay, self(), :will)
        become away(env, name, filters, out, if(due, do: nil, else: will), [later, expiring(seconds)])
      end
  end

  # Without a connection.
  defactor away(env, name, filters, out, will, timers) do
    {:deliver, message, options, kept} when message.qos == 1 and options.qos == 1 ->
      how = if kept or (message.retain and options.as_published), do: [:retain], else: []
      {[], out} = Outgoing.put(out, delivery(message, how, options), 0, 0)
      become out: out

    {_reader, {:attach, link, clean, hello}} ->
      Enum.each(timers, &cancel_timer/1)
      if clean and will != nil, do: publish(env, will)
      take_up(env, name, link, hello, filters, out, clean)

    :will when will != nil ->
      publish(env, will)
      become will: nil

    :expired ->
      if will != nil, do: publish(env, will)
      finish(env, name, filters)
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
  defeffect take_up(env, name, link, hello, filters, _out, true) do
    leave_topics(env, filters)
    attach(env, name, link, hello, MapSet.new(), %Outgoing{}, false)
  end

  defeffect take_up(env, name, link, hello, filters, out, false),
    do: attach(env, name, link, hello, filters, out, true)

  defeffect attach(env, name, {reader, socket, terms}, hello, filters, out, present) do
    behind = write(socket, terms, nil, Frame.connack(terms.version, 0, present, hello))
    send reader, {:session, self()}
    behind = emit(socket, terms, behind, out.sent, [:dup])
    {new, out} = Outgoing.pump(out, terms.window, now())
    become connected(env, name, reader, socket, terms, filters, out, emit(socket, terms, behind, new, []))
  end

  defeffect finish(env, name, filters) do
    leave_topics(env, filters)
    send Mote.Directory.shard(env.sessions, name), {self(), {:delete, name, self()}}
    become ended([])
  end

  defeffect leave_topics(env, filters) do
    for {group, levels} <- MapSet.to_list(filters),
        do: change(env, levels, {:unsubscribe, group, self()}, nil)
  end

  defeffect publish(env, message), do: send(env.root, {:publish, message})

  defeffect change(env, levels, change, done), do: send(env.root, {:change, levels, change, done})

  # The answer is due when all topics have said that they have changed.
  defeffect changes(reader, filters, answer, kept) do
    create gather(self(), length(filters), {reader, {:changed, answer, kept}}, fn _, done -> done end)
  end

  defeffect expiring(@never), do: nil
  defeffect expiring(seconds), do: send_after(1_000 * seconds, self(), :expired)

  # -- writing -------------------------------------------------------------------------------------------------

  defeffect emit(socket, terms, behind, messages, how) do
    now = now()

    Enum.reduce(messages, behind, fn {id, %{message: message, how: kept, subscription: subscription}},
                                     behind ->
      write(socket, terms, behind, Frame.publish(terms.version, message, id, how ++ kept, subscription, now))
    end)
  end

  # What is more than the client takes counts as sent.
  defeffect write(_socket, %{most: most}, behind, frame) when byte_size(frame) > most, do: behind

  defeffect write(socket, _terms, nil, frame) do
    send socket, {self(), {:write, frame}}
    0
  end

  defeffect write(socket, _terms, behind, frame) do
    send socket, {nil, {:write, frame}}
    behind + 1
  end

  defeffect dismiss(reader, socket, farewell) do
    send socket, {reader, {:write, farewell}}
    send_after @farewell, reader, :late
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
