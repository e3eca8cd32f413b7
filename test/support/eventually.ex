defmodule Mote.Eventually do
  @moduledoc """
  Waiting in tests for what another thread or process does, where nothing tells when it is done.
  """

  import ExUnit.Assertions, only: [flunk: 1]

  # Much longer than anything takes, also on a busy host and with collections after every turn.
  @patience_ms 30_000
  # Between two looks: what comes soon is seen soon, and what takes long is not looked at a thousand times, while others need the core.
  @least_pause_ms 1
  @greatest_pause_ms 32

  @doc "The first value of the function that is neither `nil` nor `false`; the test fails when there is none in time."
  @spec eventually((... -> value)) :: value when value: term
  def eventually(fun),
    do: eventually(fun, System.monotonic_time(:millisecond) + @patience_ms, @least_pause_ms)

  @doc "Waits until the only thread of a machine sleeps."
  @spec asleep(GenServer.server()) :: true
  def asleep(machine) do
    eventually(fn ->
      [%{asleep: asleep, threads: [thread]}] = Map.values(Mote.info(machine).sponsors)
      # It is counted as asleep a moment before a caller can stand in for it; then the machine is quiet.
      asleep == 1 and thread.parks > 0 and Mote.drain(machine, 60_000) == :ok
    end)
  end

  @doc """
  Collects as soon as this node holds `held` addresses of the machine: it lets go of one when it collects the process that has
  had it.
  """
  @spec collect(Mote.Machine.t(), non_neg_integer) :: term
  def collect(machine, held) do
    :erlang.garbage_collect()

    eventually(fn ->
      collected? = Mote.info(machine).references == held
      unless collected?, do: Enum.each(Process.list(), &:erlang.garbage_collect/1)
      collected?
    end)

    Mote.gc(machine)
  end

  defp eventually(fun, deadline, pause) do
    cond do
      value = fun.() ->
        value

      System.monotonic_time(:millisecond) > deadline ->
        flunk("waited in vain for #{@patience_ms} ms")

      true ->
        Process.sleep(pause)
        eventually(fun, deadline, min(2 * pause, @greatest_pause_ms))
    end
  end
end
