defmodule Mote.Machine.Postman do
  # Sends the messages that a machine's threads leave to it: those that come in a rush, which a scheduler sends
  # several times as cheaply as they do (native/mote_nif/src/deliver/mail.rs), and those to other nodes, which
  # they cannot send at all (deliver/outbound.rs). Lives until the threads have ended; the thread that joins the
  # machine then sends the rest of a rush.
  #
  # A process that sends to another node may have to wait for it. So each node has a relay: a process that
  # sends to it, in order, and that ends when it has sent everything that the postman had for that node.
  # Messages for actors and customers of another node go by that node's courier (lib/mote/far.ex).
  #
  # 1. Neither rush holds up the other: rounds of messages for this node and for others take turns. All messages
  #    for one process take the same way, so their order stays.
  @moduledoc false

  use GenServer

  alias Mote.{Far, Native}
  alias Mote.Far.Luggage
  alias Mote.Internal.Stray

  # Milliseconds after which it lets go of addresses and customers that it has passed on.
  @rest 100

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

  # Links itself to the machine: `start_link` would report the end of the parent as a crash of this process.
  @impl GenServer
  def init({machine, native}) do
    Process.flag(:trap_exit, true)
    Process.link(machine)
    :ok = Native.machine_postman(native)
    {:ok, %{machine: machine, native: native, relays: %{}, nodes: MapSet.new(), resting: false}}
  end

  @impl GenServer
  def handle_call(:receivers, _from, state),
    do: {:reply, {Map.values(state.relays), MapSet.to_list(state.nodes)}, state}

  @impl GenServer
  def handle_info(:mote_mail, state) do
    # Not one call for all of it: in between come others (invariant 1), and other processes.
    if Native.machine_deliver(state.native), do: send(self(), :mote_mail)
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
      0 -> :ok
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

  defp by_relay({pid, _messages} = row, relays) do
    {relay, relays} = relay(relays, node(pid))
    send(relay, row)
    relays
  end

  defp relay(relays, node) do
    with nil <- relays[node] do
      postman = self()
      relay = spawn(fn -> forward(Process.monitor(postman)) end)
      {relay, Map.put(relays, node, relay)}
    else
      relay -> {relay, relays}
    end
  end

  # The end of the postman is reported after everything that it has sent.
  defp forward(monitor) do
    receive do
      {:DOWN, ^monitor, _, _, _} ->
        :ok

      {pid, messages} when is_pid(pid) and is_list(messages) ->
        Enum.each(messages, &send(pid, &1))
        forward(monitor)

      # What came before is passed on.
      {:mote_passed_on, asker, tag} when is_pid(asker) ->
        send(asker, {:mote_passed_on, tag})
        forward(monitor)

      stray ->
        Stray.ignored("relay #{inspect(self())}", "message", stray)
        forward(monitor)
    end
  end
end
