defmodule Mote.Dashboard.Tracing do
  # The trace of a dashboard: one at a time, the same for all viewers.
  #
  # 1. Turns are kept as text: their terms would keep actors alive. A turn's actor is one of `Mote.Dashboard.References`.
  # 2. A trace ends by itself: after `:limit` turns, with the machine, and when it has not been viewed for
  #    `@unwatched` milliseconds.
  @moduledoc false

  use GenServer

  alias Mote.{Error, Trace}
  alias Mote.Dashboard.{Data, References}

  @unwatched 60_000

  @spec start_link(Mote.Machine.t(), pid, keyword) :: GenServer.on_start()
  def start_link(machine, references, opts \\ []) do
    GenServer.start_link(__MODULE__, {machine, references, opts[:unwatched] || @unwatched})
  end

  @doc "Begins a trace in the place of another one. `about` is what a page calls it."
  @spec start(pid, Trace.filter(), String.t(), pos_integer) :: :ok | {:error, Error.t()}
  def start(tracing, filter, about, limit),
    do: GenServer.call(tracing, {:start, filter, about, limit}, :infinity)

  @doc "Ends the trace, if there is one."
  @spec stop(pid) :: :ok
  def stop(tracing), do: GenServer.call(tracing, :stop, :infinity)

  @doc "Returns the state of the trace, and its turns behind number `last`; all of them if `run` is the number of another trace."
  @spec turns(pid, integer, integer) :: map
  def turns(tracing, run, last), do: GenServer.call(tracing, {:turns, run, last}, :infinity)

  @impl GenServer
  def init({machine, references, unwatched}) do
    state = %{machine: machine, references: references, unwatched: unwatched, run: 0, about: nil, limit: 0}
    {:ok, Map.merge(state, %{trace: nil, monitor: nil, turns: [], ended: nil, watched: now()})}
  end

  @impl GenServer
  def handle_call({:start, filter, about, limit}, _from, state) do
    state = ended(state, :stopped)
    trace = Mote.trace(state.machine, filter, to: self(), limit: limit)
    Process.send_after(self(), {:look, trace.ref}, state.unwatched)
    begun = %{run: state.run + 1, about: about, limit: limit, turns: [], ended: nil, watched: now()}
    {:reply, :ok, Map.merge(state, Map.merge(begun, %{trace: trace, monitor: Mote.monitor(state.machine)}))}
  rescue
    error in Error -> {:reply, {:error, error}, ended(state, :stopped)}
  end

  def handle_call(:stop, _from, state), do: {:reply, :ok, ended(state, :stopped)}

  def handle_call({:turns, run, last}, _from, state) do
    last = if run == state.run, do: last, else: 0
    shown = state.turns |> Enum.take_while(&(&1.number > last)) |> Enum.reverse()
    answer = Map.take(state, [:run, :about, :limit, :ended])
    {:reply, Map.merge(answer, %{on: state.trace != nil, turns: shown}), %{state | watched: now()}}
  end

  @impl GenServer
  def handle_info({:mote_trace, ref, %Trace.Turn{} = turn}, %{trace: %{ref: ref}} = state) do
    [actor] = References.put(state.references, [turn.actor])
    behaviour = Data.label(turn.behaviour)
    shown = %{number: turn.number, actor: actor, behaviour: behaviour, text: Trace.format(turn)}
    {:noreply, %{state | turns: [shown | state.turns]}}
  end

  def handle_info({:mote_trace, ref, :limit}, %{trace: %{ref: ref}} = state),
    do: {:noreply, ended(state, :limit)}

  # Of a trace that was ended meanwhile.
  def handle_info({:mote_trace, _ref, _}, state), do: {:noreply, state}

  def handle_info({:look, ref}, %{trace: %{ref: ref}} = state) do
    case state.watched + state.unwatched - now() do
      left when left > 0 ->
        Process.send_after(self(), {:look, ref}, left)
        {:noreply, state}

      _ ->
        {:noreply, ended(state, :unwatched)}
    end
  end

  def handle_info({:look, _ref}, state), do: {:noreply, state}

  def handle_info({:DOWN, monitor, :process, _, _}, %{monitor: monitor} = state),
    do: {:noreply, ended(state, :machine)}

  use Mote.Internal.Stray

  defp ended(%{trace: nil} = state, _why), do: state

  defp ended(state, why) do
    Process.demonitor(state.monitor, [:flush])

    try do
      Trace.stop(state.trace)
    rescue
      # The machine has ended, and the trace with it.
      Error -> :ok
    end

    %{state | trace: nil, monitor: nil, ended: why}
  end

  defp now, do: System.monotonic_time(:millisecond)
  defp who(_state), do: "the trace #{inspect(self())} of a dashboard"
end
