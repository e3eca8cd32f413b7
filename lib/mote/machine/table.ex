defmodule Mote.Machine.Table do
  # Which process answers for which native machine, and what has to be known of a machine whose process was killed.
  #
  # Every create looks here. So the table is found without its name, and has no `read_concurrency`: a look takes two fifths
  # of the time so, and the locks of the machine itself admit fewer callers than this one.
  @moduledoc false

  alias Mote.Machine.Reporter

  @spec new() :: :ok
  def new do
    table = :ets.new(__MODULE__, [:named_table, :public])
    :persistent_term.put(__MODULE__, :ets.whereis(table))
  end

  @spec put(pid, reference, term, Reporter.about(), pos_integer, :system | :manual, pos_integer, map) :: true
  def put(pid, machine, name, about, memory, clock, fuel, names),
    do: :ets.insert(__MODULE__, {pid, machine, name, about, memory, clock, fuel, names})

  @doc "The name that the machine was given, if any."
  @spec name(pid) :: term
  def name(pid) do
    with {:ok, name} <- column(pid, 3), do: name, else: (:error -> nil)
  end

  @spec fetch(pid) :: {:ok, reference} | :error
  def fetch(pid), do: column(pid, 2)

  @doc "Returns the reporting settings of the machine, if it is running."
  @spec about(pid) :: {:ok, Reporter.about()} | :error
  def about(pid), do: column(pid, 4)

  @doc "The bytes that the machine may use, if it is running."
  @spec memory(pid) :: {:ok, pos_integer} | :error
  def memory(pid), do: column(pid, 5)

  @doc "Returns the clock of the machine, if it is running."
  @spec clock(pid) :: {:ok, :system | :manual} | :error
  def clock(pid), do: column(pid, 6)

  @doc "The steps that one turn may take, if the machine is running."
  @spec fuel(pid) :: {:ok, pos_integer} | :error
  def fuel(pid), do: column(pid, 7)

  @doc "Returns the named values of the image that the machine has gone on from, if it is running."
  @spec names(pid) :: {:ok, map} | :error
  def names(pid), do: column(pid, 8)

  @doc "Gives the running machine other names."
  @spec put_names(pid, map) :: boolean
  def put_names(pid, names), do: :ets.update_element(__MODULE__, pid, {8, names})

  # The application may have stopped, and the table with it.
  defp column(pid, number) do
    {:ok, :ets.lookup_element(:persistent_term.get(__MODULE__), pid, number)}
  rescue
    ArgumentError -> :error
  end

  @doc "Removes the entry and returns what it was, if there is one."
  @spec take(pid) :: {:ok, reference, Reporter.about()} | :error
  def take(pid) do
    case :ets.take(__MODULE__, pid) do
      [{_, machine, _, about, _, _, _, _}] -> {:ok, machine, about}
      [] -> :error
    end
  rescue
    # The application has stopped.
    ArgumentError -> :error
  end

  @spec pids() :: [pid]
  def pids, do: :ets.select(__MODULE__, [{{:"$1", :_, :_, :_, :_, :_, :_, :_}, [], [:"$1"]}])
end
