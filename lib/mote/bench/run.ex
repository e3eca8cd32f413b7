defmodule Mote.Bench.Run do
  # One run of one program, here and now: a fresh machine, the stages under the clock, the check of the result. In
  # which node that happens, and how often, is the business of `worker.ex` and `runner.ex`.
  @moduledoc false

  alias Mote.Bench.{Memory, Sample}

  @machine [sponsors: [single: [threads: 1]]]

  defmodule Error do
    @moduledoc false
    defexception [:message]
  end

  @doc """
  Loads the code of a program by a small run, so that the next one does not pay for it in time or memory.
  """
  @spec load(module, atom) :: :ok
  def load(program, variant) do
    once(program, variant, program.about().small, false)
    :ok
  end

  @doc """
  Runs the program in a process of its own, as every program on the BEAM would be.

  Raises `Mote.Bench.Run.Error` when the result is wrong or the run ends by a failure.
  """
  @spec once(module, atom, pos_integer, boolean) :: Sample.t()
  def once(program, variant, param, fresh) do
    sample = %Sample{program: program, variant: variant, param: param, fresh: fresh}
    {pid, monitor} = spawn_monitor(fn -> exit({:ran, run(sample)}) end)

    receive do
      {:DOWN, ^monitor, :process, ^pid, {:ran, sample}} -> sample
      {:DOWN, ^monitor, :process, ^pid, reason} -> raise Error, message: failed(sample, reason)
    end
  end

  @doc "How the machine of a run is started."
  @spec machine_options() :: keyword
  def machine_options, do: @machine

  defp run(%Sample{variant: :beam} = sample) do
    sample |> measure(& &1.program.beam(&1.param)) |> check()
  end

  defp run(%Sample{variant: :mote} = sample) do
    # Before the machine starts: what it takes for itself is part of the price of its actors.
    sample = %{sample | before: Memory.rss()}
    {:ok, machine} = Mote.start_link(@machine)
    {sample, result} = measure(sample, & &1.program.mote(machine, &1.param))
    sample = %{sample | info: Mote.info(machine)}
    :ok = Mote.stop(machine)
    check({sample, result})
  end

  defp measure(sample, prepare) do
    sample = %{sample | before: sample.before || Memory.rss()}
    reset = Memory.reset_peak()
    stages = prepare.(sample)
    settle = sample.program.about().settle

    {result, stages} =
      Enum.reduce(stages, {nil, []}, fn {name, fun}, {given, done} ->
        start = System.monotonic_time()
        result = fun.(given)
        time = System.monotonic_time() - start
        Process.sleep(settle)
        ns = System.convert_time_unit(time, :native, :nanosecond)
        {result, [%{name: name, ns: ns, rss: Memory.rss()} | done]}
      end)

    {%{sample | stages: Enum.reverse(stages), peak: if(reset, do: Memory.peak())}, result}
  end

  # The right result is not enough: no program here has turns that abort.
  defp check({sample, result}) do
    expected = sample.program.expected(sample.param)
    aborts = aborts(sample.info)

    cond do
      result != expected -> exit({:wrong, result, expected})
      aborts != [] -> exit({:aborts, aborts})
      true -> sample
    end
  end

  defp aborts(%{counters: counters}) do
    for {name, count} <- counters, count > 0, String.starts_with?("#{name}", "aborts"), do: {name, count}
  end

  defp aborts(nil), do: []

  defp failed(sample, {:wrong, result, expected}),
    do: "#{what(sample)} gave #{inspect(result)}, and #{inspect(expected)} is right"

  defp failed(sample, {:aborts, aborts}), do: "#{what(sample)} had turns that abort: #{inspect(aborts)}"
  defp failed(sample, reason), do: "#{what(sample)} failed: #{Exception.format_exit(reason)}"

  defp what(sample) do
    about = sample.program.about()
    "#{about.name} with #{about.param} #{sample.param} on #{sample.variant}"
  end
end
