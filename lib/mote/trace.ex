defmodule Mote.Trace do
  @moduledoc """
  Watching a machine turn by turn. `Mote.trace/3`, `Mote.pause/1`, `Mote.resume/1` and `Mote.step/2` lead here.

      trace = Mote.trace(machine, [behaviour: Counter], to: self(), limit: 10)
      Mote.send(counter, {:add, 2})

      receive do
        {:mote_trace, ref, %Mote.Trace.Turn{} = turn} when ref == trace.ref -> Mote.Trace.format(turn)
      end

      Mote.Trace.stop(trace)
      #=> %{turns: 1, dropped: 0}

  A turn is shown once its outcome is known, before any of its effects is visible elsewhere: so a message from
  an actor to a process comes after the turn that sent it. Something that an aborted turn had created is not
  an address (`Mote.Uncommitted`). See `Mote.Trace.Turn` for what is shown. Only the beginning of each value
  is shown: two hundred parts, fifty elements of a list, 256 bytes of a binary, and `:...` for the rest: as the last
  element of a list or of a tuple, or as a key of a map, which is shown without its struct then.

  A trace never floods its receiver: it shows `:limit` turns, then says so once, and counts the turns that it
  would have shown after that. While no trace is on and nothing is paused, it costs one look at a flag for
  each batch of several hundred turns. While one is, turns that it does not show cost a comparison or two
  more, those that it shows some microseconds.

  ## Pausing

  A paused machine runs no turns. It goes on taking in messages, it answers `Mote.info/1` and other
  inspections, it collects, and its time goes on: timers that become due wait in the queue with everything
  else. `Mote.ask/3` and `Mote.drain/2` wait in vain. `Mote.step/2` runs the next turn of a single-threaded
  sponsor; one with several threads has no order that one could follow step by step.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Error, Inspection, Machine, Native}
  alias Mote.Behaviour.IR
  alias Mote.Machine.Question
  alias Mote.Trace.{Printer, Turn}

  @enforce_keys [:machine, :ref, :number]
  defstruct [:machine, :ref, :number, :printer]

  @typedoc "A running trace. `ref` is in its messages."
  @type t :: %__MODULE__{
          machine: reference,
          ref: reference,
          number: pos_integer,
          printer: pid | nil
        }

  @typedoc "See `Mote.trace/3`."
  @type filter :: [
          behaviour: module | {module, atom},
          actor: Address.t(),
          sponsor: atom,
          message: term
        ]

  @limit 100
  @timeout 5_000

  @doc """
  Shows turns from now on: see `Mote.trace/3`.
  """
  @spec start(Machine.t(), filter, keyword) :: t
  def start(machine, filter \\ [], opts \\ []) do
    {to, limit} = options!(opts)
    native = Machine.fetch!(machine)
    filter = filter!(filter, machine, native)
    sponsor!(machine, elem(filter, 3))
    ref = make_ref()
    printer = if to == :iex, do: Printer.start(ref, Native.machine_owner(native))

    case Native.machine_trace(native, filter, {printer || to, ref}, limit) do
      number when is_integer(number) ->
        %__MODULE__{machine: native, ref: ref, number: number, printer: printer}

      word ->
        raise Error.from(word, machine: machine)
    end
  end

  @doc """
  Ends a trace, and returns how many turns it has shown and how many it has dropped because of its limit.

  Turns that run at this very moment may still be shown. Raises `Mote.Error` when the machine is not running any more.
  """
  @spec stop(t) :: %{turns: non_neg_integer, dropped: non_neg_integer} | :ended
  def stop(trace)

  def stop(%__MODULE__{} = trace) do
    ended = ended(trace)
    if trace.printer, do: Printer.stop(trace.printer)

    case ended do
      {turns, dropped} -> %{turns: turns, dropped: dropped}
      :ended -> :ended
      word -> raise Error.from(word, machine: Native.machine_owner(trace.machine))
    end
  end

  def stop(other),
    do: expected!("a trace as Mote.trace/3 returns it", other)

  defp ended(trace) do
    Native.machine_trace_end(trace.machine, trace.number)
  rescue
    # To others its reference means nothing.
    ArgumentError ->
      raise ArgumentError,
            "expected a trace of a machine of this node: it is stopped on the node where Mote.trace/3 began it, " <>
              "got: #{inspect(trace)}"
  end

  @doc """
  Holds a machine still, and waits until all of its threads have ended their turns: see `Mote.pause/1`.
  """
  @spec pause(Machine.t()) :: :ok
  def pause(machine) do
    native = Machine.fetch!(machine)
    paused!(native, true, machine)
    ask = &Native.machine_awaited(native, 0, &1)
    native |> Question.put(@timeout, [machine: machine, survey: true], ask) |> Error.ok!()
    :ok
  end

  @doc """
  Lets a paused machine go on: see `Mote.resume/1`.
  """
  @spec resume(Machine.t()) :: :ok
  def resume(machine), do: machine |> Machine.fetch!() |> paused!(false, machine)

  defp paused!(native, paused?, machine) do
    with word when word != :ok <- Native.machine_pause(native, paused?),
         do: raise(Error.from(word, machine: machine))
  end

  @doc """
  Runs one turn of a paused machine: see `Mote.step/2`.
  """
  @spec step(Machine.t(), keyword) :: {:ok, Turn.t()} | :idle | {:error, Error.t()}
  def step(machine, opts \\ []) do
    sponsor = step_sponsor!(opts)

    with {:ok, native} <- Machine.fetch(machine),
         context = [machine: machine, survey: true, sponsor: sponsor],
         {:ok, turn} <-
           Question.put(native, @timeout, context, &Native.machine_step_turn(native, sponsor, &1)) do
      if turn == :idle, do: :idle, else: {:ok, turn}
    end
  end

  @doc """
  A turn as text, for reading.

      iex> defmodule Doc.Sum do
      ...>   use Mote.Behaviour
      ...>   defactor sum(n) do
      ...>     {:add, m} -> become sum(n + m)
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.pause(machine)
      iex> Mote.send(Mote.create(machine, Doc.Sum.sum(1)), {:add, 2})
      iex> {:ok, turn} = Mote.step(machine)
      iex> [head, effect] = turn |> Mote.Trace.format() |> String.split("\\n  ")
      iex> {head =~ "Doc.Sum.sum(1) <- {:add, 2}", effect =~ "become", effect =~ "Doc.Sum.sum(3)"}
      {true, true, true}
  """
  @spec format(Turn.t()) :: String.t()
  def format(turn)
  def format(%Turn{} = turn), do: Printer.format(turn)

  def format(other), do: expected!("a turn, from a message of Mote.trace/3 or from Mote.step/2", other)

  defp filter!(filter, machine, native) do
    filter = keyword!(filter, "the filter of trace/3", [:behaviour, :actor, :sponsor, :message])
    {module, name} = behaviour!(filter[:behaviour], machine)
    sponsor = filter[:sponsor]
    if sponsor != nil, do: Machine.SponsorOptions.name!(sponsor)
    {module, name, actor!(filter[:actor], native), sponsor, pattern!(Keyword.fetch(filter, :message))}
  end

  # One that is added later would match from then on; but what is meant is there, and what is not there is a mistake.
  defp sponsor!(_machine, nil), do: :ok

  defp sponsor!(machine, name) do
    known = Machine.sponsors(machine)
    if name not in known, do: raise(Error.from(:no_sponsor, machine: machine, sponsor: name, known: known))
  end

  defp behaviour!(nil, _machine), do: {nil, nil}
  defp behaviour!(module, machine) when is_atom(module), do: known!(module, nil, machine)

  defp behaviour!({module, name}, machine) when is_atom(module) and is_atom(name),
    do: known!(module, name, machine)

  defp behaviour!(other, _machine), do: expected!(":behaviour to be a module or {module, name}", other)

  # As with sponsors. Only units may have a module that Elixir does not know; and actors may have what an earlier version of
  # theirs had.
  defp known!(module, name, machine) do
    if Code.ensure_loaded?(module) and not meant?(name, names(module)) and
         not meant?(name, alive(module, machine)) do
      raise ArgumentError,
            "expected :behaviour to be one that actors can have, got: #{inspect((name && {module, name}) || module)}: " <>
              "#{inspect(module)} has #{listed(of(module, :behaviours))}"
    end

    {module, name}
  end

  defp meant?(nil, names), do: names != []
  defp meant?(name, names), do: name in names

  # A function has a behaviour for its calls.
  defp names(module) do
    calls = for {name, arity} <- of(module, :functions), do: IR.call_name(name, arity)
    Keyword.keys(of(module, :behaviours)) ++ calls
  end

  defp of(module, what), do: if(function_exported?(module, :__mote__, 1), do: module.__mote__(what), else: [])

  defp alive(module, machine),
    do: for(%{behaviour: {^module, name, _}} <- Inspection.behaviours(machine, for: 0), do: name)

  defp listed([]), do: "no behaviours"

  defp listed(behaviours),
    do: "only " <> (behaviours |> Keyword.keys() |> Enum.uniq() |> Enum.map_join(", ", &inspect/1))

  defp actor!(nil, _native), do: nil
  defp actor!(%Address{machine: native, key: key}, native), do: key

  defp actor!(%Address{} = other, _native) do
    raise Error.new(:unknown_address, "#{inspect(other)} is none of this machine's actors", address: other)
  end

  defp actor!(other, _native), do: expected!(":actor to be the address of an actor", other)

  defp pattern!(:error), do: nil

  defp pattern!({:ok, pattern}) do
    if Native.check_pattern(pattern) != :ok do
      raise ArgumentError,
            "expected :message to be a pattern of atoms, numbers, binaries, tuples and lists, where :_ stands for " <>
              "anything, got: #{inspect(pattern)}"
    end

    {pattern}
  end

  defp options!(opts) do
    opts = keyword!(opts, "the options of trace/3", [:to, :limit])
    to = Keyword.get(opts, :to, self())
    limit = Keyword.get(opts, :limit, @limit)

    unless to == :iex or (is_pid(to) and node(to) == node()),
      do: expected!(":to to be a process of this node or :iex", to)

    unless is_integer(limit) and limit in 1..0xFFFFFFFF,
      do: expected!(":limit to be a positive integer", limit)

    {to, limit}
  end

  defp step_sponsor!(opts) do
    sponsor = Keyword.get(keyword!(opts, "the options of step/2", [:sponsor]), :sponsor)
    if sponsor != nil, do: Machine.SponsorOptions.name!(sponsor)
    sponsor
  end

  defp keyword!(opts, what, known), do: Inspection.keyword!(opts, what, known)
end
