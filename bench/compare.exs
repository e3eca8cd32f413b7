# Runs a program of `Mote.Bench` under Benchee, on Mote and on BEAM processes. The scripts beside this one say which.
#
# Benchee times the stages of a run; its hooks start a machine for all runs of a size, and make the actors of each, outside
# of the time.
# Its memory figures see the heap of a BEAM process only, so they are not asked for: see `mix mote.bench`.

# Run from the root, the project in this directory is not built yet.
if Mix.Project.config()[:app] == :mote, do: Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.Compare do
  alias Mote.Bench.{Options, Run, Variant}

  @doc "Sizes come from the command line, `default` without any."
  def run(program, default) do
    params = sizes(System.argv(), default)
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
          "elixir --erl \"+P #{needed}\" -S mix run bench/#{program.about().name}.exs #{param}"
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
