defmodule Mote.StillRunning do
  @moduledoc """
  A formatter that names the tests that have been running for minutes, once a minute, with the memory of the node: where a
  run is ended from outside, its last lines say what it was at.
  """
  use GenServer

  @every 60_000
  @long 300_000

  @impl true
  def init(_) do
    {:ok, _} = :timer.send_interval(@every, :look)
    {:ok, %{}}
  end

  @impl true
  def handle_cast({:test_started, test}, running), do: {:noreply, Map.put(running, id(test), now())}
  def handle_cast({:test_finished, test}, running), do: {:noreply, Map.delete(running, id(test))}
  def handle_cast(_, running), do: {:noreply, running}

  @impl true
  def handle_info(:look, running) do
    for {{module, name}, since} <- running, (ms = now() - since) >= @long do
      IO.puts("still running after #{div(ms, 60_000)} min: #{inspect(module)}, #{name}; #{memory()}")
    end

    {:noreply, running}
  end

  defp id(test), do: {test.module, test.name}
  defp now, do: System.monotonic_time(:millisecond)

  # What the system has given to the node, with all machines, where there is a file that says so.
  defp memory do
    with {:ok, status} <- File.read("/proc/self/status"),
         [size] <- Regex.run(~r/VmRSS:\s+(\d+)/, status, capture: :all_but_first) do
      "#{div(String.to_integer(size), 1024)} MB"
    else
      _ -> "memory unknown"
    end
  end
end
