# Messages of one actor through outboxes, in turns: one that discards, one that holds and has room, one whose messages are nearly all
# held, and those of a process that waits for room; nanoseconds a message, turns and taking included.
# mix run bench/outbox.exs [MESSAGES] [ROUNDS]
defmodule OutboxRounds do
  alias Mote.Bench.Rounds
  alias Mote.Outbox

  @turn 1_000

  defmodule Actors do
    use Mote.Behaviour

    defactor teller(out) do
      {:tell, n} -> for i <- 1..n, do: send(out, {:number, i})
      message -> send out, message
    end
  end

  def run(n, rounds) do
    {:ok, machine} = Mote.start_link()
    {:ok, fed} = Mote.start_link(sponsors: [main: [inbox: 10_000, on_full: :wait]])

    sides = [
      {"discards", told(machine, n, capacity: n)},
      {"holds, with room", told(machine, n, capacity: n, on_full: :hold)},
      {"holds, all but 100 held", told(machine, n, capacity: 100, on_full: :hold)},
      {"discards, fed by a process", fed(fed, n, capacity: n)},
      {"holds, fed by a process that waits", fed(fed, n, capacity: 100, on_full: :hold)}
    ]

    figures = for _ <- 1..rounds, {name, fun} <- sides, do: {name, nanoseconds(fun) / n}
    IO.puts("#{n} messages, #{rounds} rounds in turns; ns a message")
    for {name, _} <- sides, do: IO.puts("#{name}: #{Rounds.spread(for({^name, ns} <- figures, do: ns), 1)}")
  end

  defp told(machine, n, options) do
    outbox = Outbox.open(machine, options)
    teller = Mote.create(machine, Actors.teller(outbox))

    fn ->
      for _ <- 1..div(n, @turn), do: Mote.send(teller, {:tell, @turn})
      :ok = Mote.drain(machine, :infinity)
      take(outbox, n)
    end
  end

  defp fed(machine, n, options) do
    outbox = Outbox.open(machine, options)
    teller = Mote.create(machine, Actors.teller(outbox))

    fn ->
      feeder = Task.async(fn -> for i <- 1..n, do: :ok = Mote.send(teller, i, timeout: :infinity) end)
      take(outbox, n)
      Task.await(feeder, :infinity)
    end
  end

  defp take(_outbox, 0), do: :ok

  defp take(outbox, left) do
    case Outbox.take(outbox, @turn) do
      [] -> receive(do: ({:mote_outbox, ^outbox} -> take(outbox, left)))
      messages -> take(outbox, left - length(messages))
    end
  end

  defp nanoseconds(fun) do
    start = System.monotonic_time(:nanosecond)
    fun.()
    System.monotonic_time(:nanosecond) - start
  end
end

[n, rounds] = Mote.Bench.Rounds.numbers(System.argv(), [500_000, 9])
OutboxRounds.run(n, rounds)
