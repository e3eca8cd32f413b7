defmodule Mote.Bench.Programs.Prove do
  # A proof of n dining philosophers, of whom a waiter lets all but one sit down: the time of a turn that the search runs, and the
  # memory of a situation. Machines of its own run it, so the one that is measured does nothing.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a proof of n dining philosophers and their waiter",
    param: :n,
    defaults: [4],
    small: 2,
    metric: :ns_per_turn,
    expected: 1,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]]

  defmodule Actors do
    use Mote.Behaviour

    defactor fork() do
      {philosopher, :take} ->
        send philosopher, {:fork, self()}
        become taken()
    end

    defactor taken() do
      :put -> become fork()
      {_philosopher, :take} -> stash()
    end

    defactor philosopher(first, second, waiter) do
      :sit ->
        send first, {self(), :take}

      {:fork, fork} when fork == first ->
        send second, {self(), :take}

      {:fork, _} ->
        send first, :put
        send second, :put
        send waiter, :leave
        become sink()
    end

    defactor waiter(seats) do
      {philosopher, :come} ->
        send philosopher, :sit
        if seats > 1, do: become(waiter(seats - 1)), else: become(full())

      :leave ->
        become waiter(seats + 1)
    end

    defactor full() do
      {_philosopher, :come} -> stash()
      :leave -> become waiter(1)
    end
  end

  @impl true
  def mote(_machine, n) do
    [
      prove: fn _ ->
        begin = System.monotonic_time(:nanosecond)
        {:proved, counts} = Mote.Test.prove(&table(&1, n), fn _ -> true end)
        took = System.monotonic_time(:nanosecond) - begin

        {:figures, [ns_per_turn: took / counts.turns, bytes_per_state: counts.bytes / counts.states],
         counts.ends}
      end
    ]
  end

  defp table(machine, n) do
    forks = List.to_tuple(for _ <- 1..n, do: Mote.create(machine, Actors.fork()))
    waiter = Mote.create(machine, Actors.waiter(n - 1))

    for i <- 0..(n - 1) do
      one = Mote.create(machine, Actors.philosopher(elem(forks, i), elem(forks, rem(i + 1, n)), waiter))
      Mote.send(waiter, {one, :come})
    end
  end
end
