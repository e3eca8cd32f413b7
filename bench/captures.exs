# What a message costs an actor that becomes with each one: two actors of a kind send a tuple of three back and forth, two million
# times:
#
#     mix run bench/captures.exs [ROUNDS]
#
# Prints nanoseconds per message, the turn included: the median of the rounds, with the least and the greatest.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.Captures do
  alias Mote.Bench.{Program, Rounds}

  defmodule Actors do
    use Mote.Behaviour

    # One of two captures changes.
    defactor counter(n, customer) do
      {:ball, left, from} when left > 0 ->
        send from, {:ball, left - 1, self()}
        become n: n + 1

      {:ball, _, _} ->
        send customer, n
    end

    # Four of five.
    defactor tally(n, sum, last, twice, customer) do
      {:ball, left, from} when left > 0 ->
        send from, {:ball, left - 1, self()}
        become n: n + 1, sum: sum + left, last: left, twice: twice + 2

      {:ball, _, _} ->
        send customer, {n, sum, last, twice}
    end

    # Four of five, of which one is a float.
    defactor average(n, sum, last, mean, customer) do
      {:ball, left, from} when left > 0 ->
        send from, {:ball, left - 1, self()}
        become n: n + 1, sum: sum + left, last: left, mean: mean * 0.5 + left

      {:ball, _, _} ->
        send customer, {n, sum, last, mean}
    end
  end

  @messages 2_000_000

  def run(rounds) do
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1]])
    me = self()

    for {name, behaviour} <- [
          counter: Actors.counter(0, me),
          tally: Actors.tally(0, 0, 0, 0, me),
          average: Actors.average(0, 0, 0, 0.0, me)
        ] do
      # The first one compiles.
      [_ | times] = for _ <- 0..rounds, do: game(machine, behaviour)
      IO.puts("#{name}: #{Rounds.spread(times, 1)}")
    end
  end

  defp game(machine, behaviour) do
    [one, other] = Mote.create_many(machine, [behaviour, behaviour])

    game = fn -> Program.answer(fn -> Mote.send(one, {:ball, @messages, other}) end) end
    Rounds.us(game) * 1_000 / @messages
  end
end

[rounds] = Mote.Bench.Rounds.numbers(System.argv(), [9])
Mote.Bench.Captures.run(rounds)
