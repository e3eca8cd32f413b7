defmodule Mote.Replay do
  @moduledoc """
  Recordings of machines, and replays of them: the same turns in the same order, forward and backward.

      {:ok, machine} = Mote.start_link(record: "/var/tmp/shop")
      # Later, on this node or another one that has the folder:
      {:ok, replay} = Mote.Replay.open("/var/tmp/shop")
      {:ok, place} = Mote.Replay.forward(replay, :end)

  A recorded machine writes down everything that comes in: messages, questions, new actors, new code, and when timers
  fire. Everything else follows from that, random numbers and times included. Nobody waits for the file. So messages
  and questions of the last moment before the node was killed, some 20 milliseconds, may be missing, and a recording is
  read as far as it goes. Each start of the machine begins another recording in its folder, and removes none.

  A replay is at a **place**, which is a number of turns that have run and a number of events that have entered. An
  event is everything that came in together. `machine/1` returns a machine at that place, for `Mote.peek/1`,
  `Mote.info/1`, `Mote.graph/2`, `Mote.trace/3` and all other inspections. That machine tells nobody anything, takes
  nothing in, and stands still between two calls of this module. Sending to it raises `Mote.Error` with the reason
  `:not_durable`.

  The guide [Finding a bug backward](replay.md) shows a session.

  ## What a recorded machine does not do

  It has the limits of a durable machine: it has one sponsor with one thread, and refuses input that its journal could
  not repeat, with the reason `:not_durable` (see `Mote.Durable`). It keeps each actor whose address a process was
  given, until `Mote.release/1`. It may go on from an `:image`. If the disk is full or fails, it ends with a fault
  that names the journal.

  ## Addresses

  Addresses of the recorded machine do not lead to its replay. `address/2` returns the corresponding address in the
  replay. It leads to the same actor at each place where the outside had its address. Actors whose address the outside
  never had have no address here either.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Error, Machine, Native, Trace}
  alias Mote.Replay.Server

  @enforce_keys [:pid]
  defstruct [:pid]

  @typedoc "A replay, from `open/2` to `close/1`."
  @type t :: %__MODULE__{pid: pid}

  @typedoc """
  The place of a replay: the numbers of turns and events that have run, and of those in the recording. `cut` is the
  byte of the file at which something incomplete was cut off. `turns` does not count the turns that follow from the
  last event.
  """
  @type place :: %{
          turn: non_neg_integer,
          event: non_neg_integer,
          turns: non_neg_integer,
          events: non_neg_integer,
          cut: nil | non_neg_integer,
          path: String.t()
        }

  @typedoc "A turn of the past: its number among the turns that have run, and the turn itself."
  @type found :: %{turn: pos_integer, seen: Trace.Turn.t()}

  @options [:number, :memory, :tier, :checkpoint_every]

  # Places are numbers of a machine word.
  defguardp is_count(n) when is_integer(n) and n >= 0 and n < 0xFFFFFFFFFFFFFFFF

  @doc """
  Opens a recording at its beginning. The replay is linked to the calling process.

  Options:

    * `:number` - the number of the recording, from 1 (default: the latest);
    * `:memory`, `:tier` - as of `Mote.start_link/1`. The machine may take twice as much memory, since it collects at other moments;
    * `:checkpoint_every` - turns after which the replay keeps an image, at first (default 4,000,000), so that it need
      not go back to the beginning. It keeps at most 64 images, in the system's folder for temporary files: the longer
      the recording, the fewer turns have one.

      iex> dir = Path.join(System.tmp_dir!(), "mote_replay_doc")
      iex> {:ok, machine} = Mote.start_link(record: dir)
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> for n <- 1..3, do: Mote.send(counter, {:add, n})
      iex> Mote.drain(machine)
      iex> Mote.stop(machine)
      iex> {:ok, replay} = Mote.Replay.open(dir)
      iex> {:ok, %{turn: 3}} = Mote.Replay.forward(replay, :end)
      iex> {:ok, %{turn: 2}} = Mote.Replay.back(replay, 1)
      iex> Mote.peek(Mote.Replay.address(replay, counter))
      {:ok, {:counter, 3}}
      iex> Mote.Replay.close(replay)
      iex> File.rm_rf!(dir)
      iex> {:error, error} = Mote.Replay.open(dir)
      iex> Exception.message(error) == "\#{dir}: no such file or directory"
      true
  """
  @spec open(String.t(), keyword) :: {:ok, t} | {:error, Error.t()}
  def open(path, opts \\ []) do
    path = Machine.Options.path!(path, "the folder of a recording")

    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- @options == [],
      do: expected!("the options of a replay to be :number, :memory, :tier and :checkpoint_every", opts)

    for key <- [:number, :checkpoint_every], n = opts[key], not (is_count(n) and n > 0) do
      expected!("#{inspect(key)} of a replay to be a positive integer", n)
    end

    # Its options are checked here: a process that raises while it starts would say so in the log.
    Machine.MemoryOptions.memory!(Keyword.get(opts, :memory, :infinity), [])
    Machine.Options.tier!(Keyword.get(opts, :tier, :native))

    # A process that traps exits is told of a start that fails as well: it hears of it by the answer alone.
    with {:ok, pid} <- Server.start(path, opts), do: {:ok, %__MODULE__{pid: pid}}
  end

  @doc "Ends a replay and its machine."
  @spec close(t) :: :ok
  def close(%__MODULE__{pid: pid}), do: GenServer.stop(pid, :normal, :infinity)

  @doc "Returns the place of a replay."
  @spec at(t) :: place
  def at(%__MODULE__{} = replay), do: call(replay, :at)

  @doc """
  Runs forward to a place: a number of turns, `{:event, n}` (`n` events have entered), `{turns, events}` (both), or
  `:end`. Events enter as late as they can: after `forward(replay, 10)`, events that came in between the tenth and the
  eleventh turn have not entered.

  Returns the place, which is the last one if the recording is shorter. Raises `ArgumentError` for a place before the
  present one. If the file is damaged, or the machine does not repeat its turns, the error names the file, the byte
  and the reason, and the replay stays where it was.
  """
  @spec forward(t, non_neg_integer | {:event, non_neg_integer} | {non_neg_integer, non_neg_integer} | :end) ::
          {:ok, place} | {:error, Error.t()}
  def forward(%__MODULE__{} = replay, to) do
    with {:error, :before} <- call(replay, {:forward, goal!(to)}) do
      raise ArgumentError,
            "the place #{inspect(to)} lies behind #{inspect(at(replay))}: Mote.Replay.back/2 goes back"
    end
  end

  defp goal!(:end), do: {Server.all(), Server.all()}
  defp goal!({:event, n}) when is_count(n), do: {0, n}
  defp goal!({turn, event}) when is_count(turn) and is_count(event), do: {turn, event}
  defp goal!(turn) when is_count(turn), do: {turn, 0}

  defp goal!(other),
    do: expected!("a place to be a number of turns, {:event, number}, {turns, events} or :end", other)

  @doc """
  Goes back by a number of turns, but not beyond the beginning. The machine is as it was before these turns. It is a
  new machine of the same process: traces of the previous one have ended, and addresses still lead to the same actors.
  """
  @spec back(t, pos_integer) :: {:ok, place} | {:error, Error.t()}
  def back(%__MODULE__{} = replay, turns) when is_count(turns) and turns > 0, do: call(replay, {:back, turns})

  def back(%__MODULE__{}, other),
    do: expected!("the turns to go back to be a positive integer", other)

  @doc "Runs one turn, and returns it as `Mote.step/2` does, or `:end` if no turn is left."
  @spec step(t) :: {:ok, Trace.Turn.t()} | :end | {:error, Error.t()}
  def step(%__MODULE__{} = replay), do: call(replay, :step)

  @doc "Returns the machine at the present place, for all functions that inspect one. It stays the same process as long as the replay lives."
  @spec machine(t) :: Machine.t()
  def machine(%__MODULE__{pid: pid}), do: pid

  @doc "Returns the address in the replay of the actor that an address of the recorded machine led to."
  @spec address(t, Address.t()) :: Address.t()
  def address(%__MODULE__{} = replay, %Address{} = address),
    do: %{address | machine: call(replay, :native)}

  @doc """
  Returns the last turn before the present place that has sent a matching message, to an actor or to a process.
  `message` is a pattern like that of `Mote.trace/3`: atoms, numbers, binaries, tuples and lists, where `:_` stands
  for anything. Returns `:none` if no turn has sent it: then it came from outside.

  The replay stays where it is. `back(replay, at(replay).turn - found.turn + 1)` leads to the place before that turn.
  """
  @spec who_sent(t, term) :: {:ok, found} | :none | {:error, Error.t()}
  def who_sent(%__MODULE__{} = replay, message) do
    case Native.check_pattern(message) do
      :ok ->
        call(replay, {:search, {:sent, message}})

      :no_pattern ->
        raise ArgumentError,
              "expected a message to be a pattern of atoms, numbers, binaries, tuples and lists, where :_ stands for anything, " <>
                "got: #{inspect(message)}"
    end
  end

  @doc """
  Returns the last turn before the present place in which an actor has become its present state. The actor is given by
  its address in the replay or in the recorded machine. Returns `:none` if the actor has not become since the outside
  got its address.
  """
  @spec when_became(t, Address.t()) :: {:ok, found} | :none | {:error, Error.t()}
  def when_became(%__MODULE__{} = replay, %Address{key: key}), do: call(replay, {:search, {:became, key}})

  @doc """
  Returns the first turn in which the present code of these modules differs from the recorded code, with the same
  inputs. `recorded` and `changed` are the turns of each, or `nil` if one has no such turn. Returns `:none` if there
  is no difference up to that number of turns (default: all). Turns are compared by their message, sends, creates and
  become, and not by their fuel. This takes some 20 microseconds a turn.

  Two separate machines run for this, so the replay stays where it is.
  """
  @spec first_difference(t, module | [module], pos_integer | :all) ::
          {:ok, %{turn: pos_integer, recorded: Trace.Turn.t() | nil, changed: Trace.Turn.t() | nil}}
          | :none
          | {:error, Error.t()}
  def first_difference(%__MODULE__{} = replay, modules, turns \\ :all) do
    modules = List.wrap(modules)

    for module <- modules, Machine.Loader.about(module, [:hash]) == :error do
      expected!("modules with behaviours", module)
    end

    unless turns == :all or (is_count(turns) and turns > 0),
      do: expected!("a positive number of turns or :all", turns)

    call(replay, {:first_difference, modules, if(turns == :all, do: Server.all(), else: turns)})
  end

  @doc """
  Returns a fingerprint of all live data of a machine or of a replay, as a number. Two machines that have done the
  same have the same fingerprint, whenever they have collected.
  """
  @spec fingerprint(t | Machine.t()) :: {:ok, non_neg_integer} | {:error, Error.t()}
  def fingerprint(%__MODULE__{} = replay), do: call(replay, :fingerprint)

  def fingerprint(machine) do
    with {:ok, native} <- Machine.fetch(machine), do: Server.fingerprint(native)
  end

  @doc """
  Returns the place that the recording of a running machine has reached, as `{turns, events}`, for `forward/2`. It is
  exact while the machine has nothing to do. Raises `ArgumentError` for a machine that is not recorded.
  """
  @spec recorded(Machine.t()) :: {non_neg_integer, non_neg_integer}
  def recorded(machine) do
    native = Machine.fetch!(machine)

    with {_number, _bytes, _told, events, _took} <- Native.journal_info(native),
         %{counters: %{turns: turns}} <- Native.machine_info(native) do
      {turns, events}
    else
      nil -> raise ArgumentError, "#{inspect(machine)} is not recorded: see :record of Mote.start_link/1"
      :stopped -> raise Error.from(:stopped, machine: machine)
    end
  end

  defp call(%__MODULE__{pid: pid}, request) do
    GenServer.call(pid, request, :infinity)
  catch
    :exit, {reason, _} when reason in [:noproc, :normal] ->
      raise ArgumentError, "the replay #{inspect(pid)} was closed"
  end
end
