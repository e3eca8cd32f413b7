# Messages by address and by key in one node and one machine, round after round, which shows how far the rounds differ: what
# `mix mote.bench directory` measures once in each run. From an actor, eight of them, or from a process. And a fold over the states.
# mix run bench/directory.exs [KEYS] [SHARDS] [ROUNDS]
Code.require_file("load.exs", __DIR__)

defmodule DirectoryRounds do
  import Mote.Bench.Programs.Directory, only: [all: 3, hold: 4, keys: 1, senders: 2]

  alias Mote.Bench.{Programs.Directory.Actors, Rounds}
  alias Mote.Directory

  def run(n, shards, rounds) do
    {:ok, machine} = Mote.start_link()
    directory = Directory.start(machine, Actors.tallies(), shards: shards)
    senders = senders(machine, directory)
    keys = keys(n)
    hold(machine, senders, :keys, keys)
    all(machine, senders, :keys)
    table = Map.new(Directory.stream(directory))
    addresses = Enum.map(keys, &Map.fetch!(table, &1))
    hold(machine, senders, :addresses, addresses)

    IO.puts("#{n} keys, #{shards} shards, #{rounds} rounds; ns per message")

    for {from, sides} <- [
          "an actor": {fn -> all(machine, senders, :addresses) end, fn -> all(machine, senders, :keys) end},
          "a process":
            {fn -> Enum.each(addresses, &Mote.send(&1, 1)) end,
             fn -> Enum.each(keys, &Directory.send(directory, &1, 1)) end}
        ] do
      pairs = for _ <- 1..rounds, do: sides |> Tuple.to_list() |> Enum.map(&(nanoseconds(machine, &1) / n))
      [by_address, by_key] = Enum.zip_with(pairs, & &1)
      more = Enum.map(pairs, fn [address, key] -> key - address end)

      [by_address, by_key, more] = for figures <- [by_address, by_key, more], do: Rounds.spread(figures, 1)
      IO.puts("from #{from}: by address #{by_address}, by key #{by_key}, more #{more}")
    end

    folds =
      for _ <- 1..rounds, do: nanoseconds(machine, fn -> ^n = Directory.fold(directory, 0, &count/3) end) / n

    IO.puts("a fold, ns an actor: #{Rounds.spread(folds, 1)}")
  end

  defp count(_key, _state, n), do: n + 1

  # What actors do with what a process has sent is not part of it.
  defp nanoseconds(machine, fun) do
    start = System.monotonic_time(:nanosecond)
    fun.()
    stop = System.monotonic_time(:nanosecond)
    :ok = Mote.drain(machine, :infinity)
    stop - start
  end
end

[n, shards, rounds] = Mote.Bench.Rounds.numbers(System.argv(), [1_000_000, 41_666, 12])
DirectoryRounds.run(n, shards, rounds)
