defmodule Mote.Bench.Runner do
  # Measures a program: which runs, in which nodes, in which order.
  #
  # Every variant (machines, BEAM processes) has a fresh node of its own, and a program in Rust a process for every
  # run. Its first run, after a small one that loads the code, is the warm-up; and since nothing was in that OS process
  # before, it is also the one whose memory counts. Then the timed runs go round the variants, one at a time, forth and
  # back in turns: whatever else the computer does hits all variants alike, and the other nodes sleep meanwhile. Machines
  # that are compared with each other take turns in one node, for two OS processes are never quite equally fast. A
  # program that is about memory (`fresh: true`) has a new node for every single run.
  #
  # A machine lives from the warm-up of its variant to the last run, as one does under a supervisor, and as the BEAM does
  # that runs the processes beside it. Neither starts with memory that was never touched: the BEAM's allocators keep what
  # ended processes leave behind, and so does a machine, until it is stopped. A page that the system must find and clear
  # first costs more than the 256 actors that fit into it; with a machine for each run, only one of the two would pay for
  # that, every time. What the run before has left as garbage is collected when a machine finds it due, within the time of
  # the runs, as a process's heap is; nobody does it by hand in between.
  @moduledoc false

  alias Mote.Bench.{Cores, Measure, Memory, Program, Rust, Sample, Variant, Worker}

  # What a waiting BEAM process with the default heap takes, with a margin: 2.7 KB were measured on OTP 25.
  @process_bytes 3_000

  # A run that takes less than that is repeated on its machine, until that much is timed, but not more often than that.
  @short_ns 5.0e6
  # One whose warm-up took that long is not short.
  @long_ns 5.0e7
  @enough_ns 2.0e7
  @most_repeats 10_000
  # The first runs of all say little about how long the others take, and one that the system has interrupted says nothing.
  @trials 3
  @trial_repeats 20
  # How long rounds wait for cores that are even, all together.
  @patience_ms 30_000

  @type options :: [
          runs: pos_integer,
          seconds: pos_integer,
          sponsor: Variant.sponsors(),
          tier: Variant.tiers(),
          compare: boolean | :schedulers,
          data: Path.t() | nil,
          cores: :any | :even,
          patience: non_neg_integer,
          where: :node | :here,
          progress: (String.t() -> term)
        ]

  @doc """
  The figures of one program of one size.

  Options: `runs` (the program's own number) that are timed; `seconds` (1) that each load lasts, for a program that is `elsewhere`; `sponsor` (`:st`) and `tier` (`:default`): see `Mote.Bench.Variant`; `compare`
  (false): on BEAM processes too, `:schedulers` in a node with one scheduler besides; `data`: a directory, see `Mote.Bench.Northwind.Data`; `cores` (`:any`): `:even` makes
  rounds again that were not on even ones (`Mote.Bench.Cores`), for at most `patience` milliseconds (30,000); `where`
  (`:node`): see `Mote.Bench.Worker`; `progress`: is called with a line of text now and then.
  """
  @spec measure(module, pos_integer, options) :: [Measure.t()]
  def measure(program, param, opts \\ []) do
    defaults = [
      runs: program.about().runs,
      seconds: 1,
      sponsor: :st,
      tier: :default,
      compare: false,
      data: nil,
      cores: :any,
      patience: @patience_ms,
      where: :node,
      progress: fn _ -> :ok end
    ]

    opts = Keyword.validate!(opts, defaults)
    machines = Variant.machines(program, opts[:sponsor], opts[:tier])
    beams = Variant.beams(opts[:compare])
    beam = if beams != [] and beam?(program, param, opts), do: beams, else: []
    rust = if rust?(program, opts), do: Variant.rust(program), else: []
    opts = Keyword.put(opts, :cores, cores(program, opts))
    variants = machines ++ beam ++ rust

    samples =
      if program.about().fresh,
        do: fresh_samples(program, param, variants, opts),
        else: warm_samples(program, param, [machines | Enum.map(beam ++ rust, &[&1])], opts)

    samples = available(samples, program, opts)
    measures = for variant <- variants, measure <- collect(program, param, variant, samples), do: measure
    ratios = for ratio <- Variant.ratios(program, variants), do: ratio(program, param, measures, ratio)

    measures ++
      Enum.concat(ratios) ++
      cpu_ratio(program, param, samples) ++ uneven(program, param, hd(variants), samples)
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

  defp beam?(program, param, opts) do
    reason =
      if Variant.beam?(program),
        do: beyond_beam(program, param),
        else: "it is about machines and their threads"

    if reason do
      opts[:progress].("#{program.about().name}: no comparison with BEAM processes: #{reason}")
    end

    reason == nil
  end

  defp rust?(program, opts) do
    with [_ | _] <- Variant.rust(program), {:error, reason} <- Rust.build() do
      opts[:progress].("#{program.about().name}: no comparison with Rust: #{reason}")
      false
    else
      [] -> false
      :ok -> true
    end
  end

  defp cores(program, opts) do
    with :even <- opts[:cores], {:error, reason} <- Rust.build() do
      opts[:progress].("#{program.about().name}: whether cores are even cannot be told: #{reason}")
      :any
    else
      :ok -> :even
      :any -> :any
    end
  end

  defp fresh_samples(program, param, variants, opts) do
    for run <- 1..opts[:runs], variant <- variants do
      progress(program, param, variant, run, opts)
      with_worker(program, param, variant, opts, &Worker.run(&1, program, variant, param, fresh: true))
    end
  end

  # Of each family of variants the first one's node stays for the timed runs of all.
  defp warm_samples(program, param, families, opts, workers \\ [])

  defp warm_samples(program, param, [], opts, workers), do: rounds(program, param, workers, opts)

  defp warm_samples(program, param, [[first | others] = family | families], opts, workers) do
    with_worker(program, param, first, opts, fn worker ->
      samples = [
        warm_up(worker, program, param, first, opts)
        | Enum.map(others, &warm_up_elsewhere(program, param, &1, opts))
      ]

      slowest = samples |> Enum.map(&Sample.ns/1) |> Enum.max()
      repeats = repeats(worker, program, param, family, slowest)
      workers = workers ++ for variant <- family, do: {variant, worker, repeats}
      samples ++ warm_samples(program, param, families, opts, workers)
    end)
  end

  defp warm_up(worker, program, param, variant, opts) do
    progress(program, param, variant, "warm-up", opts)
    Worker.run(worker, program, variant, param, fresh: true)
  end

  defp warm_up_elsewhere(program, param, variant, opts) do
    with_worker(program, param, variant, opts, &warm_up(&1, program, param, variant, opts))
  end

  # How often a run is repeated is the same for the whole family, and enough for the fastest. Every variant has been
  # run in the family's node afterwards, on the machine that stays. The warm-up touches memory for the first time, so
  # that a short run may have taken long there.
  defp repeats(worker, program, param, [_ | others], slowest) when slowest >= @long_ns do
    for variant <- others, do: Worker.run(worker, program, variant, param, [])
    1
  end

  defp repeats(worker, program, param, family, _slowest) do
    trial = fn variant, opts -> Sample.ns(Worker.run(worker, program, variant, param, opts)) end
    short? = fn variant -> Enum.any?(1..@trials, fn _ -> trial.(variant, []) < @short_ns end) end

    # Each variant, also after one that is not short.
    if family |> Enum.map(short?) |> Enum.all?() do
      fastest = family |> Enum.map(&trial.(&1, repeats: @trial_repeats)) |> Enum.min()
      min(ceil(@enough_ns / max(fastest, 1)), @most_repeats)
    else
      1
    end
  end

  defp rounds(program, param, workers, opts) do
    {samples, _patience} =
      Enum.flat_map_reduce(1..opts[:runs], opts[:patience], fn run, patience ->
        round = round(program, param, workers, run, opts)
        if opts[:cores] == :even, do: even_round(round, patience), else: {Enum.map(round, & &1.()), patience}
      end)

    samples
  end

  # What is to be run in it, one after the other.
  defp round(program, param, workers, run, opts) do
    for {variant, worker, repeats} <- turns(run, workers) do
      fn ->
        progress(program, param, variant, run, opts)
        Worker.run(worker, program, variant, param, repeats: repeats)
      end
    end
  end

  defp even_round(round, patience) do
    {samples, even?, patience} = Cores.on_even(round, patience)
    {Enum.map(samples, &%{&1 | even: even?}), patience}
  end

  defp turns(run, workers) when rem(run, 2) == 1, do: workers
  defp turns(_run, workers), do: Enum.reverse(workers)

  defp with_worker(program, param, variant, opts, fun) do
    processes = if Variant.processes?(variant), do: program.processes(param), else: 0
    where = if variant in Variant.rust(program), do: :here, else: opts[:where]
    files = program.files(param)
    given = [processes: processes, schedulers: Variant.schedulers(variant), files: files]
    worker = Worker.start(where, given)

    try do
      Worker.use_data(worker, opts[:data])
      Worker.call(worker, Program, :use_seconds, [opts[:seconds]])
      unless program.about().elsewhere, do: Worker.load(worker, program, variant)
      fun.(worker)
    after
      Worker.stop(worker)
    end
  end

  # Figures that are not available here are left out, and each reason is reported once.
  defp available(samples, program, opts) do
    missing = for sample <- samples, {metric, {:unavailable, reason}} <- sample.figures, do: {metric, reason}

    for {metric, reason} <- Enum.uniq(missing) do
      opts[:progress].("#{program.about().name}: #{metric} is not available: #{reason}")
    end

    for sample <- samples do
      %{sample | figures: Enum.reject(sample.figures, &match?({_, {:unavailable, _}}, &1))}
    end
  end

  # One measure for each metric, in the order in which the program names them; times before memory.
  defp collect(program, param, variant, samples) do
    figures =
      for sample <- Enum.sort_by(samples, & &1.fresh),
          sample.variant == variant,
          {metric, value} <- Program.figures(sample) ++ disturbance(sample),
          value != nil,
          do: {metric, value}

    for metric <- figures |> Keyword.keys() |> Enum.uniq(),
        do: measure(program, variant, param, metric, Keyword.get_values(figures, metric))
  end

  defp measure(program, variant, param, metric, values),
    do: %Measure{bench: program.about().name, variant: variant, param: param, metric: metric, values: values}

  # What two threads and more take of the cores for what one does, round by round.
  defp cpu_ratio(program, param, samples) do
    [several, one] =
      for variant <- [:mote_mt, :mote_st] do
        for %Sample{variant: ^variant, fresh: false, cpu: cpu} <- samples, do: cpu
      end

    # A round so short that the system has counted nothing for one of them has no ratio.
    case for {a, b} <- Enum.zip(several, one), counted?(a), counted?(b), do: a / b do
      [] -> []
      ratios -> [measure(program, :mote_mt, param, :ratio_cpu_mt_vs_st, ratios)]
    end
  end

  defp counted?(cpu), do: is_number(cpu) and cpu > 0

  # How many of the rounds that count were on uneven cores after all.
  defp uneven(program, param, variant, samples) do
    case for sample <- samples, sample.variant == variant, sample.even != nil, do: sample.even do
      [] ->
        []

      even ->
        percent = 100 * Enum.count(even, &not/1) / length(even)
        [measure(program, variant, param, :percent_uneven, [percent])]
    end
  end

  # Last, so that the values of each metric stand together.
  defp disturbance(sample), do: [percent_mean_above_median: Sample.percent_mean_above_median(sample)]

  # Run by run, each with the one of the other variant of the same round: so its spread is that of the ratio.
  defp ratio(program, param, measures, {metric, variant, than}) do
    main = program.about().metric
    values = fn variant -> Enum.find(measures, &(&1.variant == variant and &1.metric == main)) end

    with %Measure{values: ours} <- values.(variant), %Measure{values: theirs} <- values.(than) do
      ratios = Enum.zip_with(theirs, ours, fn their, our -> their / max(our, 0.001) end)
      [measure(program, variant, param, metric, ratios)]
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
