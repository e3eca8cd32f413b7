# Programs by the CPU time that they take, not by the clock: that of the machine's one thread, until the machine is at rest, beside
# that of one scheduler, and that of the thread of the same in plain Rust, if there is such a program. Other programs on the
# computer disturb it less. In nanoseconds for what a program counts: the median, the least and the greatest of the runs; the
# ratio of the medians, and of the least; at the end the geometric mean of those to one scheduler. On Linux.
#
#     ERL_FLAGS="+S 1:1 +sbwt none" mix run bench/cpu_time.exs [PROGRAM[:SIZE],…] [RUNS]
#
# Without names it is all of the Savina suite. A run whose result is wrong ends the script.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.CPUTime do
  alias Mote.Bench.{Programs, Run, Rust, Savina, Threads, Variant}

  # What Linux calls the threads of the two sides.
  @threads [mote: "mote-", beam: "1_sched"]

  def run(names, runs) do
    if :erlang.system_info(:schedulers) > 1, do: raise("start the node with ERL_FLAGS=\"+S 1:1 +sbwt none\"")
    with {:error, reason} <- Rust.build(), do: raise("no comparison with Rust: #{reason}")
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1]])
    ratios = for {program, size} <- programs(names), do: row(program, size, machine, runs)

    mean = fn ratios -> :math.exp(Enum.sum(Enum.map(ratios, &:math.log/1)) / length(ratios)) end
    {medians, least} = Enum.unzip(ratios)

    IO.puts(
      "#{length(ratios)} programs, geometric mean: #{round2(mean.(medians))}, least #{round2(mean.(least))}"
    )
  end

  defp programs(nil), do: for(program <- Savina.programs(), do: {program, hd(program.about().defaults)})

  defp programs(names) do
    all = Savina.programs() ++ [Programs.ForkBomb, Programs.Fib, Programs.ErfcDsl]

    for name <- String.split(names, ",") do
      {name, size} =
        with [name] <- String.split(name, ":"), do: {name, nil}, else: ([name, size] -> {name, size})

      program = Enum.find(all, &(&1.about().name == name)) || raise("no program is called #{name}")
      {program, if(size, do: String.to_integer(size), else: hd(program.about().defaults))}
    end
  end

  defp row(program, size, machine, runs) do
    sides = Keyword.keys(@threads) ++ Variant.rust(program)
    # The first one of each compiles, and takes memory that later ones find.
    for side <- sides, do: measured(side, program, size, machine)
    times = for _ <- 1..runs, side <- sides, do: {side, measured(side, program, size, machine)}
    [mote | others] = for side <- sides, do: Enum.sort(Keyword.get_values(times, side))
    ratios = for other <- others, do: {middle(other) / middle(mote), hd(other) / hd(mote)}
    figures = Enum.map_join([mote | others], "; ", &figures/1)
    shown = Enum.map_join(ratios, "; ", fn {median, least} -> "#{round2(median)}, #{round2(least)}" end)
    IO.puts("#{program.about().name} #{size}: #{figures}; #{shown}")
    hd(ratios)
  end

  # In a process of its own, which takes its memory with it.
  defp measured(side, program, size, machine) when side in [:mote, :beam] do
    Task.async(fn ->
      stages = if side == :mote, do: program.mote(machine, size), else: program.beam(size)
      Run.compiled(machine)
      before = Threads.cpu_ns(@threads[side])
      result = Enum.reduce(stages, nil, fn {_, stage}, given -> stage.(given) end)
      :ok = Mote.drain(machine, :infinity)
      time = Threads.cpu_ns(@threads[side]) - before

      check(program, size, result)
      time / program.count(size)
    end)
    |> Task.await(:infinity)
  end

  defp measured(rust, program, size, _machine) do
    {_ns, cpu_ns, result} = Rust.run(program.about().rust[rust], size, 1)
    check(program, size, program.rust(result, size))
    cpu_ns / program.count(size)
  end

  defp check(program, size, result) do
    if result != program.expected(size), do: raise("#{program.about().name} has computed #{inspect(result)}")
  end

  defp middle(sorted), do: Enum.at(sorted, div(length(sorted), 2))
  defp figures(sorted), do: "#{shown(middle(sorted))} (#{shown(hd(sorted))}–#{shown(List.last(sorted))})"
  defp shown(ns) when ns < 1_000, do: ns |> Float.round(1) |> to_string()
  defp shown(ns), do: ns |> round() |> to_string()
  defp round2(ratio), do: Float.round(ratio, 2)
end

{names, runs} =
  case System.argv() do
    [] -> {nil, "5"}
    [names] -> {names, "5"}
    [names, runs] -> {names, runs}
  end

Mote.Bench.CPUTime.run(names, String.to_integer(runs))
