# Runs a program of `Mote.Bench` under Benchee, on Mote and on BEAM processes:
#
#     mix run bench/compare.exs ring
#     mix run bench/compare.exs fork_bomb 12 15
#     mix run bench/compare.exs savina
#
# `savina` is all programs of the suite, one after the other.
#
# Benchee times the stages of a run; its hooks start a machine for all runs of a size, and make the actors of each, outside
# of the time.
# Its memory figures see the heap of a BEAM process only, so they are not asked for: see `mix mote.bench`.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.Compare do
  alias Mote.Bench.{Options, Run, Savina, Variant}

  # Sizes that suit Benchee, which runs a program for seconds. For others those of `mix mote.bench` do.
  @sizes %{
    "chain" => [1_000, 100_000],
    "counting" => [1_000, 1_000_000],
    "erfc_bomb" => [3, 8],
    "estragon" => [1_000, 100_000],
    "fan" => [100, 1_000],
    "fib_futures" => [16, 21],
    "fork_bomb" => [10, 15],
    "k_means" => [10_000],
    "k_nearest" => [500],
    "merge_sort" => [1_000, 65_536],
    "northwind" => [1_000, 10_000],
    "northwind_joins" => [1_000],
    "ping_pong" => [1_000, 100_000],
    "random_bomb" => [10],
    "ring" => [1_000, 1_000_000],
    "self_send" => [1_000],
    "time_eater" => [1, 16, 256],
    "time_eater_sends" => [1, 16, 256]
  }

  def main(["savina"]), do: for(program <- Savina.programs(), do: run(program, program.about().defaults))

  def main([name | sizes]) do
    with {:ok, program} <- Mote.Bench.fetch(name), true <- Variant.beam?(program) do
      run(program, sizes(sizes, @sizes[name] || program.about().defaults))
    else
      _ -> Mix.raise("no program of both sides is called #{name}: mix mote.bench lists all")
    end
  end

  def main([]), do: Mix.raise("which program? mix mote.bench lists all")

  defp run(program, params) do
    Enum.each(params, &room!(program, &1))

    Benchee.run(
      %{
        "mote" =>
          {&timed/1,
           before_scenario: &{machine(program), &1},
           before_each: &mote(program, &1),
           after_each: &check(program, &1),
           after_scenario: fn {machine, _} -> Mote.stop(machine) end},
        "beam processes" => {&timed/1, before_each: &beam(program, &1), after_each: &check(program, &1)}
      },
      title: program.about().title,
      inputs: for(param <- params, do: {"#{program.about().param} #{param}", param}),
      warmup: 1,
      time: 3
    )
  end

  defp sizes([], default), do: default

  defp sizes(argv, _) do
    case Options.sizes(Enum.join(argv, ",")) do
      {:ok, sizes} -> sizes
      :error -> Mix.raise("sizes are numbers, got: #{inspect(argv)}")
    end
  end

  # Processes that have ended leave their place a little later than they send their last message.
  defp room!(program, param) do
    needed = 2 * program.processes(param) + :erlang.system_info(:process_count)

    if needed > :erlang.system_info(:process_limit) do
      Mix.raise(
        "#{program.about().name} #{param} needs up to #{needed} processes: " <>
          "elixir --erl \"+P #{needed}\" -S mix run bench/compare.exs #{program.about().name} #{param}"
      )
    end
  end

  # Of a program with machines of its own, the last one: with the most threads.
  defp machine(program) do
    variant = List.last(Variant.machines(program, :st))
    {:ok, machine} = Mote.start_link(Variant.options(program, variant))
    machine
  end

  defp mote(program, {machine, param}) do
    stages = program.mote(machine, param)
    Run.compiled(machine)
    %{param: param, stages: stages}
  end

  defp beam(program, param), do: %{param: param, stages: program.beam(param)}

  defp timed(%{stages: stages} = run) do
    {run, Enum.reduce(stages, nil, fn {_name, stage}, given -> given |> stage.() |> result() end)}
  end

  # What a stage measured by itself is for `mix mote.bench`.
  defp result({:figures, _, result}), do: result
  defp result(result), do: result

  defp check(program, {run, result}), do: true = result == program.expected(run.param)
end

Mote.Bench.Compare.main(System.argv())
