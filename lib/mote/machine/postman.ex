defmodule Mote.Machine.Postman do
  # Sends the messages that a machine's threads leave to it: those that come in a rush, which a scheduler sends
  # several times as cheaply as they do (native/mote_nif/src/deliver/mail.rs), and those to other nodes, which
  # they cannot send at all (deliver/outbound.rs). Lives until the threads have ended; the thread that joins the
  # machine then sends the rest of a rush.
  #
  # A process that sends to another node may have to wait for it. So each node has a relay: a process that
  # sends to it, in order, and that ends when it has sent everything that the postman had for that node
  # (lib/mote/machine/relay.ex). Messages for actors and customers of another node go by that node's courier (lib/mote/far.ex).
  #
  # 1. Neither rush holds up the other: rounds of messages for this node and for others take turns. All messages
  #    for one process take the same way, so their order stays.
  # 2. A machine that ends in good order has sent everything before its process ends, also to other nodes that take it: so nothing that
  #    its actors sent comes after its end, which other nodes may monitor.
  # 3. A relay that was killed is replaced, and what it had not sent is counted.
  @moduledoc false

  use GenServer

  require Logger

  alias Mote.{Far, Native}
  alias Mote.Far.Luggage
  alias Mote.Machine.{Long, Relay}
  require Long

  # Milliseconds after which it lets go of addresses and customers that it has passed on.
  @rest 100

  # Milliseconds that a machine which ends waits for it. Other nodes may be slow.
  @patience 4_000

  @doc "Starts the postman of the calling machine."
  @spec start_link(reference) :: GenServer.on_start()
  def start_link(native), do: GenServer.start(__MODULE__, {self(), native})

  @doc "The relays that it has, and the nodes whose couriers it has given something to; none of either if it does not answer in time."
  @spec receivers(pid, timeout) :: {[pid], [node]}
  def receivers(postman, timeout) do
    GenServer.call(postman, :receivers, timeout)
  catch
    :exit, _ -> {[], []}
  end

  @doc "Waits until everything is sent that a machine's actors have sent, whose threads have ended."
  @spec finish(pid) :: :ok
  def finish(postman) do
    GenServer.call(postman, :mote_finish, @patience)
  catch
    # It goes on without the machine.
    :exit, _ -> :ok
  end

  # Links itself to the machine: `start_link` would report the end of the parent as a crash of this process.
  @impl GenServer
  def init({machine, native}) do
    Process.flag(:trap_exit, true)
    Process.link(machine)
    :ok = Native.machine_postman(native)
    {:ok, %{machine: machine, native: native, relays: %{}, nodes: MapSet.new(), resting: false}}
  end

  @impl GenServer
  def handle_call(:receivers, _from, state) do
    relays = for {_node, relay} <- state.relays, do: relay.pid
    {:reply, {relays, MapSet.to_list(state.nodes)}, state}
  end

  def handle_call(:mote_finish, _from, state) do
    relays = rest(state).relays
    Enum.each(relays, fn {_node, relay} -> Relay.finish(relay) end)
    Enum.each(relays, fn {_node, relay} -> Relay.await(relay) end)
    {:reply, :ok, %{state | relays: %{}}}
  end

  @impl GenServer
  def handle_info(:mote_mail, state) do
    # Not one call for all of it: in between come others (invariant 1), and other processes.
    if Long.dirty(Native.machine_deliver(state.native)), do: send(self(), :mote_mail)
    {:noreply, state}
  end

  def handle_info(:mote_abroad, state) do
    {rows, more?} = Native.machine_outbound(state.native)
    if more?, do: send(self(), :mote_abroad)
    {:noreply, state |> abroad(rows) |> rest_soon()}
  end

  def handle_info({:mote_abroad, rows}, state) when is_list(rows),
    do: {:noreply, state |> abroad(rows) |> rest_soon()}

  def handle_info(:mote_rest, state), do: {:noreply, %{state | resting: false}, :hibernate}

  # A relay has nothing to do, or had not before it got what is on its way to it.
  def handle_info({:mote_idle, node}, state) when is_map_key(state.relays, node) do
    relay = state.relays[node]

    if Relay.waiting(relay) == 0 do
      Process.demonitor(relay.monitor, [:flush])
      Relay.finish(relay)
      {:noreply, %{state | relays: Map.delete(state.relays, node)}}
    else
      {:noreply, state}
    end
  end

  # It has been told to end already.
  def handle_info({:mote_idle, node}, state) when is_atom(node), do: {:noreply, state}

  def handle_info({:DOWN, monitor, :process, _, reason}, state) do
    {gone, relays} = Enum.split_with(state.relays, fn {_node, relay} -> relay.monitor == monitor end)
    for {node, relay} <- gone, do: lost(node, Relay.waiting(relay), reason)
    {:noreply, %{state | relays: Map.new(relays)}}
  end

  def handle_info({:EXIT, machine, _reason}, %{machine: machine} = state), do: {:stop, :normal, state}

  use Mote.Internal.Stray

  defp who(_state), do: "postman #{inspect(self())}"

  @impl GenServer
  def terminate(_reason, state) do
    joined(state.native)
    rest(state)
  end

  # Then nothing comes after what is here.
  defp joined(native) do
    Native.machine_join(native)
  rescue
    # The module of the native code was exchanged, and the new one does not know the machine.
    ArgumentError -> :ok
  end

  defp rest(state) do
    receive do
      {:mote_abroad, rows} -> state |> abroad(rows) |> rest()
    after
      0 -> state
    end
  end

  defp rest_soon(%{resting: true} = state), do: state

  defp rest_soon(state) do
    Process.send_after(self(), :mote_rest, @rest)
    %{state | resting: true}
  end

  # Rows are for one target each. Those for one node stay in their order.
  defp abroad(state, rows) do
    {processes, others} = Enum.split_with(rows, fn {target, _messages} -> is_pid(target) end)
    by_node = Enum.group_by(others, &home/1)
    for {node, rows} <- by_node, do: Far.from_actors(node, rows)
    nodes = by_node |> Map.keys() |> Enum.into(state.nodes)
    %{state | relays: Enum.reduce(processes, state.relays, &by_relay/2), nodes: nodes}
  end

  defp home({target, _messages}), do: Luggage.home(target)

  defp by_relay({pid, messages}, relays) do
    relay = Map.get_lazy(relays, node(pid), fn -> Relay.start(node(pid)) end)
    Map.put(relays, node(pid), Relay.give(relay, pid, messages))
  end

  defp lost(node, count, reason) do
    Far.lost(node, count)

    Logger.error(
      "the relay to #{node} of the postman #{inspect(self())} has ended (#{inspect(reason)}): #{count} messages of actors to processes " <>
        "there are lost"
    )
  end
end
