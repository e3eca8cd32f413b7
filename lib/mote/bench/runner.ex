defmodule Mote.Bench.Runner do
  # Measures a program: which runs, in which nodes, in which order.
  #
  # Every variant (Mote, BEAM processes) has a fresh node of its own. Its first run, after a small one that loads
  # the code, is the warm-up; and since nothing was in that OS process before, it is also the one whose memory
  # counts. Then the timed runs go round the variants, one at a time: whatever else the computer does hits all
  # variants alike, and the other nodes sleep meanwhile. A program that is about memory (`fresh: true`) has a new
  # node for every single run.
  @moduledoc false

  alias Mote.Bench.{Measure, Memory, Worker}

  # What a waiting BEAM process with the default heap takes, with a margin: 2.7 KB were measured on OTP 25.
  @process_bytes 3_000

  @type options :: [
          runs: pos_integer,
          compare: boolean,
          where: :node | :here,
          progress: (String.t() -> term)
        ]

  @doc """
  The figures of one program of one size.

  Options: `runs` (5) that are timed; `compare` (false): on BEAM processes too; `where` (`:node`): see
  `Mote.Bench.Worker`; `progress`: is called with a line of text now and then.
  """
  @spec measure(module, pos_integer, options) :: [Measure.t()]
  def measure(program, param, opts \\ []) do
    opts = Keyword.validate!(opts, runs: 5, compare: false, where: :node, progress: fn _ -> :ok end)
    variants = variants(program, param, opts)

    samples =
      if program.about().fresh,
        do: fresh_samples(program, param, variants, opts),
        else: warm_samples(program, param, variants, opts)

    measures = for variant <- variants, measure <- collect(program, param, variant, samples), do: measure
    measures ++ ratio(program, param, measures)
  end

  @doc "Why BEAM processes cannot do that here, or `nil` when they can."
  @spec beyond_beam(module, pos_integer) :: String.t() | nil
  def beyond_beam(program, param) do
    processes = program.processes(param)
    available = Memory.available()

    cond do
      processes > Worker.most_processes() ->
        "#{processes} processes are more than a node can have"

      available && processes * @process_bytes > available ->
        "#{processes} processes need about #{gigabytes(processes * @process_bytes)}, " <>
          "#{gigabytes(available)} are available"

      true ->
        nil
    end
  end

  defp variants(program, param, opts) do
    reason = if opts[:compare], do: beyond_beam(program, param)

    if reason do
      opts[:progress].("#{program.about().name}: no comparison with BEAM processes: #{reason}")
    end

    if opts[:compare] && !reason, do: [:mote, :beam], else: [:mote]
  end

  defp fresh_samples(program, param, variants, opts) do
    for run <- 1..opts[:runs], variant <- variants do
      progress(program, param, variant, run, opts)
      with_worker(program, param, variant, opts, &Worker.run(&1, program, variant, param, true))
    end
  end

  defp warm_samples(program, param, [variant | others], opts, workers \\ []) do
    with_worker(program, param, variant, opts, fn worker ->
      progress(program, param, variant, "warm-up", opts)
      first = Worker.run(worker, program, variant, param, true)
      workers = workers ++ [{variant, worker}]

      rest =
        if others == [],
          do: rounds(program, param, workers, opts),
          else: warm_samples(program, param, others, opts, workers)

      [first | rest]
    end)
  end

  defp rounds(program, param, workers, opts) do
    for run <- 1..opts[:runs], {variant, worker} <- workers do
      progress(program, param, variant, run, opts)
      Worker.run(worker, program, variant, param, false)
    end
  end

  defp with_worker(program, param, variant, opts, fun) do
    processes = if variant == :beam, do: program.processes(param), else: 0
    worker = Worker.start(opts[:where], processes)

    try do
      Worker.load(worker, program, variant)
      fun.(worker)
    after
      Worker.stop(worker)
    end
  end

  # One measure for each metric, in the order in which the program names them; times before memory.
  defp collect(program, param, variant, samples) do
    figures =
      for sample <- Enum.sort_by(samples, & &1.fresh),
          sample.variant == variant,
          {metric, value} <- program.measures(sample),
          value != nil,
          do: {metric, value}

    for metric <- figures |> Keyword.keys() |> Enum.uniq() do
      %Measure{
        bench: program.about().name,
        variant: variant,
        param: param,
        metric: metric,
        values: Keyword.get_values(figures, metric)
      }
    end
  end

  # Run by run, each with the one of the other variant that came next: so its spread is that of the ratio.
  defp ratio(program, param, measures) do
    about = program.about()
    values = fn variant -> Enum.find(measures, &(&1.variant == variant and &1.metric == about.metric)) end

    with %Measure{values: ours} <- values.(:mote), %Measure{values: theirs} <- values.(:beam) do
      ratios = Enum.zip_with(theirs, ours, fn their, our -> their / max(our, 0.001) end)

      [
        %Measure{
          bench: about.name,
          variant: :mote,
          param: param,
          metric: :ratio_vs_beam,
          values: ratios
        }
      ]
    else
      nil -> []
    end
  end

  defp progress(program, param, variant, run, opts) do
    about = program.about()
    run = if is_integer(run), do: "run #{run} of #{opts[:runs]}", else: run
    opts[:progress].("#{about.name} #{about.param}=#{param} #{variant}: #{run}")
  end

  defp gigabytes(bytes), do: "#{Float.round(bytes / 1.0e9, 1)} GB"
end
