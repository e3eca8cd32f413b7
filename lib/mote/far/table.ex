defmodule Mote.Far.Table do
  # By node: its courier, if it has one, its counters, and how many bytes may wait for it.
  #
  # 1. What waits is counted anew for each courier. A process may count its message, and find that the courier has just ended: nobody
  #    would take that off again.
  # 2. A node has a row from its first connection on. Before, only its courier has one, which goes with the courier: whoever
  #    tries nodes that do not exist leaves nothing behind.
  @moduledoc false

  @totals [:sent, :lost, :refused, :undelivered, :listed]

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
      [{_, courier, waiting, totals, bound, _met?}] -> {courier, {totals, waiting}, bound}
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
      :ets.insert_new(__MODULE__, {node, nil, none(), :counters.new(length(@totals), []), bound, false})
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

  @doc "The courier has ended. What waited for it is gone."
  @spec delete(pid) :: :ok
  def delete(courier) do
    :ets.match_delete(__MODULE__, {:_, courier, :_, :_, :_, false})

    for [node] <- :ets.match(__MODULE__, {:"$1", courier, :_, :_, :_, true}),
        do: :ets.update_element(__MODULE__, node, [{2, nil}, {3, none()}])

    :ok
  end

  defp none, do: :counters.new(1, [])

  @spec couriers() :: [pid]
  def couriers,
    do: for({_, courier, _, _, _, _} when courier != nil <- :ets.tab2list(__MODULE__), do: courier)

  @doc "What is counted of every other node that there is or was a connection to. A courier to this one exists in tests only."
  @spec all() :: %{node => %{atom => integer}}
  def all do
    connected = Node.list(:connected)

    for {node, _, waiting, totals, _, met?} when node != node() <- :ets.tab2list(__MODULE__),
        # One that is connected may not have answered its courier yet.
        met? or node in connected,
        into: %{} do
      {node, Map.new([:waiting | @totals], &{&1, get({totals, waiting}, &1)})}
    end
  rescue
    ArgumentError -> %{}
  end

  @spec add(counts, atom, integer) :: :ok
  def add({totals, _waiting}, name, n), do: :counters.add(totals, index(name), n)

  @doc "That many more entries wait, of that many bytes together; fewer if both are negative."
  @spec wait(counts, integer, integer) :: :ok
  def wait({_totals, waiting}, entries, bytes), do: :counters.add(waiting, 1, taken(entries, bytes))

  @doc "What entries of that many bytes together count while they wait."
  @spec taken(integer, integer) :: integer
  def taken(entries, bytes), do: bytes + entries * @entry

  @spec set(counts, atom, integer) :: :ok
  def set({totals, _waiting}, name, n), do: :counters.put(totals, index(name), n)

  @spec get(counts, atom) :: integer
  def get({_totals, waiting}, :waiting), do: :counters.get(waiting, 1)
  def get({totals, _waiting}, name), do: :counters.get(totals, index(name))

  for {name, i} <- Enum.with_index(@totals, 1), do: defp(index(unquote(name)), do: unquote(i))
end
