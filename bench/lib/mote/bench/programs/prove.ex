defmodule Mote.Bench.Programs.Prove do
  # A proof of the Savina suite's philosophers, n of them, and their arbiter: turns that the search runs a second, on one thread and on two, and
  # the memory of a situation. And two-phase commit of n resource managers beside the same as a model for Stateright, on one thread: states a
  # second. Machines of its own run it, so the one that is measured does nothing.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a proof of n dining philosophers and their arbiter, and of two-phase commit beside Stateright",
    param: :n,
    defaults: [6],
    small: 2,
    metric: :turns_per_s,
    expected: 1,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]]

  alias Mote.Bench.Programs.Savina.Philosophers.Actors
  alias Mote.Bench.Rust

  defmodule Commit do
    # Gray and Lamport's ("Consensus on Transaction Commit", 2006): each resource manager may prepare or abort by itself, and the manager may
    # give up as long as it has not decided. Each of these is a message from outside.
    use Mote.Behaviour

    defactor working() do
      {:prepare, manager} ->
        send manager, :prepared
        become prepared()

      :commit ->
        become committed()

      _give_up ->
        become aborted()
    end

    defactor prepared() do
      :give_up -> :ok
      :commit -> become committed()
      :abort -> become aborted()
    end

    defactor committed() do
      :abort -> abort :inconsistent
      _late -> :ok
    end

    defactor aborted() do
      :commit -> abort :inconsistent
      _late -> :ok
    end

    # `missing`: of how many it has not heard that they are prepared.
    defactor manager(resources, missing) do
      :prepared when missing > 1 ->
        become manager(resources, missing - 1)

      :prepared ->
        for resource <- resources, do: send(resource, :commit)
        become decided()

      :give_up ->
        for resource <- resources, do: send(resource, :abort)
        become decided()
    end

    defactor decided() do
      _late -> :ok
    end
  end

  # bench/stateright.
  @stateright "mote_stateright"
  @bounds [states: 50_000_000, bytes: 4_000_000_000, timeout: 3_600_000]

  @impl true
  def mote(_machine, n) do
    built = Rust.build(@stateright)

    [
      prove: fn _ ->
        {turns, _states, counts} = rates(&table(&1, n), 1)
        {on_two, _states, _counts} = rates(&table(&1, n), 2)
        {_turns, states, _counts} = rates(&transaction(&1, n), 1)

        figures = [
          turns_per_s: turns,
          ratio_two_threads: on_two / turns,
          bytes_per_state: counts.bytes / counts.states,
          states_per_s: states,
          by_stateright: by_stateright(built, n, states),
          by_concuerror: {:unavailable, "no package has Concuerror: clone it to compare by hand"}
        ]

        {:figures, figures, counts.ends}
      end
    ]
  end

  defp by_stateright(:ok, n, states) do
    {output, 0} = System.cmd(Rust.executable(@stateright), ["#{n}"], stderr_to_stdout: true)
    [ns, theirs, _generated] = output |> String.split() |> Enum.map(&String.to_integer/1)
    states / (theirs / ns * 1.0e9)
  end

  defp by_stateright({:error, reason}, _n, _states), do: {:unavailable, reason}

  # Turns and states a second.
  defp rates(graph, threads) do
    begin = System.monotonic_time(:nanosecond)
    {:proved, counts} = Mote.Test.prove(graph, fn _ -> true end, [threads: threads] ++ @bounds)
    seconds = (System.monotonic_time(:nanosecond) - begin) / 1.0e9
    {counts.turns / seconds, counts.states / seconds, counts}
  end

  # Each is hungry once.
  defp table(machine, n) do
    customer = Mote.Outbox.open(machine)
    arbiter = Mote.create(machine, Actors.arbiter(Tuple.duplicate(true, n), n, 0, customer))
    for i <- 0..(n - 1), do: Mote.send(Mote.create(machine, Actors.philosopher(i, 1, arbiter)), :start)
  end

  # Two messages to each, of two senders, so in any order.
  defp transaction(machine, n) do
    resources = for _ <- 1..n, do: Mote.create(machine, Commit.working())
    manager = Mote.create(machine, Commit.manager(resources, n))
    Mote.send(manager, :give_up)

    for resource <- resources do
      Mote.send(resource, {:prepare, manager})
      Mote.send(Mote.create(machine, Mote.Library.fwd(resource)), :give_up)
    end
  end
end
