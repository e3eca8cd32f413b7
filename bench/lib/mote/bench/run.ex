defmodule Mote.Bench.Run do
  # One sample of one program, here and now: new actors on a machine, the stages under the clock, the check of the result.
  # In which node that happens, and how often, is the business of `worker.ex` and `runner.ex`.
  #
  # The machine is one that is kept for the variant, if there is a keeper, and else one of its own. One that is kept has
  # come to rest when the run is over: what it still collects then is not beside the run of another one.
  #
  # Short programs are repeated, so that they find threads and the cache warm: the first time does not count, and the
  # times of the sample are the medians of the others. Some threads of the BEAM and of the machine share the cores, and
  # one that has to wait for another waits for a time slice, for milliseconds: a few such waits among a thousand runs of
  # ten microseconds double the mean, on any machine, now here and now there. The mean is in the sample, too, so that
  # they can be seen.
  #
  # A process that waits for an answer waits for ever when the turn that should give it was aborted. So a run ends as soon as its
  # machine reports such a turn.
  @moduledoc false

  alias Mote.Bench.{Keeper, Measure, Memory, Rust, Sample, Threads, Variant}

  # Within this time the report of a turn that was counted as aborted is there.
  @report_ms 1_000
  # What the names of all dispatch threads begin with.
  @threads "mote-"
  # Within this time a machine that has run has come to rest.
  @rest_ms 60_000

  defmodule Error do
    defexception [:message]
  end

  @doc """
  Loads the code of a program by a small run, so that the next one does not pay for it in time or memory.
  """
  @spec load(module, Variant.t()) :: :ok
  def load(program, variant) do
    once(program, variant, program.about().small)
    :ok
  end

  @doc """
  Runs the program in a process of its own, as every program on the BEAM would be.

  Options: `fresh` (false): nothing ran in this OS process before, so its memory counts; `repeats` (1): how many runs
  are timed; when there are several, one more goes ahead of them; `keeper` (nil): of the machine to run it on. Without
  it, or if the program wants its machine anew for each run, the machine is started and stopped here.

  Raises `Mote.Bench.Run.Error` when the result is wrong, a turn is aborted, or the run ends by a failure.
  """
  @spec once(module, Variant.t(), pos_integer, fresh: boolean, repeats: pos_integer, keeper: Keeper.t() | nil) ::
          Sample.t()
  def once(program, variant, param, opts \\ []) do
    {keeper, opts} = opts |> Keyword.validate!(fresh: false, repeats: 1, keeper: nil) |> Keyword.pop!(:keeper)
    sample = struct!(%Sample{program: program, variant: variant, param: param}, opts)
    {pid, monitor} = spawn_monitor(fn -> exit({:shutdown, {:ran, run(sample, keeper)}}) end)

    receive do
      {:DOWN, ^monitor, :process, ^pid, ended} ->
        if Variant.machine?(program, variant), do: :telemetry.detach({__MODULE__, pid})

        case ended do
          # In good order: machines that a program has left linked to it end without a line in the log.
          {:shutdown, {:ran, sample}} -> sample
          reason -> raise Error, message: failed(sample, reason)
        end
    end
  end

  defp run(%Sample{} = sample, keeper) do
    rust = sample.program.about().rust[sample.variant]

    cond do
      Variant.processes?(sample.variant) -> measure(sample, & &1.program.beam(&1.param))
      rust != nil -> run_rust(sample, rust)
      true -> run_machine(sample, unless(Variant.anew?(sample.program, sample.variant), do: keeper))
    end
  end

  # The time is that of the executable, the memory nobody's: it is not in this OS process.
  defp run_rust(sample, name) do
    {ns, _cpu_ns, result} = Rust.run(name, sample.param, sample.repeats)
    check(sample, sample.program.rust(result, sample.param))
    %{sample | stages: [%{name: :run, ns: ns, rss: nil}]}
  end

  defp run_machine(sample, keeper) do
    # Before the machine starts: what it takes for itself is part of the price of its actors.
    sample = %{sample | before: Memory.rss()}
    machine = machine(sample, keeper)
    unless sample.program.about().aborts, do: end_by_abort(machine)

    try do
      sample = measure(sample, & &1.program.mote(machine, &1.param), fn -> compiled(machine) end)

      if keeper, do: :ok = Mote.drain(machine, @rest_ms)
      info = Mote.info(machine)
      unless sample.program.about().aborts, do: check_aborts(info)
      %{sample | info: info}
    after
      if keeper, do: Process.unlink(machine), else: :ok = Mote.stop(machine)
    end
  end

  # Either way linked to this process: when one fails, the other ends.
  defp machine(sample, nil) do
    {:ok, machine} = Mote.start_link(Variant.options(sample.program, sample.variant))
    machine
  end

  defp machine(sample, keeper) do
    machine = Keeper.machine(keeper, sample.program, sample.variant)
    Process.link(machine)
    machine
  end

  defp end_by_abort(machine) do
    config = %{run: self(), machine: machine}
    :ok = :telemetry.attach({__MODULE__, self()}, [:mote, :turn, :abort], &__MODULE__.aborted/4, config)
  end

  @doc false
  # In the machine's process, which ends with the run. Turns of other machines are not this run's.
  def aborted(_event, _measurements, %{machine: machine} = turn, %{machine: machine, run: run}) do
    Process.exit(run, {:shutdown, {:aborted, turn}})
  end

  def aborted(_event, _measurements, _turn, _config), do: :ok

  # The right result is not enough: no program has turns that abort, but those that are about it. One that was aborted
  # while the answer was on its way is counted, and its report comes in a moment.
  defp check_aborts(%{counters: counters}) do
    counts = for {name, n} <- counters, n > 0, String.starts_with?("#{name}", "aborts"), do: {name, n}

    if counts != [] do
      Process.sleep(@report_ms)
      exit({:aborts, counts})
    end
  end

  @doc "Waits for native code: what is measured is what a machine runs in the long run, not the interpreter that stands in for it."
  @spec compiled(Mote.Machine.t()) :: :ok
  def compiled(machine) do
    if Mote.info(machine).native.pending > 0 do
      Process.sleep(1)
      compiled(machine)
    else
      :ok
    end
  end

  # Whether it is ready is asked before the first run only: to look at a machine takes about as long as its threads look
  # around before they sleep, and longer the more it has. Asked each time, two threads slept where one was awake.
  defp measure(sample, prepare, ready \\ fn -> :ok end) do
    sample = %{sample | before: sample.before || Memory.rss()}
    reset = Memory.reset_peak()
    first = prepare.(sample)
    ready.()

    threads = Threads.cpu_ns(@threads)

    runs =
      case stages(sample, first) do
        only when sample.repeats == 1 -> [only]
        _not_timed -> for _ <- 1..sample.repeats, do: stages(sample, prepare.(sample))
      end

    # Threads of other machines may have been there before, and none now.
    later = Threads.cpu_ns(@threads)
    cpu = if threads && later, do: (later - threads) / length(runs)

    %{
      sample
      | cpu: cpu,
        stages: medians(for {stages, _} <- runs, do: stages),
        mean: mean(for {stages, _} <- runs, do: Sample.ns(stages)),
        figures: runs |> List.last() |> elem(1),
        peak: if(reset, do: Memory.peak())
    }
  end

  # One run: the stages as they were, in order, and the figures that they took themselves.
  defp stages(sample, stages) do
    settle = sample.program.about().settle

    {result, done, figures} =
      Enum.reduce(stages, {nil, [], []}, fn {name, fun}, {given, done, figures} ->
        start = System.monotonic_time()
        result = fun.(given)
        time = System.monotonic_time() - start
        if settle > 0, do: Process.sleep(settle)
        ns = System.convert_time_unit(time, :native, :nanosecond)
        stage = %{name: name, ns: ns, rss: if(sample.fresh, do: Memory.rss())}

        case result do
          {:figures, more, result} -> {result, [stage | done], figures ++ more}
          result -> {result, [stage | done], figures}
        end
      end)

    check(sample, result)
    {Enum.reverse(done), figures}
  end

  defp check(sample, result) do
    expected = sample.program.expected(sample.param)
    if result != expected, do: exit({:wrong, result, expected})
  end

  defp medians([stages]), do: stages

  defp medians(runs) do
    Enum.zip_with(runs, fn [stage | _] = same -> %{stage | ns: Measure.median(for s <- same, do: s.ns)} end)
  end

  defp mean([_]), do: nil
  defp mean(times), do: Enum.sum(times) / length(times)

  defp failed(sample, {:wrong, result, expected}),
    do: "#{what(sample)} gave #{inspect(result)}, and #{inspect(expected)} is right"

  defp failed(sample, {:shutdown, {:aborted, turn}}) do
    "#{what(sample)}: #{inspect(turn.module)}.#{turn.behaviour} aborted a turn: #{Mote.Raised.format(turn.reason)}, " <>
      "message: #{turn.message}"
  end

  defp failed(sample, {:aborts, counts}), do: "#{what(sample)} had turns that abort: #{inspect(counts)}"
  defp failed(sample, reason), do: "#{what(sample)} failed: #{Exception.format_exit(reason)}"

  defp what(sample) do
    about = sample.program.about()
    "#{about.name} with #{about.param} #{sample.param} on #{sample.variant}"
  end
end
