defmodule Mote.Far.Lease do
  # Actors that are held for a while, because their addresses travel in messages that nobody counts.
  #
  # 1. A row of the table holds its actor: the key in it is one that this node's machine has made. Only a
  #    porter looks here, and only if there are rows: so without leases nothing costs more.
  # 2. A lease ends at its time and not before. Its timer finds that the time is later if somebody has renewed it.
  @moduledoc false

  use GenServer

  alias Mote.{Address, Error, Far, Native}

  @doc "The table: it belongs to the supervisor, so leases outlive this process."
  @spec new() :: :ok
  def new do
    :ets.new(__MODULE__, [:named_table, :public, write_concurrency: true])
    :ok
  end

  @spec start_link(term) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc "Holds an actor for that many milliseconds; raises `Mote.Error` if it is gone."
  @spec lend(Address.t(), pos_integer) :: :ok
  def lend(%Address{machine: machine, key: key} = address, milliseconds) do
    if Far.far?(address) do
      Far.put(node(machine), [{{:lend, machine, key, milliseconds}, 0}], :any)
      :ok
    else
      {:ok, %{key: own}} = ok!(own(address))
      hold(machine, own, milliseconds)
    end
  end

  @doc "Returns the same address, by a key that holds the actor."
  @spec own(Address.t()) :: {:ok, Address.t()} | {:error, Error.t()}
  def own(%Address{machine: machine, key: key} = address) do
    case Native.own_key(machine, key) do
      :unknown -> {:error, Error.from(:unknown, address: address)}
      own -> {:ok, %{address | key: own}}
    end
  end

  defp ok!({:ok, _} = ok), do: ok
  defp ok!({:error, error}), do: raise(error)

  # What is held longer already stays so.
  defp hold(machine, key, milliseconds) do
    due = now() + milliseconds

    case lease(machine, key) do
      [{longer, later}] ->
        :ets.insert(__MODULE__, {{machine, key}, max(longer, milliseconds), max(later, due)})

      [] ->
        :ets.insert(__MODULE__, {{machine, key}, milliseconds, due})
        arm(machine, key, milliseconds)
    end

    :ok
  end

  @doc "Holds what a process of another node lends."
  @spec lent(reference, binary, pos_integer) :: :ok
  def lent(machine, key, milliseconds) do
    with {:ok, %{key: own}} <- own(%Address{machine: machine, key: key}), do: hold(machine, own, milliseconds)
    :ok
  end

  @doc "Returns whether there are leases."
  @spec any?() :: boolean
  def any?, do: :ets.info(__MODULE__, :size) > 0

  @doc "Another node has used an address: its lease begins again."
  @spec used(reference, binary) :: :ok
  def used(machine, key) do
    with [{milliseconds, _}] <- lease(machine, key),
         do: :ets.update_element(__MODULE__, {machine, key}, {3, now() + milliseconds})

    :ok
  end

  # Milliseconds and end, and not the key: whoever looks would hold the actor by it.
  defp lease(machine, key),
    do: :ets.select(__MODULE__, [{{{machine, key}, :"$1", :"$2"}, [], [{{:"$1", :"$2"}}]}])

  # A copy of a key is equal to it, and holds nothing.
  defp arm(machine, key, milliseconds),
    do: Process.send_after(__MODULE__, {:mote_due, machine, :binary.copy(key)}, milliseconds)

  defp now, do: System.monotonic_time(:millisecond)

  # Timers that were armed for a process before this one of its name find this one, too.
  @impl GenServer
  def init(_arg), do: {:ok, []}

  @impl GenServer
  def handle_info({:mote_due, machine, key}, state) do
    case lease(machine, key) do
      [{_, due}] -> over(machine, key, due - now())
      [] -> :ok
    end

    {:noreply, state}
  end

  use Mote.Internal.Stray

  defp who(_state), do: "leases #{inspect(self())}"

  defp over(machine, key, left) when left > 0, do: arm(machine, key, left)

  # Unless it is renewed in this very moment.
  defp over(machine, key, _left) do
    :ets.select_delete(__MODULE__, [
      {{{machine, key}, :_, :"$1"}, [{:"=<", :"$1", now()}], [true]}
    ])

    if :ets.member(__MODULE__, {machine, key}), do: arm(machine, key, 1)
  end
end
