defmodule Mote.Far.Table do
  # A row for each node: its courier, if it has one, its counters, and how many bytes may wait for it.
  #
  # 1. Waiting messages are counted anew for each courier. A process may count its message, and find that the courier has
  #    just ended: nobody would subtract that again.
  # 2. A node has a row from its first connection on, also where it refuses this one. Before, only its courier has one, which goes with
  #    the courier: whoever tries nodes that do not exist leaves nothing behind.
  # 3. Nothing is lost uncounted. A message is counted as given before it goes to the courier, and as sent when its parcel leaves. So
  #    what was given, and was neither sent nor waits for the courier that there is, is lost: nobody has to see it go. A courier that has
  #    ended may get messages for as long as a process has its pid.
  # 4. Messages on their way when a connection ends are `unsure`, and no longer sent, until the next courier is told how many parcels of
  #    the one before were taken in (`Mote.Far.Berth`): then they are sent, or lost.
  @moduledoc false

  @totals [:given, :sent, :unsure, :lost, :refused, :undelivered, :listed]
  @shown [:sent, :unsure, :lost, :refused, :undelivered, :listed]

  # Bytes that wait for a node, unless `config :mote, waiting_for_node: bytes` says otherwise.
  @bound 64 * 1024 * 1024

  # What an entry takes while it waits, besides its bytes: the copy of the address, and room of the process that has it, as
  # bench/far_ends.exs measures it.
  @entry 512

  @typedoc "Totals, and the bytes that wait."
  @type counts :: {:counters.counters_ref(), :counters.counters_ref()}

  @typedoc "The courier of a node, what is counted of it, and its bound."
  @type entry :: {pid | nil, counts, pos_integer}

  @spec new() :: :ok
  def new do
    :ets.new(__MODULE__, [:named_table, :public, read_concurrency: true])
    :ok
  end

  @spec fetch(node) :: entry | nil
  def fetch(node) do
    case :ets.lookup(__MODULE__, node) do
      [{_, courier, waiting, totals, bound, _met, _unsure}] -> {courier, {totals, waiting}, bound}
      [] -> nil
    end
  rescue
    # The application is not running.
    ArgumentError -> nil
  end

  @doc "The entry of a node, which is made if there is none."
  @spec ensure(node) :: entry
  def ensure(node) do
    with nil <- fetch(node) do
      bound = Application.get_env(:mote, :waiting_for_node, @bound)
      totals = :counters.new(length(@totals), [])
      :ets.insert_new(__MODULE__, {node, nil, none(), totals, bound, false, nil})
      ensure(node)
    end
  end

  @spec put(node, pid) :: true
  def put(node, courier), do: :ets.update_element(__MODULE__, node, {2, courier})

  @doc "There is a connection to a node. Returns its entry, which is made if there is none."
  @spec meet(node) :: entry
  def meet(node) do
    entry = ensure(node)
    # Somebody who did not know may have removed it.
    if :ets.update_element(__MODULE__, node, {6, true}), do: entry, else: meet(node)
  end

  @doc "A node refuses this one, whose Mote speaks another protocol. Returns whether it has not said so since they last met."
  @spec refused(node, term) :: boolean
  def refused(node, protocol) do
    ensure(node)
    before = :ets.lookup_element(__MODULE__, node, 6)
    :ets.update_element(__MODULE__, node, {6, {:refused, protocol}})
    before != {:refused, protocol}
  end

  @doc "The courier has ended. What waited for it is lost."
  @spec delete(pid) :: :ok
  def delete(courier) do
    :ets.match_delete(__MODULE__, {:_, courier, :_, :_, :_, false, :_})

    for [node] <- :ets.match(__MODULE__, {:"$1", courier, :_, :_, :_, :_, :_}),
        do: :ets.update_element(__MODULE__, node, [{2, nil}, {3, none()}])

    :ok
  end

  # Bytes and messages.
  defp none, do: :counters.new(2, [])

  @doc "A courier ends; these parcels of it, with that many messages each, may have been taken in or not."
  @spec unsure(node, counts, pid, [{pos_integer, non_neg_integer}]) :: :ok
  def unsure(node, counts, courier, parcels) do
    count_as(counts, :sent, :unsure, messages(parcels))
    :ets.update_element(__MODULE__, node, {7, {courier, parcels}})
    :ok
  end

  @doc """
  The nodes have met again. `last` is the courier of which the other one has taken in parcels last, and the number of the last of them.
  """
  @spec settle(node, {pid, pos_integer} | nil) :: :ok
  def settle(node, last) do
    with {courier, parcels} <- :ets.lookup_element(__MODULE__, node, 7) do
      {_, counts, _} = fetch(node)
      {arrived, lost} = Enum.split_with(parcels, fn {n, _} -> match?({^courier, m} when n <= m, last) end)
      count_as(counts, :unsure, :sent, messages(arrived))
      count_as(counts, :unsure, nil, messages(lost))
      :ets.update_element(__MODULE__, node, {7, nil})
    end

    :ok
  end

  defp messages(parcels), do: parcels |> Enum.map(&elem(&1, 1)) |> Enum.sum()

  # As lost, if as nothing else (invariant 3).
  defp count_as(counts, from, to, n) do
    add(counts, from, -n)
    if to, do: add(counts, to, n)
  end

  @spec couriers() :: [pid]
  def couriers,
    do: for({_, courier, _, _, _, _, _} when courier != nil <- :ets.tab2list(__MODULE__), do: courier)

  @doc "Returns the counters of every other node that there is or was a connection to. A courier to this node exists in tests only."
  @spec all() :: %{node => %{atom => integer}}
  def all do
    connected = Node.list(:connected)

    for {node, _, waiting, totals, _, met, _} when node != node() <- :ets.tab2list(__MODULE__),
        # One that is connected may not have answered its courier yet.
        met != false or node in connected,
        into: %{} do
      {node, Map.new([:waiting | @shown], &{&1, get({totals, waiting}, &1)})}
    end
  rescue
    ArgumentError -> %{}
  end

  @spec add(counts, atom, integer) :: :ok
  def add({totals, _waiting}, name, n), do: :counters.add(totals, index(name), n)

  @doc "That many entries wait for the courier, of that many bytes together, with that many messages."
  @spec give(counts, non_neg_integer, integer, non_neg_integer) :: :ok
  def give({totals, waiting}, entries, bytes, messages) do
    :counters.add(waiting, 1, taken(entries, bytes))

    if messages > 0 do
      :counters.add(waiting, 2, messages)
      :counters.add(totals, index(:given), messages)
    end

    :ok
  end

  @doc "That many leave."
  @spec leave(counts, non_neg_integer, integer, non_neg_integer) :: :ok
  def leave({totals, _} = counts, entries, bytes, messages) do
    :counters.add(totals, index(:sent), messages)
    lose(counts, entries, bytes, messages)
  end

  @doc "That many do not wait any more, and are lost."
  @spec lose(counts, non_neg_integer, integer, non_neg_integer) :: :ok
  def lose({_, waiting}, entries, bytes, messages) do
    :counters.sub(waiting, 1, taken(entries, bytes))
    :counters.sub(waiting, 2, messages)
  end

  @doc "Returns the size at which entries of that many bytes together count while they wait."
  @spec taken(integer, integer) :: integer
  def taken(entries, bytes), do: bytes + entries * @entry

  @spec set(counts, atom, integer) :: :ok
  def set({totals, _waiting}, name, n), do: :counters.put(totals, index(name), n)

  @spec get(counts, atom) :: integer
  def get({_totals, waiting}, :waiting), do: :counters.get(waiting, 1)

  # Invariant 3; while messages are given and sent, some of them may be counted on one side already.
  def get({totals, waiting}, :lost) do
    [given, sent, unsure, lost] =
      for name <- [:given, :sent, :unsure, :lost], do: :counters.get(totals, index(name))

    lost + max(given - sent - unsure - :counters.get(waiting, 2), 0)
  end

  def get({totals, _waiting}, name), do: :counters.get(totals, index(name))

  for {name, i} <- Enum.with_index(@totals, 1), do: defp(index(unquote(name)), do: unquote(i))
end
