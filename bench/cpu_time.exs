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
  alias Mote.Bench.{Programs, Rounds, Run, Rust, Savina, Threads, Variant}

  # What Linux calls the threads of the two sides.
  @threads [mote: "mote-", beam: "1_sched"]

  def run(names, runs) do
    if :erlang.system_info(:schedulers) > 1, do: raise("start the node with ERL_FLAGS=\"+S 1:1 +sbwt none\"")
    with {:error, reason} <- Rust.build(), do: raise("no comparison with Rust: #{reason}")
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1]])
    ratios = for {program, size} <- programs(names), do: row(program, size, machine, runs)

    {medians, least} = Enum.unzip(ratios)
    mean = fn ratios -> ratios |> Savina.geometric_mean() |> Float.round(2) end
    IO.puts("#{length(ratios)} programs, geometric mean: #{mean.(medians)}, least #{mean.(least)}")
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

    [{least, middle, _} | others] =
      all = for side <- sides, do: Rounds.extent(Keyword.get_values(times, side))

    ratios =
      for {others_least, others_middle, _} <- others, do: {others_middle / middle, others_least / least}

    figures = Enum.map_join(all, "; ", &figures/1)

    shown =
      Enum.map_join(ratios, "; ", fn {median, least} ->
        "#{Float.round(median, 2)}, #{Float.round(least, 2)}"
      end)

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

  defp figures({least, middle, most}), do: "#{shown(middle)} (#{shown(least)}–#{shown(most)})"
  defp shown(ns) when ns < 1_000, do: ns |> Float.round(1) |> to_string()
  defp shown(ns), do: ns |> round() |> to_string()
end

{names, runs} = Enum.split(System.argv(), 1)
[runs] = Mote.Bench.Rounds.numbers(runs, [5])
Mote.Bench.CPUTime.run(List.first(names), runs)
