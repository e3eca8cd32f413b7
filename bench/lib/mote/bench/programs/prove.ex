defmodule Mote.Bench.Programs.Prove do
  # A proof of the Savina suite's philosophers, n of them, and their arbiter: the time of a turn that the search runs, and the memory of
  # a situation. Machines of its own run it, so the one that is measured does nothing.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a proof of n dining philosophers and their arbiter",
    param: :n,
    defaults: [6],
    small: 2,
    metric: :ns_per_turn,
    expected: 1,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]]

  alias Mote.Bench.Programs.Savina.Philosophers.Actors

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

  # Each is hungry once.
  defp table(machine, n) do
    customer = Mote.Outbox.open(machine)
    arbiter = Mote.create(machine, Actors.arbiter(Tuple.duplicate(true, n), n, 0, customer))
    for i <- 0..(n - 1), do: Mote.send(Mote.create(machine, Actors.philosopher(i, 1, arbiter)), :start)
  end
end
