defmodule :telemetry_handler_table do
  @moduledoc false
  # One row per handler and event in an ETS table. This process alone writes it, so that "already exists" and
  # the insertion are one step; whoever executes an event reads it directly.

  use GenServer

  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  def insert(id, event_names, function, config) do
    GenServer.call(__MODULE__, {:insert, id, event_names, function, config})
  end

  def delete(id), do: GenServer.call(__MODULE__, {:delete, id})

  def lookup(event_name), do: unless_absent(fn -> :ets.lookup(__MODULE__, event_name) end)

  def all, do: unless_absent(fn -> :ets.tab2list(__MODULE__) end)

  @impl true
  def init(nil) do
    :ets.new(__MODULE__, [:duplicate_bag, :named_table, :protected, keypos: 1, read_concurrency: true])
    {:ok, nil}
  end

  @impl true
  def handle_call({:insert, id, event_names, function, config}, _from, state) do
    if known?(id) do
      {:reply, {:error, :already_exists}, state}
    else
      :ets.insert(__MODULE__, for(name <- event_names, do: {name, id, function, config}))
      {:reply, :ok, state}
    end
  end

  def handle_call({:delete, id}, _from, state) do
    if known?(id) do
      :ets.select_delete(__MODULE__, rows_of(id))
      {:reply, :ok, state}
    else
      {:reply, {:error, :not_found}, state}
    end
  end

  defp known?(id), do: :ets.select_count(__MODULE__, rows_of(id)) > 0

  # An id is any term, also one like :_ that means something else in a pattern.
  defp rows_of(id), do: [{{:_, :"$1", :_, :_}, [{:"=:=", :"$1", {:const, id}}], [true]}]

  # An application may execute events while telemetry is not running: then nobody listens.
  defp unless_absent(read) do
    read.()
  rescue
    ArgumentError -> []
  end
end
