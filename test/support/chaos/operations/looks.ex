defmodule Mote.Chaos.Operations.Looks do
  @moduledoc "Looks, traces and pauses: what they tell does not matter, that they end and harm nobody does."

  alias Mote.Chaos.{Machines, Pool}

  def run({:info, m}, _lane), do: Mote.info(Machines.at(m))

  def run({:info_actor, m, sort, i}, _lane),
    do: about(Pool.pick(Machines.sort(sort, Machines.at(m)), i), &Mote.info/1)

  def run({:info_kept, i}, _lane), do: about(Pool.pick(:kept, i), &Mote.info/1)
  def run({:top, m, by, ms}, _lane), do: kept(Mote.top(Machines.at(m), by: by, for: ms))
  def run({:behaviours, m, ms}, _lane), do: Mote.behaviours(Machines.at(m), for: ms)

  def run({:fold, m}, _lane),
    do: Mote.fold(Machines.at(m), nil, 0, fn state, n when is_tuple(state) -> n + 1 end)

  def run({:graph, m, sort, i}, _lane),
    do: about(Pool.pick(Machines.sort(sort, Machines.at(m)), i), &inspect(Mote.graph(&1)))

  def run({:show, i}, _lane), do: inspect({Pool.pick(:any, i), Pool.pick(:future, i), Pool.pick(:outbox, i)})

  def run({:trace, m, filter, limit}, lane),
    do: Pool.put(:trace, Mote.trace(Machines.at(m), filter, limit: limit, to: lane.ear))

  def run({:end_trace, i}, _lane), do: about(Pool.pick(:trace, i), &Mote.Trace.stop/1)

  def run({:pause, m, steps, sponsor}, _lane) do
    machine = Machines.at(m)
    Mote.pause(machine)

    try do
      for _ <- 1..steps//1, {:ok, turn} <- [Mote.step(machine, sponsor: sponsor)], do: Mote.Trace.format(turn)
    after
      Mote.resume(machine)
    end
  end

  defp about(nil, _fun), do: :nobody
  defp about(what, fun), do: fun.(what)

  # What a look has given is asked later.
  defp kept(list), do: for(%{address: address} <- list, do: Pool.put(:kept, address))
end
