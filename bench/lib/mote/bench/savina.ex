defmodule Mote.Bench.Savina do
  # The Savina suite as a whole: which programs are in it, and one table of all, with a row for each. How a program is measured
  # is in `runner.ex`; the suite adds how many lines it has, and a node with a single scheduler for BEAM processes, beside
  # which the machine with one thread is seen.
  @moduledoc false

  alias Mote.Bench.{Cells, Measure, Programs, Report}
  alias Mote.Bench.Programs.Savina

  # In Savina's order: small ones, those about concurrency, those about parallelism.
  @programs [
    Programs.PingPong,
    Programs.Counting,
    Savina.ForkJoinThroughput,
    Savina.ForkJoinCreate,
    Programs.Ring,
    Savina.Chameneos,
    Savina.Big,
    Savina.ConcurrentDictionary,
    Savina.SortedList,
    Savina.BoundedBuffer,
    Savina.Philosophers,
    Savina.Barber,
    Savina.Smokers,
    Savina.LogisticMap,
    Savina.Bank,
    Savina.Fibonacci,
    Savina.RecursiveMatmul,
    Savina.Trapezoid,
    Savina.Quicksort,
    Savina.Radixsort,
    Savina.BitonicSort,
    Savina.FilterBank,
    Savina.Sieve,
    Savina.UnbalancedTree,
    Savina.Apsp,
    Savina.GuidedSearch,
    Savina.Queens,
    Savina.Sor,
    Savina.Pi
  ]

  @variants [:mote_st, :mote_mt, :beam_st, :beam]
  @ratios [ratio_vs_beam_st: :mote_st, ratio_vs_beam: :mote_mt, ratio_mt_vs_st: :mote_mt]

  # Lines as actors and as processes, four figures, three ratios.
  @header ~w(program size lines on_BEAM one_thread threads one_scheduler schedulers one:one all:all threads:one)

  @typedoc "A program, how many lines it has as actors and as processes, and its measures."
  @type row :: {module, {pos_integer, pos_integer}, [Measure.t()]}

  @doc "The programs of the suite, in its order."
  @spec programs() :: [module]
  def programs, do: @programs

  @doc "Lines of code of a program, as actors and as processes: without empty ones, comments, specs and `@moduledoc`."
  @spec lines(module) :: {pos_integer, pos_integer}
  def lines(program) do
    # The actors of `sor` are those of another program, too.
    module = if Code.ensure_loaded?(Module.concat(program, Actors)), do: program, else: Cells
    source = module.module_info(:compile)[:source] |> List.to_string() |> File.read!()
    {:ok, quoted} = Code.string_to_quoted(source, token_metadata: true)
    source = String.split(source, "\n")
    {count(quoted, source, :Actors), count(quoted, source, :Processes)}
  end

  defp count(quoted, source, name) do
    {_, [{first, last}]} =
      Macro.prewalk(quoted, [], fn
        {:defmodule, meta, [{:__aliases__, _, [^name]} | _]} = module, found ->
          {module, [{meta[:line], meta[:end][:line]} | found]}

        other, found ->
          {other, found}
      end)

    # What stands between the first line of the module and its `end`.
    source
    |> Enum.slice(first..(last - 2)//1)
    |> Enum.map(&String.trim/1)
    |> Enum.count(&(&1 != "" and not String.starts_with?(&1, ["#", "@moduledoc", "@spec"])))
  end

  @doc "The table of the programs: medians, and ratios of round by round; below them the geometric mean and the least."
  @spec table([row]) :: String.t()
  def table(rows) do
    lines = Enum.map(rows, &row/1)

    ends =
      for {name, fun} <- [{"geometric mean", &geometric_mean/1}, {"least", &Enum.min/1}] do
        ratios =
          for {metric, variant} <- @ratios, do: ratio(for(row <- rows, do: value(row, variant, metric)), fun)

        [name, "", "", "", "", "", "", "" | ratios]
      end

    "savina: the suite on machines with one thread and one for each core, on BEAM processes with one scheduler and all\n\n" <>
      Report.align([Enum.map(@header, &String.replace(&1, "_", " ")) | lines ++ ends], [0]) <> "\n"
  end

  defp row({program, {actors, processes}, [%Measure{param: param} | _]} = row) do
    about = program.about()
    figures = for variant <- @variants, do: figure(value(row, variant, about.metric), about.metric)
    ratios = for {metric, variant} <- @ratios, do: ratio([value(row, variant, metric)], &hd/1)
    [about.name, Report.number(param), "#{actors}", "#{processes}" | figures ++ ratios]
  end

  defp value({_, _, measures}, variant, metric) do
    found = Enum.find(measures, &(&1.variant == variant and &1.metric == metric))
    if found, do: Measure.median(found)
  end

  defp figure(nil, _metric), do: "–"

  defp figure(value, metric),
    do: "#{Report.number(value)} #{metric |> Atom.to_string() |> String.slice(0, 2)}"

  # Of those that there are: without cores to spare there is no ratio of threads.
  defp ratio(values, fun) do
    case Enum.reject(values, &is_nil/1) do
      [] -> "–"
      values -> Report.number(fun.(values)) <> " x"
    end
  end

  @doc """
  The n-th root of the product of n numbers.

      iex> Mote.Bench.Savina.geometric_mean([2.0, 8.0])
      4.0
  """
  @spec geometric_mean([number, ...]) :: float
  def geometric_mean(values), do: Enum.product(values) ** (1 / length(values))
end
