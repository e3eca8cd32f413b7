defmodule Mote.Bench.Run do
  # One sample of one program, here and now: a fresh machine, the stages under the clock, the check of the result. In
  # which node that happens, and how often, is the business of `worker.ex` and `runner.ex`.
  #
  # Short programs are repeated on the same machine, where they find its threads and the cache warm: the first time
  # does not count, and the times of the sample are the means of the others.
  @moduledoc false

  alias Mote.Bench.{Memory, Rust, Sample, Variant}

  defmodule Error do
    @moduledoc false
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
  are timed; when there are several, one more goes ahead of them.

  Raises `Mote.Bench.Run.Error` when the result is wrong or the run ends by a failure.
  """
  @spec once(module, Variant.t(), pos_integer, fresh: boolean, repeats: pos_integer) :: Sample.t()
  def once(program, variant, param, opts \\ []) do
    opts = Keyword.validate!(opts, fresh: false, repeats: 1)
    sample = struct!(%Sample{program: program, variant: variant, param: param}, opts)
    {pid, monitor} = spawn_monitor(fn -> exit({:ran, run(sample)}) end)

    receive do
      {:DOWN, ^monitor, :process, ^pid, {:ran, sample}} -> sample
      {:DOWN, ^monitor, :process, ^pid, reason} -> raise Error, message: failed(sample, reason)
    end
  end

  defp run(%Sample{variant: :beam} = sample), do: measure(sample, & &1.program.beam(&1.param))

  defp run(%Sample{} = sample) do
    case sample.program.about().rust[sample.variant] do
      nil -> run_machine(sample)
      name -> run_rust(sample, name)
    end
  end

  # The time is that of the executable, the memory nobody's: it is not in this OS process.
  defp run_rust(sample, name) do
    {ns, result} = Rust.run(name, sample.param, sample.repeats)
    check(sample, sample.program.rust(result, sample.param))
    %{sample | stages: [%{name: :run, ns: ns, rss: nil}]}
  end

  defp run_machine(sample) do
    # Before the machine starts: what it takes for itself is part of the price of its actors.
    sample = %{sample | before: Memory.rss()}
    {:ok, machine} = Mote.start_link(Variant.options(sample.program, sample.variant))

    sample =
      try do
        sample =
          measure(sample, fn sample ->
            stages = sample.program.mote(machine, sample.param)
            compiled(machine)
            stages
          end)

        %{sample | info: Mote.info(machine)}
      after
        :ok = Mote.stop(machine)
      end

    # The right result is not enough: no program here has turns that abort, but those that are about it.
    with false <- sample.program.about().aborts,
         [_ | _] = aborts <- aborts(sample.info),
         do: exit({:aborts, aborts})

    sample
  end

  # What is measured is the code that a machine runs in the long run, not the interpreter that stands in for it.
  defp compiled(machine) do
    if Mote.info(machine).native.pending > 0 do
      Process.sleep(1)
      compiled(machine)
    end
  end

  defp measure(sample, prepare) do
    sample = %{sample | before: sample.before || Memory.rss()}
    reset = Memory.reset_peak()
    if sample.repeats > 1, do: stages(sample, prepare.(sample))
    runs = for _ <- 1..sample.repeats, do: stages(sample, prepare.(sample))

    %{
      sample
      | stages: mean(for {stages, _} <- runs, do: stages),
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

  defp mean([stages]), do: stages

  defp mean(runs) do
    Enum.zip_with(runs, fn [stage | _] = same ->
      %{stage | ns: Enum.sum(Enum.map(same, & &1.ns)) / length(same)}
    end)
  end

  defp aborts(%{counters: counters}) do
    for {name, count} <- counters, count > 0, String.starts_with?("#{name}", "aborts"), do: {name, count}
  end

  defp failed(sample, {:wrong, result, expected}),
    do: "#{what(sample)} gave #{inspect(result)}, and #{inspect(expected)} is right"

  defp failed(sample, {:aborts, aborts}), do: "#{what(sample)} had turns that abort: #{inspect(aborts)}"
  defp failed(sample, reason), do: "#{what(sample)} failed: #{Exception.format_exit(reason)}"

  defp what(sample) do
    about = sample.program.about()
    "#{about.name} with #{about.param} #{sample.param} on #{sample.variant}"
  end
end
