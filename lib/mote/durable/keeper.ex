defmodule Mote.Durable.Keeper do
  # Replaces the image and the journal of a durable machine by new ones, when the journal has become long, or somebody wants that.
  #
  # 1. One at a time. Where that fails, the journals before stay, and the machine goes on: the next try has the next number.
  # 2. What a process keeps under its own name (a directory's) is among the names of each image, whichever names others choose.
  # 3. A machine waits for its copy no longer than there is a process that copies.
  @moduledoc false

  use GenServer

  require Logger

  alias Mote.{Durable, Native}
  alias Mote.Durable.{Copy, Folder}
  alias Mote.Machine.Table

  # Milliseconds between two looks at the length of the journal.
  @look 500

  @spec start_link(reference, Folder.opened(), map) :: GenServer.on_start()
  def start_link(native, opened, names), do: GenServer.start_link(__MODULE__, {self(), native, opened, names})

  @spec checkpoint(pid, map | nil) :: {:ok, Mote.Image.t()} | {:error, Mote.Error.t()}
  def checkpoint(keeper, names), do: GenServer.call(keeper, {:checkpoint, names}, :infinity)

  @spec keep(pid, atom, term) :: :ok | {:error, Mote.Error.t()}
  def keep(keeper, name, value), do: GenServer.call(keeper, {:keep, name, value}, :infinity)

  @spec info(pid) :: {:ok, Durable.info()} | {:error, Mote.Error.t()}
  def info(keeper), do: GenServer.call(keeper, :info, :infinity)

  @spec copy(pid, Copy.options()) :: {:ok, pid} | {:error, Mote.Error.t()}
  def copy(keeper, opts), do: GenServer.call(keeper, {:copy, opts}, :infinity)

  @impl GenServer
  def init({machine, native, opened, names}) do
    Process.send_after(self(), :look, @look)
    # One that is stopped ends normally, which a link does not pass on.
    Process.monitor(machine)
    {:ok, %{machine: machine, native: native, opened: opened, names: names, kept: %{}, copy: nil}}
  end

  @impl GenServer
  def handle_call({:checkpoint, names}, _from, state) do
    {result, state} = begin(state, names || state.names)
    {:reply, result, state}
  end

  def handle_call({:keep, name, value}, _from, state) do
    state = put_in(state.kept[name], value)

    if match?(%{^name => ^value}, state.names) do
      {:reply, :ok, state}
    else
      {result, state} = begin(state, state.names)
      {:reply, with({:ok, _image} <- result, do: :ok), state}
    end
  end

  def handle_call(:info, _from, %{native: native, opened: %{options: %{dir: dir}}} = state) do
    reply =
      with {number, bytes, {told, _named}, batches, microseconds} <- Native.journal_info(native) do
        {:ok,
         %{dir: dir, number: number, bytes: bytes, told: told, batches: batches, microseconds: microseconds}}
      else
        _stopped -> {:error, Mote.Error.from(:stopped, machine: state.machine)}
      end

    {:reply, reply, state}
  end

  def handle_call({:copy, opts}, _from, %{copy: nil, opened: %{options: %{dir: dir}}} = state) do
    with {:ok, copy} = started <- Copy.start({state.machine, state.native, dir}, opts) do
      Process.monitor(copy)
      {:reply, started, %{state | copy: copy}}
    else
      error -> {:reply, error, state}
    end
  end

  def handle_call({:copy, _opts}, _from, %{copy: copy} = state) do
    message = "#{inspect(state.machine)} is copied already, by #{inspect(copy)}: a machine has one copy"
    {:reply, {:error, Mote.Error.new(:copied, message, machine: state.machine, copy: copy)}, state}
  end

  @impl GenServer
  def handle_info({:DOWN, _, :process, machine, _}, %{machine: machine} = state), do: {:stop, :normal, state}

  def handle_info({:DOWN, _, :process, copy, reason}, %{copy: copy} = state) do
    Native.journal_copied(state.native, nil)

    if reason != :normal,
      do: Logger.error("the copy of the machine #{inspect(state.machine)} has ended: #{inspect(reason)}")

    {:noreply, %{state | copy: nil}}
  end

  def handle_info(:look, %{native: native, opened: %{options: options}} = state) do
    Process.send_after(self(), :look, @look)

    case Native.journal_info(native) do
      {_number, bytes, _told, _batches, _took} when bytes >= options.image_every ->
        {result, state} = begin(state, state.names)

        with {:error, error} <- result do
          Logger.error(
            "no image of the durable machine #{inspect(state.machine)}: #{Exception.message(error)}"
          )
        end

        {:noreply, state, :hibernate}

      _short ->
        {:noreply, state}
    end
  end

  use Mote.Internal.Stray

  defp who(state), do: "keeper of #{inspect(state.machine)}"

  defp begin(%{opened: opened} = state, names) do
    names = Map.merge(names, state.kept)
    next = %{opened | number: opened.number + 1}
    result = Folder.begin(state.native, next, names)
    begun? = match?({number, _, _, _, _} when number == next.number, Native.journal_info(state.native))
    state = if begun?, do: %{state | opened: next}, else: state

    with {:ok, _image} <- result do
      Table.put_names(state.machine, names)
      {result, %{state | names: names}}
    else
      error -> {error, state}
    end
  end
end
