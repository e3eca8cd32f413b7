defmodule Mote.Proven.Registers do
  # A register of several servers, by Attiya, Bar-Noy and Dolev ("Sharing memory robustly in message-passing systems", 1995), as in Stateright's
  # example "linearizable register" with an ordered network: each client writes a value by one server, and then reads by the next. Whoever
  # serves asks all for what they know, takes what is newest, has all record it, and goes on when a majority has answered. Wrong: one
  # is a majority, so it reads what it knows itself.
  @moduledoc false

  defmodule Abd do
    use Mote.Behaviour

    defactor new(me, quorum) do
      {:peers, peers} -> become idle(me, quorum, peers, {0, 0}, nil)
      {_from, _request} -> stash()
    end

    # `seq`: when the value was written, `{clock, server}`.
    defactor idle(me, quorum, peers, seq, value) do
      {client, {:write, new}} ->
        for peer <- peers, do: send(peer, {self(), :query})
        become asks(me, quorum, peers, seq, value, {client, {:write, new}}, 1, {seq, value})

      {client, :read} when quorum == 1 ->
        send(client, {:read, value})

      {client, :read} ->
        for peer <- peers, do: send(peer, {self(), :query})
        become asks(me, quorum, peers, seq, value, {client, :read}, 1, {seq, value})

      {from, :query} ->
        send from, {:known, {seq, value}}

      {from, {:record, at, new}} ->
        send from, :recorded
        if at > seq, do: become(idle(me, quorum, peers, at, new))

      {:known, _} ->
        :ok

      :recorded ->
        :ok
    end

    # `count`: who has answered, itself included; `best`: the newest that is known.
    defactor asks(me, quorum, peers, seq, value, request, count, best) do
      {_client, {:write, _new}} ->
        stash()

      {_client, :read} ->
        stash()

      {from, :query} ->
        send from, {:known, {seq, value}}

      {from, {:record, at, new}} ->
        send from, :recorded
        if at > seq, do: become(asks(me, quorum, peers, at, new, request, count, best))

      {:known, {other, known}} ->
        {best_seq, _} = best
        best = if other > best_seq, do: {other, known}, else: best

        if count + 1 < quorum do
          become asks(me, quorum, peers, seq, value, request, count + 1, best)
        else
          {client, what} = request
          {{clock, _} = newest, known} = best

          {at, new, answer} =
            case what do
              {:write, new} -> {{clock + 1, me}, new, :written}
              :read -> {newest, known, {:read, known}}
            end

          for peer <- peers, do: send(peer, {self(), {:record, at, new}})

          if quorum == 1 do
            send client, answer

            become idle(
                     me,
                     quorum,
                     peers,
                     if(at > seq, do: at, else: seq),
                     if(at > seq, do: new, else: value)
                   )
          else
            {mine, held} = if at > seq, do: {at, new}, else: {seq, value}
            become records(me, quorum, peers, mine, held, client, answer, 1)
          end
        end

      :recorded ->
        :ok
    end

    defactor records(me, quorum, peers, seq, value, client, answer, count) do
      {_client, {:write, _new}} ->
        stash()

      {_client, :read} ->
        stash()

      {from, :query} ->
        send from, {:known, {seq, value}}

      {from, {:record, at, new}} ->
        send from, :recorded
        if at > seq, do: become(records(me, quorum, peers, at, new, client, answer, count))

      {:known, _} ->
        :ok

      :recorded when count + 1 < quorum ->
        become records(me, quorum, peers, seq, value, client, answer, count + 1)

      :recorded ->
        send client, answer
        become idle(me, quorum, peers, seq, value)
    end

    # `log`: hears when each begins, and what it has come to.
    defactor client(me, to, from, log) do
      :go ->
        send log, {:begin, me, {:write, me}}
        send to, {self(), {:write, me}}

      :written ->
        send log, {:end, me, :written}
        send log, {:begin, me, :read}
        send from, {self(), :read}

      {:read, value} ->
        send log, {:end, me, {:read, value}}
        become sink()
    end
  end

  @doc "So many servers and clients. Returns the outbox that hears what clients do."
  def abd(machine, servers, clients, opts \\ []) do
    log = Mote.Outbox.open(machine)
    quorum = if opts[:wrong], do: 1, else: div(servers, 2) + 1
    servers = for me <- 1..servers, do: Mote.create(machine, Abd.new(me, quorum))
    for server <- servers, do: Mote.send(server, {:peers, servers -- [server]})

    for me <- 1..clients do
      [to, from] = for n <- [me, me + 1], do: Enum.at(servers, rem(n, length(servers)))
      Mote.send(Mote.create(machine, Abd.client(me, to, from, log)), :go)
    end

    log
  end

  @doc "Whether what clients have seen could have happened one after the other, each while it was asked for."
  def linearizable?(history), do: linearizable?(history, [], nil)

  # `open`: what has begun and has not taken effect, or has and is not over: `{client, what, result}`.
  defp linearizable?(history, open, value) do
    goes_on?(history, open, value) or
      Enum.any?(open, fn {client, what, result} ->
        result == :open and
          case what do
            {:write, new} -> linearizable?(history, effect(open, client, :written), new)
            :read -> linearizable?(history, effect(open, client, {:read, value}), value)
          end
      end)
  end

  defp goes_on?([], _open, _value), do: true

  defp goes_on?([{:begin, who, what} | rest], open, value),
    do: linearizable?(rest, [{who, what, :open} | open], value)

  defp goes_on?([{:end, who, result} | rest], open, value) do
    with {^who, _what, ^result} = done <- List.keyfind(open, who, 0),
         do: linearizable?(rest, open -- [done], value),
         else: (_ -> false)
  end

  defp effect(open, client, result) do
    {^client, what, :open} = List.keyfind(open, client, 0)
    List.keyreplace(open, client, 0, {client, what, result})
  end
end
