defmodule Mote.Far.Courier do
  # Sends everything that goes to one node, in parcels, to a porter there: as soon as nothing else comes, or a
  # whole parcel waits. It lives as long as that connection, so a process that waits for an answer monitors
  # the courier.
  #
  # Senders never wait for a connection. A courier may: meanwhile its messages stay in its mailbox, and count
  # as waiting.
  #
  # 1. It enters the table when it starts and leaves it when it ends, by itself. So nobody finds a courier that has ended,
  #    unless it was killed.
  # 2. A node that refuses this one is refused: the courier stays, and loses what it gets, which the table counts. Otherwise each message
  #    would start another courier, and be answered by another refusal.
  # 3. While anything can leave, a message to itself that makes it leave is on its way, after everything that
  #    has come by then. A timeout of zero would not do: any message that comes first takes its place.
  # 4. It monitors the process that it waits for: the gate of that node until it learns which porter that has started, and
  #    the porter from then on, which may end before it welcomes anybody.
  @moduledoc false

  use GenServer, restart: :temporary

  require Logger

  alias Mote.Far.{Entry, Gate, Line, Listed, Luggage, Packing, Table}

  # Milliseconds without work after which it lets go of what it has sent.
  @rest 100

  @doc "Starts the one for a node; `actors` is cleared by somebody else when it has ended."
  @spec start_link({node, reference}) :: GenServer.on_start()
  def start_link({node, actors}), do: GenServer.start_link(__MODULE__, {node, actors})

  @impl GenServer
  def init({node, actors}) do
    {_, counts, _} = Table.ensure(node)
    Table.put(node, self())

    state = %{
      node: node,
      counts: counts,
      line: %Line{},
      listed: Listed.new(actors),
      watched: nil,
      porter: nil,
      refused: false,
      waiters: [],
      leaving: false,
      resting: false
    }

    {:ok, state, {:continue, :hello}}
  end

  @impl GenServer
  def handle_continue(:hello, state), do: {:noreply, %{state | watched: Gate.hello(state.node)}}

  @impl GenServer
  def handle_info({:mote_put, entries}, %{refused: true} = state) when is_list(entries) do
    refuse(entries, state.counts)
    {:noreply, room(state)}
  end

  def handle_info({:mote_put, entries}, state) when is_list(entries) do
    settle(%{state | line: Enum.reduce(entries, state.line, &put/2)})
  end

  def handle_info({:mote_cancel, _tag}, %{refused: true} = state), do: {:noreply, state}

  def handle_info({:mote_cancel, tag}, state) when is_reference(tag) do
    Table.give(state.counts, 1, 0, 0)
    settle(%{state | line: Line.put(state.line, {:cancel, tag}, 0, [], nil)})
  end

  def handle_info(:mote_leave, state), do: %{state | leaving: false} |> flush() |> settle()

  def handle_info({:mote_taken, number}, state) when is_integer(number),
    do: settle(%{state | line: Line.taken(state.line, number)})

  def handle_info({:mote_let_go, numbers}, state) when is_list(numbers) and length(numbers) >= 0 do
    settle(%{state | listed: Listed.drop(state.listed, numbers)})
  end

  def handle_info({:mote_room, tag}, state) when is_reference(tag),
    do: settle(%{state | waiters: [tag | state.waiters]})

  # The porter lives as long as the connection to it does, and as Mote runs there.
  def handle_info({:mote_porter, porter}, %{refused: false} = state) when is_pid(porter) do
    Table.meet(state.node)
    settle(watch(state, porter))
  end

  def handle_info({:mote_welcome, porter, last}, %{porter: nil, refused: false} = state)
      when is_pid(porter) do
    Table.meet(state.node)
    Table.settle(state.node, last)
    settle(%{watch(state, porter) | porter: porter})
  end

  # Until that node's gate ends, or the connection.
  def handle_info({:mote_refused, protocol}, %{porter: nil, refused: false} = state) do
    if Table.refused(state.node, protocol) do
      Logger.warning(
        "Mote on #{state.node} speaks version #{inspect(protocol)} of the protocol between nodes, not version #{Gate.protocol()}: " <>
          "what is sent there is lost, and counted in Mote.nodes/0, until both run the same version of Mote"
      )
    end

    refuse(Line.waiting(state.line), state.counts)
    {:noreply, room(%{state | refused: true, line: %Line{}})}
  end

  # A node without Mote.
  def handle_info({:DOWN, watched, :process, {Gate, _node}, :noproc}, %{watched: watched} = state) do
    Table.meet(state.node)
    {:stop, :normal, state}
  end

  def handle_info({:DOWN, watched, :process, _, _}, %{watched: watched} = state),
    do: {:stop, :normal, state}

  def handle_info(:mote_rest, %{porter: porter} = state) do
    state = %{state | resting: false}

    if porter != nil and Line.on_way?(state.line),
      do: state |> deliver(true) |> settle(),
      else: {:noreply, state, :hibernate}
  end

  use Mote.Internal.Stray

  defp who(state), do: "courier #{inspect(self())} to #{state.node}"

  # What waits is lost with it, here and in its mailbox: the table has counted it.
  @impl GenServer
  def terminate(_reason, state) do
    # Before the next courier can start, which is to say what became of them.
    unsure = Line.on_way(state.line)
    if unsure != [], do: Table.unsure(state.node, state.counts, self(), unsure)
    Table.set(state.counts, :listed, 0)
    Table.delete(self())
  end

  defp watch(state, porter) do
    Process.demonitor(state.watched, [:flush])
    %{state | watched: Process.monitor(porter)}
  end

  defp refuse(weighed, counts) do
    entries = Enum.map(weighed, &elem(&1, 0))
    bytes = weighed |> Enum.map(&elem(&1, 1)) |> Enum.sum()
    Table.lose(counts, length(entries), bytes, Entry.messages(entries))
    for entry <- entries, tag = Entry.asker(entry), do: send(tag, {tag, :mote_failed, :other_protocol})
    :ok
  end

  defp put({entry, bytes}, line),
    do: Line.put(line, entry, bytes, Luggage.references(entry), Entry.target(entry))

  # What waits leaves once nothing comes any more.
  defp settle(%{refused: true} = state), do: {:noreply, room(state)}
  defp settle(%{porter: nil} = state), do: {:noreply, state}

  defp settle(state) do
    state = if Line.parcel?(state.line) and Line.ready?(state.line), do: flush(state), else: state
    {:noreply, if(Line.ready?(state.line), do: leave(state), else: state |> room() |> rest())}
  end

  defp leave(%{leaving: true} = state), do: state

  defp leave(state) do
    send(self(), :mote_leave)
    %{state | leaving: true}
  end

  defp flush(state) do
    if Line.ready?(state.line), do: state |> deliver() |> flush(), else: state
  end

  defp deliver(%{counts: counts} = state, ask? \\ false) do
    {{number, ask?, announced, entries}, bytes, line} = Line.parcel(state.line, state.node, ask?)

    # Before it leaves.
    listed = Listed.add(state.listed, announced)
    send(state.porter, {:mote_parcel, number, ask?, announced, Packing.pack(entries)})
    Table.leave(counts, length(entries), bytes, Entry.messages(entries))
    tell_listed(%{state | line: line, listed: listed})
  end

  defp room(%{waiters: []} = state), do: state

  defp room(state) do
    {_, counts, bound} = Table.fetch(state.node)

    if Table.get(counts, :waiting) <= bound do
      for tag <- state.waiters, do: send(tag, {tag, :room})
      %{state | waiters: []}
    else
      state
    end
  end

  # Addresses that it has sent, or that were dropped, are gone from its heap after a while without work.
  defp rest(state) do
    tell_listed(state)
    unless state.resting, do: Process.send_after(self(), :mote_rest, @rest)
    %{state | resting: true}
  end

  defp tell_listed(state) do
    Table.set(state.counts, :listed, Listed.count(state.listed))
    state
  end
end
