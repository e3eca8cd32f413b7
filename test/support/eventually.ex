defmodule Mote.Eventually do
  @moduledoc """
  Waiting in tests for what another thread or process does, where nothing tells when it is done.
  """

  import ExUnit.Assertions, only: [flunk: 1]

  # Much longer than anything takes, also on a busy host and with collections after every turn.
  @patience_ms 30_000
  @pause_ms 2

  @doc "The first value of the function that is neither `nil` nor `false`; the test fails when there is none in time."
  @spec eventually((... -> value)) :: value when value: term
  def eventually(fun), do: eventually(fun, System.monotonic_time(:millisecond) + @patience_ms)

  @doc "Waits until the only thread of a machine sleeps."
  @spec asleep(GenServer.server()) :: true
  def asleep(machine) do
    eventually(fn ->
      [%{asleep: asleep, threads: [thread]}] = Map.values(Mote.info(machine).sponsors)
      asleep == 1 and thread.parks > 0
    end)
  end

  defp eventually(fun, deadline) do
    cond do
      value = fun.() ->
        value

      System.monotonic_time(:millisecond) > deadline ->
        flunk("waited in vain for #{@patience_ms} ms")

      true ->
        Process.sleep(@pause_ms)
        eventually(fun, deadline)
    end
  end
end
