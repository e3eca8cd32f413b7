# A fold over the states of all actors of a machine, beside `Mote.Directory.fold/4` over as many and `:ets.foldl/3` over as many rows, in
# turns; nanoseconds an actor by the median of the rounds, and in how far what runs meanwhile is held up: turns a second of a ring on a
# thread of its own, without a fold and during folds.
# mix run bench/fold.exs [ACTORS] [ROUNDS]
defmodule FoldRounds do
  alias Mote.Bench.Rounds
  alias Mote.Directory

  defmodule Actors do
    use Mote.Behaviour

    defactor tally(n, _last) do
      {:add, k} -> become tally(n + k, k)
    end

    defactor spinner(n) do
      :go -> become(spinner(n + 1)) && send(self(), :go)
      {customer, :turns} -> send customer, n
    end

    defdirectory tallies() do
      _key -> tally(0, 0)
    end
  end

  def run(n, rounds) do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], spinning: []])
    {:ok, keyed} = Mote.start_link()
    actors = Mote.create_many(machine, for(i <- 1..n, do: Actors.tally(i, i)))
    directory = Directory.start(keyed, Actors.tallies())
    for key <- 1..n, do: Directory.send(directory, key, {:add, key}, on_full: :wait)
    :ok = Mote.drain(keyed, :infinity)
    table = :ets.new(:rows, [:set])
    for i <- 1..n, do: :ets.insert(table, {i, i, i})

    sides = [
      {"Mote.fold/5", fn -> Mote.fold(machine, {Actors, :tally}, 0, fn _, n -> n + 1 end) end},
      {"of it the collection", fn -> Mote.gc(machine) && n end},
      {"Mote.fold/5 of nothing", fn -> Mote.fold(machine, {Actors, :nobody}, n, fn _, n -> n end) end},
      {"Directory.fold/4", fn -> Directory.fold(directory, 0, fn _, _, n -> n + 1 end) end},
      {"ets:foldl/3", fn -> :ets.foldl(fn _, n -> n + 1 end, 0, table) end}
    ]

    figures = for _ <- 1..rounds, {name, fun} <- sides, do: {name, nanoseconds(fun, n) / n}
    IO.puts("#{n} actors, #{rounds} rounds in turns; ns an actor")

    for {name, _} <- sides do
      IO.puts("#{name}: #{Rounds.spread(for({^name, ns} <- figures, do: ns), 1)}")
    end

    spinner = Mote.create(machine, Actors.spinner(0), sponsor: :spinning)
    Mote.send(spinner, :go)

    {alone, beside} =
      Enum.unzip(
        for _ <- 1..rounds,
            do: {turns(spinner, fn -> Process.sleep(300) end), turns(spinner, elem(hd(sides), 1))}
      )

    IO.puts(
      "turns per µs of another thread: alone #{Rounds.spread(alone, 1)}, during a fold #{Rounds.spread(beside, 1)}"
    )

    length(actors)
  end

  defp nanoseconds(fun, n) do
    start = System.monotonic_time(:nanosecond)
    ^n = fun.()
    System.monotonic_time(:nanosecond) - start
  end

  defp turns(spinner, fun) do
    start = System.monotonic_time(:microsecond)
    before = Mote.ask!(spinner, :turns)
    fun.()
    (Mote.ask!(spinner, :turns) - before) / (System.monotonic_time(:microsecond) - start)
  end
end

[n, rounds] = Mote.Bench.Rounds.numbers(System.argv(), [1_000_000, 9])
FoldRounds.run(n, rounds)
