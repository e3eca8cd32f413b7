defmodule Mote.ProveReductionTest do
  # The search of `Mote.Test.prove/3` leaves out orders that make no difference. Here generated programs are run in every order by
  # brute force as well: the same ends must come out.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.EveryOrder
  alias Mote.Reference.Address

  defmodule Steps do
    defmacro run(steps, peers, out, me) do
      quote do
        for {to, message} <- unquote(steps) do
          case to do
            :out -> send unquote(out), message
            :self -> send unquote(me), message
            :new -> send create(child(unquote(me), unquote(peers), unquote(out), [])), message
            :relay -> send create(relay(unquote(peers), unquote(out))), message
            {:after, delay, n} -> send_after(delay, elem(unquote(peers), n), message)
            # Tells who it is, to be sent something.
            {:hi, n} -> send elem(unquote(peers), n), {:hi, message, unquote(me)}
            n -> send elem(unquote(peers), n), message
          end
        end
      end
    end
  end

  defmodule Web do
    use Mote.Behaviour
    import Steps

    # What a message does is in the message: a list of steps, `{receiver, steps}`, where receivers are peers by number, `:out`, a
    # new actor (`:new`, `:relay`), itself (`:self`), or a peer that answers (`{:hi, peer}`). Each changes the log, by which orders are told apart.
    defactor node(log, peers, out) do
      {customer, :log} ->
        send customer, {:log, log}

      {:do, name, steps} ->
        run(steps, peers, out, self())
        become node([name | log], peers, out)

      {:hi, message, from} ->
        send from, message
        become node([:hi | log], peers, out)

      # Keeps what comes, up to the next `:open`.
      {:shut, name} ->
        become shut([name | log], peers, out)
    end

    defactor shut(log, peers, out) do
      {customer, :log} -> send customer, {:log, log}
      {:open, name} -> become node([name | log], peers, out)
      {:do, _name, _steps} -> stash()
      {:shut, _name} -> stash()
      {:hi, _message, _from} -> stash()
    end

    # It never becomes: what it is sent, and what it sends, has no order.
    defactor relay(peers, out) do
      {:do, _name, steps} -> run(steps, peers, out, self())
      {:hi, message, from} -> send from, message
    end

    # Sets timers, and remembers and cancels the last one.
    defactor waker(log, peers, timer) do
      {customer, :log} ->
        send customer, {:log, log}

      {:watch, process, n, message} ->
        become waker(log, peers, monitor(process, elem(peers, n), message))

      {:set, delay, n, message} ->
        become waker(log, peers, send_after(delay, elem(peers, n), message))

      {:cancel, name} ->
        if timer, do: cancel_timer(timer)
        become waker([name | log], peers, nil)
    end

    # It holds whom it was made by.
    defactor child(maker, peers, out, log) do
      {:do, name, steps} ->
        run(steps, peers, out, maker)
        become child(maker, peers, out, [name | log])
    end
  end

  @runs if Mote.Long.long?(), do: 20_000, else: 60
  @safe [:relay]
  # A few thousand situations by brute force.
  @most 4_000

  # -- generated programs --------------------------------------------------------------------------------------

  # Actors know each other as {number of nodes, number of relays}; a program is what is sent to whom at first.
  defp program do
    gen all nodes <- integer(1..3),
            relays <- integer(0..1),
            sent <- list_of(message(nodes + relays, 2), min_length: 1, max_length: 4) do
      {nodes, relays, Enum.map(sent, fn {to, message} -> {if(is_integer(to), do: to, else: 0), message} end)}
    end
  end

  # Two nodes and as many wakers, timers from outside, and messages to wakers, each by another.
  defp timed do
    gen all timers <- list_of(tuple({integer(1..3), integer(0..1), set_off()}), max_length: 2),
            sent <- list_of(tuple({integer(0..1), waking()}), min_length: 1, max_length: 3) do
      {timers, sent}
    end
  end

  defp waking do
    frequency([
      {4, tuple({constant(:set), integer(1..3), integer(0..1), set_off()})},
      {2, tuple({constant(:cancel), integer(0..9)})},
      {2, tuple({constant(:watch), member_of([:a, :b]), integer(0..1), set_off()})}
    ])
  end

  # What comes when it is time, which may set another timer.
  defp set_off do
    after_it = tuple({tuple({constant(:after), integer(1..3), integer(0..1)}), constant({:do, :late, []})})
    tuple({constant(:do), integer(0..9), list_of(after_it, max_length: 1)})
  end

  defp message(actors, depth) do
    peer = integer(0..(actors - 1))

    to =
      frequency([{6, peer}, {2, tuple({constant(:hi), peer})}, {2, member_of([:out, :self, :new, :relay])}])

    gen all to <- to,
            name <- integer(0..9),
            kind <- frequency([{5, constant(:do)}, {2, constant(:shut)}, {2, constant(:open)}]),
            steps <-
              if(depth == 0,
                do: constant([]),
                else: list_of(message(actors, depth - 1), min_length: 0, max_length: 2)
              ) do
      {to, if(kind == :do, do: {:do, name, steps}, else: {kind, name})}
    end
  end

  # Nobody leaves open who is shut, but by a message: what a relay or a child cannot do is nobody's fault here.
  @allow [:ignored, :stashed]

  defp web(peers, nodes, relays, out, create) do
    # Each knows those made before it, and itself not: the first ones are known by all.
    Enum.reduce(1..(nodes + relays), peers, fn n, peers ->
      known = List.to_tuple(peers ++ List.duplicate(List.first(peers) || out, nodes + relays - length(peers)))
      peers ++ [create.(if(n <= nodes, do: Web.node([], known, out), else: Web.relay(known, out)))]
    end)
  end

  # Which of the peers are at fault, by number.
  @faultless %{loses: [], doubles: [], aborts: []}

  defp faults(peers, at), do: for(n <- at, peer = Enum.at(peers, n), do: peer)

  defp proved({nodes, relays, sent}, faults \\ @faultless) do
    test = self()
    ref = make_ref()

    graph = fn machine ->
      out = Mote.Outbox.open(machine)
      peers = web([], nodes, relays, out, &Mote.create(machine, &1))
      for {to, message} <- sent, do: Mote.send(Enum.at(peers, to), message)
      {peers, out}
    end

    look = fn {peers, out} ->
      send(test, {ref, {logs(Enum.take(peers, nodes)), heard(Mote.Outbox.take(out))}})
    end

    faults = for {fault, at} <- faults, at != [], do: {fault, fn {peers, _out} -> faults(peers, at) end}
    result = Mote.Test.prove(graph, look, [allow: @allow] ++ faults)
    {result, received(ref, [])}
  end

  defp logs(actors) do
    for actor <- actors do
      {:ok, seen} = Mote.peek(actor)
      elem(seen, 1)
    end
  end

  # Without the address of who says it, which is another each time.
  defp heard(messages) do
    for message <- messages,
        do: if(match?({:hi, _, _}, message), do: Tuple.delete_at(message, 2), else: message)
  end

  defp received(ref, all) do
    receive do
      {^ref, seen} -> received(ref, [seen | all])
    after
      0 -> all |> Enum.uniq() |> Enum.sort()
    end
  end

  defp forced({nodes, relays, sent}, faults \\ @faultless) do
    {:ok, agent} = Agent.start_link(fn -> %EveryOrder{} end)
    create = fn behaviour -> Agent.get_and_update(agent, &EveryOrder.create(&1, behaviour)) end
    peers = web([], nodes, relays, Mote.Reference.customer(:out), create)
    state = Agent.get(agent, & &1)
    Agent.stop(agent)

    faults =
      Map.new(faults, fn {fault, at} -> {fault, for(%Address{id: id} <- faults(peers, at), do: id)} end)

    state = %{state | faults: faults}

    state =
      Enum.reduce(sent, state, fn {to, message}, state ->
        EveryOrder.send(state, Enum.at(peers, to), message)
      end)

    with {ends, turns} <- EveryOrder.ends(state, @safe, @most) do
      seen =
        for state <- ends do
          logs = for %Address{id: id} <- Enum.take(peers, nodes), do: elem(state.actors[id].captures, 0)
          {logs, heard(Enum.map(state.outside, &elem(&1, 1)))}
        end

      {seen |> Enum.uniq() |> Enum.sort(), turns}
    end
  end

  property "all ends that there are, and no others" do
    check all program <- program(), max_runs: @runs do
      with {ends, turns} <- forced(program) do
        {result, found} = proved(program)
        assert {:proved, counts} = result
        assert found == ends
        assert counts.turns <= turns
      end
    end
  end

  # What is written down of a situation that a look has come to, and has then forgotten for a turn that was not known.
  test "also where an aborted turn leads to what was come to before" do
    relayed = {:do, 0, [{0, {:do, 0, []}}, {{:hi, 0}, {:do, 0, []}}]}
    program = {1, 1, [{1, relayed}, {0, {:do, 0, []}}, {0, {:do, 0, []}}]}
    faults = %{@faultless | aborts: [0]}
    {ends, _turns} = forced(program, faults)
    assert {{:proved, _counts}, ^ends} = proved(program, faults)
  end

  # Two processes that may end, for all that a machine knows.
  defp process(name) do
    with nil <- Process.get(name) do
      pid = spawn_link(fn -> Process.sleep(:infinity) end)
      Process.put(name, pid)
      pid
    end
  end

  defp rigged({timers, sent}, create, send, send_after) do
    watching = fn
      message when elem(message, 0) == :watch -> put_elem(message, 1, process(elem(message, 1)))
      message -> message
    end

    sent = for {to, message} <- sent, do: {to, watching.(message)}
    peers = web([], 2, 0, create.(Mote.Library.sink()), create)
    wakers = for _ <- 1..2, do: create.(Web.waker([], List.to_tuple(peers), nil))
    for {delay, to, message} <- timers, do: send_after.(Enum.at(peers, to), message, delay)
    for {to, message} <- sent, do: send.(create.(Mote.Library.fwd(Enum.at(wakers, to))), message)
    peers ++ wakers
  end

  defp proved_timed(program) do
    {test, ref} = {self(), make_ref()}
    graph = fn machine -> rigged(program, &Mote.create(machine, &1), &Mote.send/2, &Mote.send_after/3) end
    result = Mote.Test.prove(graph, &send(test, {ref, logs(&1)}))
    {result, received(ref, [])}
  end

  defp forced_timed(program) do
    {:ok, agent} = Agent.start_link(fn -> %EveryOrder{} end)
    create = fn behaviour -> Agent.get_and_update(agent, &EveryOrder.create(&1, behaviour)) end
    send = fn to, message -> Agent.update(agent, &EveryOrder.send(&1, to, message)) end

    send_after = fn to, message, delay ->
      Agent.update(agent, &EveryOrder.send_after(&1, delay, to, message))
    end

    actors = rigged(program, create, send, send_after)
    state = Agent.get(agent, & &1)
    Agent.stop(agent)

    with {ends, _turns} <- EveryOrder.ends(state, [:fwd], @most) do
      seen = for state <- ends, do: for(%Address{id: id} <- actors, do: elem(state.actors[id].captures, 0))

      seen |> Enum.uniq() |> Enum.sort()
    end
  end

  property "also where timers fire, processes end, and neither is waited for any more" do
    check all program <- timed(), max_runs: @runs do
      with [_ | _] = ends <- forced_timed(program) do
        {result, found} = proved_timed(program)
        assert {:proved, _counts} = result
        assert found == ends
      end
    end
  end

  property "also where messages get lost or come twice, and turns are aborted" do
    some = list_of(integer(0..3), max_length: 1)

    check all program <- program(),
              faults <- fixed_map(%{loses: some, doubles: some, aborts: some}),
              max_runs: @runs do
      with {ends, _turns} <- forced(program, faults) do
        {result, found} = proved(program, faults)
        assert {:proved, _counts} = result
        assert found == ends
      end
    end
  end
end
