defmodule Mote.Far.Gate do
  # Where nodes meet: the process of this name starts a courier for each node that something is sent to, and a
  # porter for each courier of another node that says hello. It does no more, so no process waits for it for
  # long.
  @moduledoc false

  use GenServer

  alias Mote.Far
  alias Mote.Far.{Courier, Porter, Table}

  # Nodes whose Mote speaks another protocol are notified.
  @protocol 1

  @spec start_link(term) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "The courier of a node, which is started if there is none; `nil` where the application is not running."
  @spec courier(node) :: pid | nil
  def courier(node) do
    GenServer.call(__MODULE__, {:courier, node}, :infinity)
  catch
    :exit, _ -> nil
  end

  @doc "Says hello to the gate of another node for the calling courier, and watches that gate."
  @spec hello(node) :: reference
  def hello(node) do
    gate = Process.monitor({__MODULE__, node})
    send({__MODULE__, node}, {:mote_hello, self(), @protocol})
    gate
  end

  @impl GenServer
  def init(_arg) do
    Enum.each(Table.couriers(), &Process.monitor/1)
    {:ok, []}
  end

  @impl GenServer
  def handle_call({:courier, node}, _from, state) when is_atom(node), do: {:reply, ensure(node), state}

  @impl GenServer
  def handle_info({:mote_hello, courier, protocol}, state) when is_pid(courier) do
    if protocol == @protocol,
      do: {:ok, _} = DynamicSupervisor.start_child(Far.Supervisor, {Porter, courier}),
      else: send(courier, {:mote_refused, @protocol})

    {:noreply, state}
  end

  # A timer that was armed here for an actor there.
  def handle_info({:mote_due, node, entry, bytes}, state) when is_atom(node) do
    if Node.alive?() do
      ensure(node)
      Far.put(node, [{entry, bytes}], :lose)
    end

    {:noreply, state}
  end

  def handle_info({:DOWN, _, :process, courier, _}, state) do
    Table.delete(courier)
    {:noreply, state}
  end

  use Mote.Internal.Stray

  defp who(_state), do: "gate #{inspect(self())}"

  defp ensure(node) do
    {courier, _, _} = Table.ensure(node)
    courier || start(node)
  end

  defp start(node) do
    {:ok, courier} = DynamicSupervisor.start_child(Far.Supervisor, {Courier, node})
    Process.monitor(courier)
    Table.put(node, courier)
    courier
  end
end
