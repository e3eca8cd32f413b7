defmodule Mote.Far.Table do
  # By node: its courier, if it has one, its counters, and how many bytes may wait for it.
  @moduledoc false

  @counts [:waiting, :sent, :lost, :refused, :undelivered, :listed]

  # Bytes that wait for a node, unless `config :mote, waiting_for_node: bytes` says otherwise.
  @bound 64 * 1024 * 1024

  # What an entry takes while it waits, besides its bytes: the copy of the address, and room of the process that has it, as
  # bench/far_ends.exs measures it.
  @entry 384

  @typedoc "The courier of a node, what is counted of it, and its bound."
  @type entry :: {pid | nil, :counters.counters_ref(), pos_integer}

  @spec new() :: :ok
  def new do
    :ets.new(__MODULE__, [:named_table, :public, read_concurrency: true])
    :ok
  end

  @spec fetch(node) :: entry | nil
  def fetch(node) do
    case :ets.lookup(__MODULE__, node) do
      [{_, courier, counts, bound}] -> {courier, counts, bound}
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
      :ets.insert_new(__MODULE__, {node, nil, :counters.new(length(@counts), []), bound})
      ensure(node)
    end
  end

  @spec put(node, pid) :: true
  def put(node, courier), do: :ets.update_element(__MODULE__, node, {2, courier})

  @doc "The courier has ended. What waited for it is gone."
  @spec delete(pid) :: :ok
  def delete(courier) do
    for [node] <- :ets.match(__MODULE__, {:"$1", courier, :_, :_}),
        do: :ets.update_element(__MODULE__, node, {2, nil})

    :ok
  end

  @spec couriers() :: [pid]
  def couriers, do: for({_, courier, _, _} when courier != nil <- :ets.tab2list(__MODULE__), do: courier)

  @doc "What is counted of every other node. A courier to this one exists in tests only."
  @spec all() :: %{node => %{atom => integer}}
  def all do
    for {node, _, counts, _} when node != node() <- :ets.tab2list(__MODULE__), into: %{} do
      {node, @counts |> Enum.with_index(1) |> Map.new(fn {name, i} -> {name, :counters.get(counts, i)} end)}
    end
  rescue
    ArgumentError -> %{}
  end

  @spec add(:counters.counters_ref(), atom, integer) :: :ok
  def add(counts, name, n), do: :counters.add(counts, index(name), n)

  @doc "So many more messages wait, of that many bytes together; fewer if both are negative."
  @spec wait(:counters.counters_ref(), integer, integer) :: :ok
  def wait(counts, messages, bytes), do: add(counts, :waiting, bytes + messages * @entry)

  @spec set(:counters.counters_ref(), atom, integer) :: :ok
  def set(counts, name, n), do: :counters.put(counts, index(name), n)

  @spec get(:counters.counters_ref(), atom) :: integer
  def get(counts, name), do: :counters.get(counts, index(name))

  for {name, i} <- Enum.with_index(@counts, 1), do: defp(index(unquote(name)), do: unquote(i))
end
