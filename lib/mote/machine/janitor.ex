defmodule Mote.Machine.Janitor do
  # Cleans up after machines whose process was killed and could not do so itself: waits for their threads to end, frees
  # their memory, and reports their end. The threads themselves stop by the native monitor of the process, also without a
  # janitor.
  #
  # 1. The process that waits for the threads of a machine is monitored, and started again if it was killed.
  @moduledoc false

  use GenServer

  alias Mote.Machine.{Ending, Reporter, Table}
  alias Mote.Native

  @spec start_link(term) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "To be called by a process before it starts a native machine."
  @spec watch(pid) :: :ok
  def watch(pid), do: GenServer.call(__MODULE__, {:watch, pid})

  @impl GenServer
  def init(_arg) do
    Enum.each(Table.pids(), &Process.monitor/1)
    # What those have to do that clean up, by their process.
    {:ok, %{}}
  end

  @impl GenServer
  def handle_call({:watch, pid}, _from, state) when is_pid(pid) do
    Process.monitor(pid)
    {:reply, :ok, state}
  end

  @impl GenServer
  def handle_info({:DOWN, _, :process, cleaner, reason}, state) when is_map_key(state, cleaner) do
    {work, state} = Map.pop!(state, cleaner)
    {:noreply, if(reason == :killed, do: clean_up(work, state), else: state)}
  end

  def handle_info({:DOWN, _, :process, pid, reason}, state) do
    case Table.take(pid) do
      {:ok, machine, about} -> {:noreply, clean_up({machine, about, reason}, state)}
      :error -> {:noreply, state}
    end
  end

  use Mote.Internal.Stray

  defp who(_state), do: "janitor #{inspect(self())}"

  # A turn may take its time to end, and others must not wait for it.
  defp clean_up({machine, about, reason} = work, state) do
    {cleaner, _} =
      spawn_monitor(fn ->
        durable? = is_tuple(Native.journal_info(machine))
        figures = machine |> Native.machine_join() |> Ending.figures(0, durable?)
        Reporter.stop(about, reason, figures)
      end)

    Map.put(state, cleaner, work)
  end
end
