defmodule Mote.Machine.Workers do
  # The workers of one beam sponsor: starts as many as are needed, ends turns that take too long, and reports
  # turns whose worker has died to the machine. The queue of turns that wait for workers is native
  # (native/mote_nif/src/held/desk.rs).
  #
  # 1. A turn ends once, and the first to say so ends it: a worker with what it has done, or this process with an abort.
  #    So a worker may be killed at any moment.
  # 2. It ends with the machine, and the turns that run end with it, also when it is killed: by its keeper.
  # 3. It never waits for anything but messages: all turns that may call any Elixir need it for a worker.
  @moduledoc false

  use GenServer

  alias Mote.Machine.Worker
  alias Mote.Native

  # How many workers that have ended one call tells the desk of: some tens of microseconds.
  @at_once 250

  @doc "Starts the workers of a sponsor of the calling machine."
  @spec start_link(reference, atom, timeout) :: GenServer.on_start()
  def start_link(native, sponsor, timeout),
    do: GenServer.start(__MODULE__, {self(), native, sponsor, timeout})

  # Links itself to the machine: `start_link` would report the end of the parent as a crash of this process.
  @impl GenServer
  def init({machine, native, sponsor, timeout}) do
    Process.flag(:trap_exit, true)
    Process.link(machine)

    case Native.desk_open(native, sponsor, timeout) do
      desk when is_reference(desk) ->
        about = %{desk: desk}
        state = %{about: about, machine: machine, sponsor: sponsor, timeout: timeout, keeper: keeper(desk)}
        {:ok, watch(state, timeout)}

      # The process that has started it finds out.
      :stopped ->
        :ignore
    end
  end

  @impl GenServer
  def handle_info(:mote_workers, state) do
    for _ <- 1..Native.desk_asked(state.about.desk)//1, do: Worker.start(state.about)
    {:noreply, state}
  end

  def handle_info({:DOWN, monitor, :process, pid, _}, %{keeper: {pid, monitor}} = state),
    do: {:noreply, %{state | keeper: keeper(state.about.desk)}}

  def handle_info({:DOWN, _, :process, worker, reason}, state)
      when is_pid(worker) and node(worker) == node() do
    lost(state, gone(state.keeper, [{worker, reason}], @at_once))
    {:noreply, state}
  end

  def handle_info(:overdue, state) do
    {over, next} = Native.desk_overdue(state.about.desk)
    Enum.each(over, &late(state.about.desk, &1))
    {:noreply, watch(state, next)}
  end

  def handle_info(:closed, state), do: {:stop, :normal, state}
  def handle_info({:EXIT, machine, _reason}, %{machine: machine} = state), do: {:stop, :normal, state}

  def handle_info({:EXIT, _stranger, _reason}, state), do: {:noreply, state}

  use Mote.Internal.Stray

  defp who(state), do: "workers of sponsor #{inspect(state.sponsor)}"

  # And those that have ended meanwhile, without a way through `GenServer` for each: where turns may call any Elixir, every turn
  # ends a worker.
  defp gone(_keeper, workers, 0), do: workers

  defp gone({keeper, _} = watched, workers, most) do
    receive do
      {:DOWN, _, :process, next, reason} when is_pid(next) and node(next) == node() and next != keeper ->
        gone(watched, [{next, reason} | workers], most - 1)
    after
      0 -> workers
    end
  end

  # In a process of its own: to write down how a worker has ended may take long, or fail (invariant 3).
  defp lost(%{about: %{desk: desk}}, workers) do
    for {worker, number} <- Native.desk_lost(desk, Enum.map(workers, &elem(&1, 0))) do
      {_, reason} = List.keyfind!(workers, worker, 0)
      spawn_link(fn -> Worker.abort(desk, number, Worker.exited(reason)) end)
    end
  end

  # Kills what runs when this process has ended, however: a turn may trap exits.
  defp keeper(desk) do
    workers = self()
    spawn_monitor(fn -> keep(desk, Process.monitor(workers)) end)
  end

  # Hibernated, it waits in no function of this module: it would be killed when that is loaded a second time.
  defp keep(desk, monitor), do: :erlang.hibernate(__MODULE__, :kept, [desk, monitor])

  @doc false
  @spec kept(reference, reference) :: term
  def kept(desk, monitor) do
    receive do
      {:DOWN, ^monitor, _, _, _} -> for worker <- Native.desk_close(desk), do: Process.exit(worker, :kill)
      _stray -> keep(desk, monitor)
    end
  end

  # Every turn that begins from now on may take at least that long.
  defp watch(%{timeout: :infinity} = state, _milliseconds), do: state

  defp watch(state, milliseconds) do
    Process.send_after(self(), :overdue, milliseconds)
    state
  end

  defp late(desk, {number, worker}) do
    if Worker.abort(desk, number, :timeout) == :ok, do: Process.exit(worker, :kill)
  end
end
