# Runs a program of `Mote.Bench` under Benchee, on Mote and on BEAM processes. The scripts beside this one say which.
#
# Benchee times the stages of a run; starting and stopping the machine happens in its hooks, outside of the time.
# Its memory figures see the heap of a BEAM process only, so they are not asked for: see `mix mote.bench`.
defmodule Mote.Bench.Compare do
  alias Mote.Bench.{Options, Variant}

  @doc "Sizes come from the command line, `default` without any."
  def run(program, default) do
    params = sizes(System.argv(), default)
    Enum.each(params, &room!(program, &1))

    Benchee.run(
      %{
        "mote" => {&timed/1, before_each: &mote(program, &1), after_each: &check(program, &1)},
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

  defp mote(program, param) do
    {:ok, machine} = Mote.start_link(Variant.options(program, :mote))
    %{param: param, machine: machine, stages: program.mote(machine, param)}
  end

  defp beam(program, param), do: %{param: param, machine: nil, stages: program.beam(param)}

  defp timed(%{stages: stages} = run) do
    {run, Enum.reduce(stages, nil, fn {_name, stage}, given -> stage.(given) end)}
  end

  defp check(program, {run, result}) do
    if run.machine, do: Mote.stop(run.machine)
    true = result == program.expected(run.param)
  end
end
