# Messages by address and by key in one node and one machine, round after round, which shows how far the rounds differ: what
# `mix mote.bench directory` measures once in each run. From an actor, eight of them, or from a process.
# In bench/: mix run directory.exs [KEYS] [SHARDS] [ROUNDS]
defmodule DirectoryRounds do
  alias Mote.Bench.Programs.Directory.Actors
  alias Mote.Directory

  @senders 8
  # What one turn sends.
  @turn 500

  def run(n, shards, rounds) do
    {:ok, machine} = Mote.start_link()
    directory = Directory.start(machine, Actors.tallies(), shards: shards)
    senders = for _ <- 1..@senders, do: Mote.create(machine, Actors.sender(directory, [], []))
    # Every one of them once, far from the one before.
    keys = for i <- 1..n, do: rem(i * 7_919, n)
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

      IO.puts("from #{from}: by address #{shown(by_address)}, by key #{shown(by_key)}, more #{shown(more)}")
    end
  end

  # Each of the senders has a share of them.
  defp hold(machine, senders, kind, what) do
    shares = what |> Enum.chunk_every(ceil(length(what) / @senders)) |> Enum.map(&Enum.chunk_every(&1, @turn))
    for {sender, turns} <- Enum.zip(senders, shares), do: :ok = Mote.send(sender, {:hold, kind, turns})
    :ok = Mote.drain(machine, :infinity)
  end

  defp all(machine, senders, kind) do
    for sender <- senders, do: :ok = Mote.send(sender, kind)
    :ok = Mote.drain(machine, :infinity)
  end

  # What actors do with what a process has sent is not part of it.
  defp nanoseconds(machine, fun) do
    start = System.monotonic_time(:nanosecond)
    fun.()
    stop = System.monotonic_time(:nanosecond)
    :ok = Mote.drain(machine, :infinity)
    stop - start
  end

  defp shown(values) do
    sorted = Enum.sort(values)

    [median, least, greatest] =
      for i <- [div(length(sorted), 2), 0, -1], do: Float.round(Enum.at(sorted, i), 1)

    "#{median} (#{least}–#{greatest})"
  end
end

numbers = System.argv() |> Enum.map(&String.to_integer(String.replace(&1, "_", "")))
[n, shards, rounds] = numbers ++ Enum.drop([1_000_000, 41_666, 12], length(numbers))
DirectoryRounds.run(n, shards, rounds)
