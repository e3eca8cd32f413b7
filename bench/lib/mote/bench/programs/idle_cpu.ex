defmodule Mote.Bench.Programs.IdleCpu do
  # What a machine costs that has nothing to do: eight threads that did some work are watched for n milliseconds.
  # Linux counts the CPU time of every thread; elsewhere there is no figure.
  @moduledoc false

  use Mote.Bench.Program,
    title: "CPU time of a machine with eight threads that is idle for n milliseconds",
    param: :n,
    defaults: [5_000],
    small: 20,
    metric: :percent_of_core,
    expected: :done,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 8]]],
    plot: [sizes: [1_000]]

  alias Mote.Bench.{Programs.ForkBomb, Threads}

  # Enough for every thread to get some.
  @depth 18
  # Milliseconds after which they must have found out that there is nothing more.
  @settle 200

  @impl true
  def mote(machine, n) do
    root = Mote.create(machine, ForkBomb.Actors.node(self()))

    [
      work: asking(root, @depth),
      settle: fn :done -> Process.sleep(@settle) end,
      watch: fn :ok -> watch(n) end
    ]
  end

  defp watch(n) do
    {before, start} = {Threads.cpu_ns("mote-"), System.monotonic_time(:nanosecond)}
    Process.sleep(n)
    {later, stop} = {Threads.cpu_ns("mote-"), System.monotonic_time(:nanosecond)}
    percent = if before && later, do: 100 * (later - before) / (stop - start)
    {:figures, [percent_of_core: percent], :done}
  end
end
