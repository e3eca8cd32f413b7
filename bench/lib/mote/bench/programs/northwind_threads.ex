defmodule Mote.Bench.Programs.NorthwindThreads do
  # The store of `northwind` with 2 to 32 threads, which are more than most computers have cores: as many readers as
  # threads, and as many clients, which share the rounds. They all meet at one dispatcher.
  #
  # Where the system counts them, cache misses are told, too: of the whole OS process, while it reads.
  @moduledoc false

  alias Mote.Bench.Programs.Northwind

  use Mote.Bench.Program,
    title: "n times 31 concurrent reads of 29 customers, as many readers and clients as threads",
    param: :n,
    defaults: [20_000],
    small: 64,
    metric: :ns_per_read,
    count: &Northwind.count/1,
    expected: &Northwind.expected/1,
    data: true,
    machines: for(threads <- [1, 2, 4, 8, 16, 32], do: {:"threads_#{threads}", [main: [threads: threads]]}),
    ratio:
      [{:ratio_two_vs_one, :threads_2, :threads_1}] ++
        for(threads <- [4, 8, 16, 32], do: {:"ratio_#{threads}_vs_two", :"threads_#{threads}", :threads_2}),
    plot: [sizes: [2_000], full: [20_000, 100_000], kind: :bars]

  alias Mote.Bench.{Northwind.Data, Perf, Sample}
  alias Mote.Bench.Programs.Northwind.Actors

  @impl true
  def measures(sample),
    do: [{:ns_per_read, Sample.stage(sample, :reads).ns / count(sample.param)} | sample.figures]

  @impl true
  def mote(machine, n) do
    data = Data.load()
    threads = length(Mote.info(machine).sponsors.main.threads)
    db = Northwind.db(machine, data, threads)
    requests = data |> Northwind.keys() |> Northwind.finds()
    clients = for _ <- 1..threads, do: Mote.create(machine, Actors.client(db, requests, self()))
    reads = fn -> clients |> Enum.zip(shares(n, threads)) |> reads() end

    # What counts takes time itself, so that is done once more, apart.
    [
      reads: fn _ -> reads.() end,
      misses: fn sum ->
        {^sum, misses} = Perf.cache_misses(reads)
        {:figures, [misses_per_read: per_read(misses, n)], sum}
      end
    ]
  end

  defp reads(clients) do
    for {client, rounds} <- clients, do: Mote.send(client, rounds)
    for _ <- clients, reduce: 0, do: (sum -> sum + receive(do: (answer -> answer)))
  end

  # As equal as can be.
  defp shares(n, threads) do
    for index <- 0..(threads - 1), do: div(n + index, threads)
  end

  defp per_read({:ok, misses}, n), do: misses / count(n)
  defp per_read({:unavailable, _} = reason, _n), do: reason
end
