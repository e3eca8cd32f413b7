defmodule Mote.Durable.Keeper do
  # Replaces the image and the journal of a durable machine by new ones, when the journal has become long, or somebody wants that.
  #
  # 1. One replacement runs at a time. If it fails, the earlier journals stay, and the machine goes on: the next try has
  #    the next number.
  # 2. A value that a process keeps under its own name (a directory's) is among the names of each image, whichever
  #    names others choose.
  # 3. A machine waits for its copy no longer than there is a process that copies.
  @moduledoc false

  use GenServer

  require Logger

  alias Mote.{Durable, Native}
  alias Mote.Durable.{Copy, Folder}
  alias Mote.Machine.{Reporter, Table}

  # Milliseconds between two looks at the length of the journal, and after an image that could not be made.
  @look 500
  @retry 30_000

  # An image is due when the machine has worked for so many nanoseconds since the last one, and so many times as long as that has taken: a
  # start has to do all of this work again.
  @work 30_000_000_000
  @by_took 20

  # Nanoseconds that an image takes, for all that is known before the first one.
  @took 1_000_000_000

  @spec start_link(reference, Folder.opened(), map, {Reporter.about(), String.t()}) :: GenServer.on_start()
  def start_link(native, opened, names, about),
    do: GenServer.start_link(__MODULE__, {self(), native, opened, names, about})

  @spec checkpoint(pid, map | nil) :: {:ok, Mote.Image.t()} | {:error, Mote.Error.t()}
  def checkpoint(keeper, names), do: GenServer.call(keeper, {:checkpoint, names}, :infinity)

  @doc "Makes an image of a machine that is about to end, if a start would need longer for the work since the last one."
  @spec close(pid, timeout) :: :ok
  def close(keeper, timeout) do
    GenServer.call(keeper, :close, timeout)
  catch
    # The journal is there.
    :exit, _ -> :ok
  end

  @spec keep(pid, atom, term) :: :ok | {:error, Mote.Error.t()}
  def keep(keeper, name, value), do: GenServer.call(keeper, {:keep, name, value}, :infinity)

  @spec info(pid) :: {:ok, Durable.info()} | {:error, Mote.Error.t()}
  def info(keeper), do: GenServer.call(keeper, :info, :infinity)

  @spec copy(pid, Copy.options()) :: {:ok, pid} | {:error, Mote.Error.t()}
  def copy(keeper, opts), do: GenServer.call(keeper, {:copy, opts}, :infinity)

  @impl GenServer
  def init({machine, native, opened, names, {about, title}}) do
    Process.send_after(self(), :look, @look)
    # One that is stopped ends normally, which a link does not pass on.
    Process.monitor(machine)
    state = %{machine: machine, native: native, opened: opened, names: names, kept: %{}, copy: nil}

    {:ok, Map.merge(state, %{about: about, title: title, worked: worked(native), took: @took, retry: nil})}
  end

  @impl GenServer
  def handle_call({:checkpoint, names}, _from, state) do
    {result, state} = begin(state, names || state.names)
    {:reply, result, state}
  end

  def handle_call(:close, _from, state) do
    # Nobody minds if there is none: the journal is there.
    state =
      if worked(state.native) - state.worked > state.took,
        do: state |> begin(state.names) |> elem(1),
        else: state

    {:reply, :ok, state}
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
      watch(copy, state.native)
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

  def handle_info({:copy_ended, copy, reason}, %{copy: copy} = state) do
    if reason != :normal,
      do: Logger.error("the copy of the machine #{inspect(state.machine)} has ended: #{inspect(reason)}")

    {:noreply, %{state | copy: nil}}
  end

  def handle_info(:look, %{opened: opened} = state) do
    Process.send_after(self(), :look, @look)

    with :ok <- Folder.held(opened) do
      if due?(state),
        do: {:noreply, state |> begin(state.names) |> elem(1), :hibernate},
        else: {:noreply, state}
    else
      {:error, error} -> {:stop, error, state}
    end
  end

  use Mote.Internal.Stray

  defp who(state), do: "keeper of #{inspect(state.machine)}"

  # The keeper may be waiting for the machine, which may be waiting for its copy (invariant 3).
  defp watch(copy, native) do
    keeper = self()

    spawn(fn ->
      ref = Process.monitor(copy)

      receive do
        {:DOWN, ^ref, :process, _copy, reason} ->
          Native.journal_copied(native, nil)
          send(keeper, {:copy_ended, copy, reason})
      end
    end)
  end

  defp due?(%{retry: nil, opened: %{options: options}} = state) do
    case Native.journal_info(state.native) do
      {_number, bytes, _told, batches, _took} ->
        bytes >= options.image_every or
          (batches > 0 and worked(state.native) - state.worked > max(@work, @by_took * state.took))

      _stopped ->
        false
    end
  end

  defp due?(%{retry: at}), do: System.monotonic_time(:millisecond) >= at

  # Nanoseconds for which the machine has run turns.
  defp worked(native) do
    with %{counters: %{busy_ns: busy}} <- Native.machine_info(native), do: busy, else: (_ -> 0)
  end

  defp begin(%{opened: opened, native: native} = state, names) do
    names = Map.merge(names, state.kept)
    next = %{opened | number: opened.number + 1}
    {worked, began} = {worked(native), System.monotonic_time()}
    result = Folder.begin(native, next, names)
    took = System.monotonic_time() - began
    begun? = match?({number, _, _, _, _} when number == next.number, Native.journal_info(native))
    state = if begun?, do: %{state | opened: next}, else: state
    where = %{dir: opened.options.dir, number: next.number}

    with {:ok, image} <- result do
      Table.put_names(state.machine, names)
      still = System.convert_time_unit(image.stood_still, :microsecond, :native)
      measurements = %{bytes: image.bytes, duration: took, stood_still: still}
      Reporter.tell(state.about, [:durable, :image], measurements, where)
      took = System.convert_time_unit(took, :native, :nanosecond)
      {result, %{state | names: names, worked: worked, took: took, retry: nil}}
    else
      # A machine that ends meanwhile makes none, and says itself why it has ended.
      {:error, %Mote.Error{reason: reason}} when reason in [:machine_down, :stopped] ->
        {result, state}

      {:error, error} ->
        text = Exception.message(error)
        Logger.error("machine #{state.title} has no new image in its folder #{where.dir}: #{text}")

        Reporter.tell(
          state.about,
          [:durable, :image_failed],
          %{duration: took},
          Map.put(where, :error, error)
        )

        {result, %{state | retry: System.monotonic_time(:millisecond) + @retry}}
    end
  end
end
