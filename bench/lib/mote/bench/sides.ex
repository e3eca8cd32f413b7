defmodule Mote.Bench.Sides do
  # The same work done in several ways, Mote's first: each way once in a run, all in one node, so that a ratio compares what ran within the
  # same second. A figure is by the clock and, with `_cpu` at its end, by the CPU time of all threads of the node. A ratio says how many
  # times the time of Mote's way another one takes. All ways must come to the same result.
  #
  # A way is a function that prepares and returns the function that is timed. This returns the function that finds out the result and
  # removes what is left. A way has a process of its own, whose memory goes with it.
  @moduledoc false

  alias Mote.Bench.{Program, Run, Threads}

  @type way :: function

  @typedoc "Work, how many operations each of its ways does, and the ways."
  @type work :: {atom, pos_integer, [{atom, way}, ...]}

  @doc "The works of a run of a program that says `use Mote.Bench.Sides`, with the options of `Mote.Bench.Program` that are left."
  @callback works(Mote.Machine.t(), pos_integer) :: [work, ...]

  defmacro __using__(opts) do
    opts = opts ++ [param: :n, expected: :agreed, measures: quote(do: & &1.figures)]

    quote do
      use Mote.Bench.Program, unquote(opts)
      @behaviour Mote.Bench.Sides

      @impl Mote.Bench.Program
      def mote(machine, n), do: Mote.Bench.Sides.stages(machine, works(machine, n))
    end
  end

  @doc "The one stage of a program that compares ways of doing this. It returns `:agreed`."
  @spec stages(Mote.Machine.t(), [work, ...]) :: Program.stages()
  def stages(machine, works) do
    [
      turns: fn _ ->
        turns =
          for {work, count, ways} <- works,
              do: {work, for({name, way} <- ways, do: turn(machine, name, way, count))}

        {:figures, Enum.flat_map(turns, &figures/1), agreed(turns)}
      end
    ]
  end

  @doc "Does the work in one of its ways: what an operation took by each clock, and the result."
  @spec turn(Mote.Machine.t(), atom, way, pos_integer) :: {atom, [{String.t(), float}], term}
  def turn(machine, name, way, count) do
    Task.await(Task.async(fn -> here(machine, name, way, count) end), :infinity)
  end

  defp here(machine, name, way, count) do
    run = way.()
    Run.compiled(machine)
    before = clocks()
    result = run.()
    times = for {{clock, later}, {clock, ns}} <- Enum.zip(clocks(), before), do: {clock, (later - ns) / count}
    {name, times, result.()}
  end

  # Where the system does not tell the CPU time of threads, there is one clock.
  defp clocks do
    clock = {"", System.monotonic_time(:nanosecond)}
    if cpu = Threads.cpu_ns(""), do: [clock, {"_cpu", cpu}], else: [clock]
  end

  @doc """
  The figures of a turn of each way.

      iex> Mote.Bench.Sides.figures({:read, [{:mote, [{"", 2.0}], :sum}, {:ets, [{"", 5.0}], :sum}]})
      [read_ets_by_mote: 2.5, ns_per_read_mote: 2.0, ns_per_read_ets: 5.0]
  """
  @spec figures({atom, [{atom, [{String.t(), float}], term}, ...]}) :: [{atom, float}]
  def figures({work, [{own, own_times, _} | others] = turns}) do
    ratios =
      for {name, times, _} <- others, {{clock, ns}, {clock, own_ns}} <- Enum.zip(times, own_times) do
        {:"#{work}_#{name}_by_#{own}#{clock}", ns / own_ns}
      end

    ratios ++ for {name, times, _} <- turns, {clock, ns} <- times, do: {:"ns_per_#{work}_#{name}#{clock}", ns}
  end

  @doc """
  Whether all ways of each work have come to the same result.

      iex> Mote.Bench.Sides.agreed(read: [{:mote, [], 7}, {:ets, [], 8}], write: [{:mote, [], 7}])
      {:differ, [read: [mote: 7, ets: 8]]}
  """
  @spec agreed([{atom, [{atom, list, term}]}]) :: :agreed | {:differ, keyword}
  def agreed(works) do
    results = for {work, turns} <- works, do: {work, for({name, _, result} <- turns, do: {name, result})}

    differ =
      Enum.filter(results, fn {_, results} -> results |> Keyword.values() |> Enum.uniq() |> length() > 1 end)

    if differ == [], do: :agreed, else: {:differ, differ}
  end

  @doc "Calls `fun` with each number from 1 to `count`, in a process for each, at once; what they return."
  @spec at_once(pos_integer, (pos_integer -> result)) :: [result] when result: term
  def at_once(count, fun) do
    1..count |> Enum.map(&Task.async(fn -> fun.(&1) end)) |> Task.await_many(:infinity)
  end
end
