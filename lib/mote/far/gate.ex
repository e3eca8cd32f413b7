defmodule Mote.Far.Gate do
  # The meeting point of nodes: the process of this name starts a courier for each node that gets messages, and a porter
  # for each courier of another node that says hello. It does nothing else, so no process waits for it for long.
  @moduledoc false

  use GenServer

  alias Mote.Far
  alias Mote.Far.{Courier, Listed, Porter, Table}

  # Nodes whose Mote speaks another protocol are notified.
  @protocol 5

  # How a process ends that has cleared a list.
  @cleared {:shutdown, :cleared}

  @spec start_link(term) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "The courier of a node, which is started if there is none; `nil` where the application is not running."
  @spec courier(node) :: pid | nil
  def courier(node) do
    GenServer.call(__MODULE__, {:courier, node}, :infinity)
  catch
    :exit, _ -> nil
  end

  @doc "The version of the protocol that this node speaks."
  @spec protocol() :: pos_integer
  def protocol, do: @protocol

  @doc "Says hello to the gate of another node for the calling courier, and watches that gate."
  @spec hello(node) :: reference
  def hello(node) do
    gate = Process.monitor({__MODULE__, node})
    send({__MODULE__, node}, {:mote_hello, self(), @protocol})
    gate
  end

  # The native list of each courier that this process has started (lib/mote/far/listed.ex), and of each process that clears one.
  @impl GenServer
  def init(_arg) do
    Enum.each(Table.couriers(), &Process.monitor/1)
    {:ok, %{}}
  end

  @impl GenServer
  def handle_call({:courier, node}, _from, state) when is_atom(node) do
    {courier, state} = ensure(node, state)
    {:reply, courier, state}
  end

  @impl GenServer
  def handle_info({:mote_hello, courier, protocol}, state) when is_pid(courier) do
    answer =
      if protocol == @protocol do
        {:ok, porter} = DynamicSupervisor.start_child(Far.Supervisor, {Porter, courier})
        {:mote_porter, porter}
      else
        {:mote_refused, @protocol}
      end

    # By somebody else: who sends to a node that takes nothing may be suspended.
    spawn(:erlang, :send, [courier, answer])
    {:noreply, state}
  end

  # A timer that was armed here for an actor there.
  def handle_info({:mote_due, node, entry, bytes}, state) when is_atom(node) do
    state = if Node.alive?(), do: elem(ensure(node, state), 1), else: state
    Far.put(node, [{entry, bytes}], :lose)
    {:noreply, state}
  end

  # A courier, or who has cleared the list of one.
  def handle_info({:DOWN, _, :process, pid, reason}, state) do
    Table.delete(pid)
    {actors, state} = Map.pop(state, pid)
    {:noreply, if(actors && reason != @cleared, do: clear(actors, state), else: state)}
  end

  use Mote.Internal.Stray

  defp who(_state), do: "gate #{inspect(self())}"

  # By somebody else, for whom nobody waits.
  defp clear(actors, state) do
    {pid, _} =
      spawn_monitor(fn ->
        Listed.clear(actors)
        exit(@cleared)
      end)

    Map.put(state, pid, actors)
  end

  defp ensure(node, state) do
    case Table.ensure(node) do
      {nil, _, _} -> start(node, state)
      {courier, _, _} -> {courier, state}
    end
  end

  defp start(node, state) do
    actors = Listed.actors()
    {:ok, courier} = DynamicSupervisor.start_child(Far.Supervisor, {Courier, {node, actors}})
    Process.monitor(courier)
    {courier, Map.put(state, courier, actors)}
  end
end
