defmodule Mote.Chaos.Child do
  @moduledoc """
  One scenario, in an operating system process of its own: it may end in any way.

  Its directory has the scenario, a journal of each lane, whose last line is what it was at, and what was found.
  """

  alias Mote.Chaos.{
    Checks,
    Findings,
    Listeners,
    Machines,
    Operations,
    Pool,
    Programs,
    Scenario,
    Terms,
    Watchdog
  }

  # A call of the NIF ends within a millisecond. On a busy host a thread may not run for longer, but not for that long.
  @long_schedule 800
  # Milliseconds after which no further round begins.
  @rounds 8_000

  @doc "Runs what is in a directory; ends the process."
  def main(dir) do
    scenario = Scenario.read!(Path.join(dir, "scenario.exs"))
    {:ok, _} = Application.ensure_all_started(:mote)
    Findings.open(Path.join(dir, "finding"))
    Pool.new()
    Pool.set(:stress, scenario.stress)
    Pool.set(:kinds, scenario.kinds)
    Pool.set(:machine_ended, false)
    Pool.set(:lanes, [])
    Pool.set(:setting, scenario.phases |> hd() |> List.flatten())
    Watchdog.start()
    end_with_parent()
    listen_to_schedulers(scenario)
    listen_to_telemetry()
    {:ok, _} = Machines.start(scenario.machines)
    modules(scenario)

    [setting | phases] = Enum.with_index(scenario.phases)
    phase(setting, dir)
    began = System.monotonic_time(:millisecond)
    for n <- 1..scenario.rounds, n == 1 or since(began) < @rounds, phase <- phases, do: phase(phase, dir)
    IO.puts("what was done: #{inspect(done(), limit: :infinity)}")
    stop_all()
    IO.puts("all held")
    System.halt(0)
  end

  defp modules(scenario) do
    for {source, i} <- Enum.with_index(scenario.modules) do
      Pool.put(:source, source)
      Pool.put(:module, Programs.compile(Module.concat(Mote.Chaos.Wild, "M#{i}"), source))
    end

    for program <- scenario.plain, do: Pool.put(:plain, program)
  end

  defp since(time), do: System.monotonic_time(:millisecond) - time

  defp phase({lanes, p}, dir) do
    Checks.begin_phase()

    lanes =
      for {ops, n} <- Enum.with_index(lanes) do
        lane = %{
          id: if(p == 0, do: :setting, else: {p, n}),
          ear: Listeners.start(Enum.at([:off_heap, :on_heap], rem(n, 2)))
        }

        journal = Path.join(dir, "journal.#{p}.#{n}")
        {pid, ref} = spawn_monitor(fn -> lane(ops, lane, journal) end)
        Map.merge(lane, %{pid: pid, ref: ref})
      end

    Pool.set(:lanes, Enum.map(lanes, & &1.pid))

    for %{ref: ref, id: id} <- lanes do
      receive do
        {:DOWN, ^ref, _, _, :normal} -> :ok
        {:DOWN, ^ref, _, _, reason} -> Findings.found(:lane_ended, %{lane: id, reason: reason})
      end
    end

    Checks.all(lanes)
  end

  # Written before an operation begins, for nobody knows whether there is an afterwards.
  defp lane(ops, lane, journal) do
    {:ok, file} = :file.open(String.to_charlist(journal), [:raw, :append])

    for {op, n} <- Enum.with_index(ops), op != nil, Checks.time_left?() do
      :file.write(file, "#{n} #{inspect(op, limit: 20, printable_limit: 100)}\n")
      Operations.run(op, lane)
    end

    :file.write(file, "ended\n")
  end

  # Whoever has started this process and goes away needs no answer.
  defp end_with_parent do
    spawn(fn -> if IO.read(:stdio, :line) in [:eof, {:error, :terminated}], do: System.halt(1) end)
  end

  # How much came to what: a scenario that does nothing finds nothing.
  defp done do
    for {_, machine} <- Machines.all(), reduce: %{} do
      sum -> Map.merge(sum, Mote.info(machine).counters, fn _, a, b -> a + b end)
    end
  end

  defp stop_all do
    Machines.end_all(fn machine ->
      Watchdog.within(5_000, {:stop, :at_the_end}, fn -> Mote.stop(machine) end)
    end)
  end

  # -- listeners -----------------------------------------------------------------------------------------------

  defp listen_to_schedulers(%{stress: nil}) do
    pid = spawn(&long_schedules/0)
    :erlang.system_monitor(pid, [{:long_schedule, @long_schedule}])
  end

  defp listen_to_schedulers(_scenario), do: :ok

  defp long_schedules do
    receive do
      {:monitor, pid, :long_schedule, info} when is_pid(pid) ->
        unless compiles?(info[:in]) and compiles?(info[:out]) do
          Findings.found(:held_scheduler, %{
            milliseconds: info[:timeout],
            in: info[:in],
            out: info[:out],
            stack: Process.info(pid, :current_stacktrace)
          })
        end

        long_schedules()

      _ ->
        long_schedules()
    end
  end

  # The compiler of Erlang calls nothing of ours, and the collections of its heap are long.
  defp compiles?({module, _, _}), do: String.starts_with?(Atom.to_string(module), "beam_")
  defp compiles?(:undefined), do: false

  # A handler that keeps what it is told, and uses it later.
  defp listen_to_telemetry do
    :telemetry.attach_many("chaos", Mote.Telemetry.events(), &__MODULE__.told/4, nil)
  end

  def told(_event, measurements, metadata, _config) do
    inspect({measurements, metadata})
    for address <- Enum.take(Terms.addresses(metadata), 20), do: Pool.put(:kept, address)
  end
end
