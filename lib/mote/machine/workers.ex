defmodule Mote.Machine.Workers do
  # The workers of one beam sponsor: starts as many as are needed, sees to turns that take too long, and tells the machine of
  # those whose worker has died. Where turns wait for workers is native (native/mote_nif/src/held/desk.rs).
  #
  # 1. A turn ends once, whoever says so first: a worker with what it has done, or this process with an abort. So a worker
  #    may be killed at any moment.
  # 2. It ends with the machine, and its workers end with it.
  @moduledoc false

  use GenServer

  alias Mote.Machine.Worker
  alias Mote.Native

  @doc "Starts the workers of a sponsor of the calling machine."
  @spec start_link(reference, atom, timeout, pos_integer) :: GenServer.on_start()
  def start_link(native, sponsor, timeout, fuel),
    do: GenServer.start(__MODULE__, {self(), native, sponsor, timeout, fuel})

  # Linked by itself: a parent's end would be an error of this process, whatever it has been for the parent.
  @impl GenServer
  def init({machine, native, sponsor, timeout, fuel}) do
    Process.flag(:trap_exit, true)
    Process.link(machine)

    case Native.desk_open(native, sponsor) do
      desk when is_reference(desk) ->
        about = %{manager: self(), desk: desk, native: native, fuel: fuel}
        state = %{about: about, machine: machine, sponsor: sponsor, timeout: timeout, workers: MapSet.new()}
        {:ok, watch(state, timeout)}

      # Whoever has started it finds out.
      :stopped ->
        :ignore
    end
  end

  @impl GenServer
  def handle_info(:mote_workers, state) do
    more = for _ <- 1..Native.desk_asked(state.about.desk)//1, do: Worker.start_link(state.about)
    {:noreply, %{state | workers: MapSet.union(state.workers, MapSet.new(more))}}
  end

  def handle_info(:overdue, state) do
    {over, next} = Native.desk_overdue(state.about.desk, state.timeout)
    Enum.each(over, &late(state.about.desk, &1))
    {:noreply, watch(state, next)}
  end

  def handle_info(:closed, state), do: {:stop, :normal, state}
  def handle_info({:EXIT, machine, _reason}, %{machine: machine} = state), do: {:stop, :normal, state}

  def handle_info({:EXIT, pid, reason}, %{workers: workers} = state) do
    if MapSet.member?(workers, pid) do
      with number when number != nil <- Native.desk_lost(state.about.desk, pid),
           do: Worker.abort(state.about.desk, number, Worker.exited(reason))

      {:noreply, %{state | workers: MapSet.delete(workers, pid)}}
    else
      {:noreply, state}
    end
  end

  use Mote.Stray

  defp who(state), do: "workers of sponsor #{inspect(state.sponsor)}"

  @impl GenServer
  def terminate(_reason, state), do: Enum.each(state.workers, &kill/1)

  # Also the process of a turn that may call any Elixir, which may trap exits.
  defp kill(worker) do
    with {:links, links} <- Process.info(worker, :links),
         do: for(pid <- links, is_pid(pid) and pid != self(), do: Process.exit(pid, :kill))

    Process.exit(worker, :kill)
  end

  # Every turn that begins from now on may take at least that long.
  defp watch(%{timeout: :infinity} = state, _milliseconds), do: state

  defp watch(state, milliseconds) do
    Process.send_after(self(), :overdue, milliseconds)
    state
  end

  defp late(desk, {number, worker, free?}) do
    if Worker.abort(desk, number, :timeout) == :ok do
      # Of a turn that may call any Elixir the worker has a process, which it ends.
      if free?, do: send(worker, {:mote_late, number}), else: Process.exit(worker, :kill)
    end
  end
end
