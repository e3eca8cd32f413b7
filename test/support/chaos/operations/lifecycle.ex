defmodule Mote.Chaos.Operations.Lifecycle do
  @moduledoc "Machines, sponsors and code that come and go, and whole programs that go the same way everywhere."

  alias Mote.Chaos.{Findings, Machines, Operations, Pool, Programs, Watchdog}
  alias Mote.Generators

  def run({:add_sponsor, m, name, threads}, _lane) do
    Mote.add_sponsor(Machines.at(m), name, threads: threads)
  rescue
    # The quota is too small for it.
    ArgumentError -> :no_room
  end

  def run({:remove_sponsor, m, name}, _lane), do: Mote.remove_sponsor(Machines.at(m), name)

  def run({:stop, m}, lane) do
    if lane.id != :setting do
      Machines.replace(m, fn machine -> Watchdog.within(5_000, {:stop, m}, fn -> Mote.stop(machine) end) end)
      again(m, lane)
    end
  end

  def run({:crash, m}, lane) do
    Machines.replace(m, fn machine -> Process.exit(machine, :kill) end)
    again(m, lane)
  end

  def run({:gc, m}, _lane), do: Mote.gc(Machines.at(m))
  def run({:drain, m}, _lane), do: Mote.drain(Machines.at(m), 2_000)

  def run({:advance, m, ms}, _lane),
    do: if(Machines.config(m)[:clock] == :manual, do: Mote.advance(Machines.at(m), ms, 2_000))

  # -- code ----------------------------------------------------------------------------------------------------

  # The source of another module, under the name of this one.
  def run({:compile, i, k}, _lane) do
    with module when module != nil <- Pool.pick(:module, i) do
      alone(fn ->
        :code.purge(module)
        Programs.compile(module, Pool.pick(:source, k))
      end)
    end
  end

  def run({:load, m, i}, _lane),
    do: with(module when module != nil <- Pool.pick(:module, i), do: Mote.load(Machines.at(m), module))

  def run({:purge, i}, _lane) do
    with module when module != nil <- Pool.pick(:module, i) do
      alone(fn ->
        :code.purge(module)
        :code.delete(module)
      end)
    end
  end

  # -- whole programs ------------------------------------------------------------------------------------------

  # On a machine of its own, which others look at, collect and hold still meanwhile.
  def run({:agree, i, tier, fuel}, _lane) do
    with program when program != nil <- Pool.pick(:plain, i) do
      {pid, ref} = spawn_monitor(fn -> agree(program, tier, fuel) end)

      receive do
        {:DOWN, ^ref, _, ^pid, :normal} ->
          :ok

        {:DOWN, ^ref, _, ^pid, reason} ->
          Findings.found(:agree, %{seen: "the run failed", reason: reason, program: program})
      end
    end
  end

  # Elixir refuses to compile a module twice at once, and looks at one that it has just compiled.
  defp alone(change), do: :global.trans({__MODULE__, self()}, change, [node()])

  defp agree(program, tier, fuel) do
    Generators.with_module(program, fn module ->
      plain = Generators.run_reference(program, module, turn: &Mote.Interpret.turn/3)
      if Generators.comparable?(plain), do: agree(program, module, plain, fuel: fuel, tier: tier)
    end)
  end

  defp agree(program, module, plain, opts) do
    {:ok, machine} = Mote.start_link([gc: [min: 10_000]] ++ opts)
    pest = spawn_link(fn -> pester(machine) end)
    seen = Generators.run_machine(program, module, machine, length(plain.outside))
    Process.unlink(pest)
    Process.exit(pest, :kill)
    Mote.resume(machine)
    Mote.stop(machine)

    if not seen.limited and seen.outside != plain.outside,
      do: Findings.found(:agree, %{machine: seen.outside, reference: plain.outside, program: program.source})
  end

  defp pester(machine) do
    Mote.gc(machine)
    Mote.pause(machine)
    Mote.top(machine, by: :queued)
    Mote.resume(machine)
    Mote.Trace.stop(Mote.trace(machine, [], limit: 5))
    Mote.behaviours(machine, for: 1)
    pester(machine)
  end

  # What every machine has from the beginning.
  defp again(m, lane) do
    for {:create, ^m, _, _} = op <- Pool.get(:setting), do: Operations.run(op, lane)
  end
end
