defmodule Mote.Machine.Watcher do
  # Monitors the processes whose ends actors of one machine wait for. Which actors, the native side knows
  # (native/mote_nif/src/held/watches.rs).
  #
  # 1. Each process is monitored once, however many actors wait for its end.
  # 2. What an actor has waited for comes: when the process ends, also if it had ended before, and when its node cannot be reached.
  @moduledoc false

  use GenServer

  alias Mote.Native

  # How many ends one call tells of.
  @at_once 1_000

  @doc "Starts the watcher of the calling machine."
  @spec start_link(reference) :: GenServer.on_start()
  def start_link(native), do: GenServer.start(__MODULE__, {self(), native})

  # Links itself to the machine: `start_link` would report the end of the parent as a crash of this process.
  @impl GenServer
  def init({machine, native}) do
    Process.flag(:trap_exit, true)
    Process.link(machine)
    never_suspended()
    :ok = Native.machine_watcher(native)
    {:ok, %{machine: machine, native: native, monitors: %{}}}
  end

  @impl GenServer
  # Of one that is monitored the end is still to come (invariant 1).
  def handle_info({:mote_watch, pid}, %{monitors: monitors} = state) when is_map_key(monitors, pid),
    do: {:noreply, state}

  def handle_info({:mote_watch, pid}, state) when is_pid(pid),
    do: {:noreply, put_in(state.monitors[pid], Process.monitor(pid))}

  def handle_info({:DOWN, monitor, :process, pid, _}, %{monitors: monitors} = state)
      when :erlang.map_get(pid, monitors) == monitor do
    {ended, monitors} = ended([pid], Map.delete(monitors, pid), @at_once)
    Native.machine_processes_ended(state.native, Enum.reverse(ended))
    {:noreply, %{state | monitors: monitors}}
  end

  def handle_info(:mote_sweep, state) do
    {pids, again?} = Native.machine_sweep(state.native)
    if again?, do: send(self(), :mote_sweep)
    {gone, monitors} = Map.split(state.monitors, pids)
    for {_, monitor} <- gone, do: Process.demonitor(monitor, [:flush])
    {:noreply, %{state | monitors: monitors}}
  end

  def handle_info({:EXIT, machine, _reason}, %{machine: machine} = state), do: {:stop, :normal, state}
  def handle_info({:EXIT, _stranger, _reason}, state), do: {:noreply, state}

  use Mote.Internal.Stray

  defp who(_state), do: "watcher #{inspect(self())}"

  # A node that takes nothing in holds up no ends of other processes: from OTP 25.3 on.
  defp never_suspended do
    :erlang.process_flag(:async_dist, true)
  rescue
    ArgumentError -> false
  end

  # And those that have ended meanwhile.
  defp ended(pids, monitors, 0), do: {pids, monitors}

  defp ended(pids, monitors, most) do
    receive do
      {:DOWN, monitor, :process, pid, _} when :erlang.map_get(pid, monitors) == monitor ->
        ended([pid | pids], Map.delete(monitors, pid), most - 1)
    after
      0 -> {pids, monitors}
    end
  end
end
