defmodule Mote.Directory.Keeper do
  # The process that gives a directory its name: it lives as long as the directory. A sender looks in a table
  # and asks no process.
  @moduledoc false

  use GenServer

  alias Mote.{Directory, Durable, Inspection, Machine}

  @options [:name, :machine, :start, :shards, :sponsor]

  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts) do
    child = [:id, :restart, :shutdown]
    Inspection.keyword!(opts, "the options of a directory", @options ++ child)
    {child, opts} = Keyword.split(opts, child)
    Map.merge(%{id: opts[:name], start: {Directory, :start_link, [opts]}}, Map.new(child))
  end

  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts) do
    Inspection.keyword!(opts, "the options of a directory", @options)
    name = opts[:name]

    if not is_atom(name) or name in [nil, true, false] do
      raise ArgumentError, "expected :name of a directory to be an atom, got: #{inspect(name)}"
    end

    if opts[:machine] == nil, do: raise(ArgumentError, "expected :machine among the options of a directory")
    GenServer.start_link(__MODULE__, opts, name: name)
  end

  @doc "The directory of that name, or nil."
  @spec directory(atom) :: Directory.t() | nil
  def directory(name), do: :persistent_term.get({Directory, name}, nil)

  @impl true
  def init(opts) do
    # The name goes with the process.
    Process.flag(:trap_exit, true)
    {name, opts} = Keyword.pop(opts, :name)
    {machine, opts} = Keyword.pop(opts, :machine)
    {start, opts} = Keyword.pop(opts, :start)
    down = Mote.monitor(machine)
    directory = found(machine, name) || started(machine, start, opts)

    with :ok <- Durable.keep(machine, name, directory) do
      :persistent_term.put({Directory, name}, directory)
      {:ok, %{name: name, down: down}}
    else
      {:error, error} -> {:stop, error}
    end
  rescue
    error in [Mote.Error] -> {:stop, error}
  end

  # What the machine has had under that name in the life before, if it is a directory.
  defp found(machine, name) do
    with %{^name => %Directory{} = directory} <- Machine.names(machine), do: directory, else: (_ -> nil)
  end

  defp started(machine, nil, opts), do: started(machine, Directory.Entries.entries(), opts)
  defp started(machine, start, opts), do: Directory.start(machine, start, opts)

  @impl true
  def handle_info({:EXIT, _pid, reason}, state), do: {:stop, reason, state}

  def handle_info({:DOWN, down, :process, _, _}, %{down: down} = state),
    do: {:stop, {:shutdown, :machine_down}, state}

  use Mote.Internal.Stray

  defp who(%{name: name}), do: "directory #{inspect(name)}"

  @impl true
  def terminate(_reason, %{name: name}), do: :persistent_term.erase({Directory, name})
end
