defmodule Mote.Machine.Table do
  # Which process answers for which native machine.
  @moduledoc false

  @spec new() :: :ok
  def new do
    :ets.new(__MODULE__, [:named_table, :public, read_concurrency: true])
    :ok
  end

  @spec put(pid, reference, term) :: true
  def put(pid, machine, name), do: :ets.insert(__MODULE__, {pid, machine, name})

  @doc "The name that the machine was given, if any."
  @spec name(pid) :: term
  def name(pid) do
    case :ets.lookup(__MODULE__, pid) do
      [{_, _, name}] -> name
      [] -> nil
    end
  end

  @spec fetch(pid) :: {:ok, reference} | :error
  def fetch(pid) do
    case :ets.lookup(__MODULE__, pid) do
      [{_, machine, _}] -> {:ok, machine}
      [] -> :error
    end
  end

  @doc "Removes the entry and gives what it was."
  @spec take(pid) :: {:ok, reference} | :error
  def take(pid) do
    case :ets.take(__MODULE__, pid) do
      [{_, machine, _}] -> {:ok, machine}
      [] -> :error
    end
  end

  @spec pids() :: [pid]
  def pids, do: :ets.select(__MODULE__, [{{:"$1", :_, :_}, [], [:"$1"]}])
end
