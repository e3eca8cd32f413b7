defmodule Mote.Timer do
  @moduledoc """
  Timers, monitors, and the clock of a machine. A timer is a message that waits for its time.

  `send_after(milliseconds, target, message)` in a behaviour and `Mote.send_after/4` return a timer;
  `cancel_timer(timer)` in a behaviour and `Mote.cancel_timer/1` end it before its time. A timer may be passed
  around like any other term, in and out of its machine. Every holder can cancel it, including actors of other
  machines. Two terms of one timer are equal. To behaviours it is a reference (`is_reference/1`), not a map;
  for the rest of Elixir it is this struct, whose fields are private.

    * In a behaviour timers are armed and cancelled when the turn commits, in the order of the program. A turn that
      aborts does neither. `cancel_timer` is `:ok` for every reference, whatever has become of its timer, and
      `:undefined` for anything else.
    * Timers never fire early. Those of one thread fire in the order of their times, and those of one time in the order
      in which they were armed.
    * Once `cancel_timer` has taken effect the timer does not fire. If it has fired before, its message is on its way or
      already there: then `Mote.cancel_timer/1` returns `false`.
    * A timer keeps its target and its message alive, and both count against the machine's `:memory`. When that memory
      is used up, a turn that arms one is aborted, and `Mote.send_after/4` raises `Mote.Error` with the reason
      `:no_memory`. An armed timer always fires. When its sponsor is removed, it goes to the first one.
    * A timer of `Mote.send_after/4` for an actor of another node runs on the node that has armed it, by that node's
      time. Its message leaves when it is due, so no machine's clock or `:memory` is involved.
    * A due message is handled like any message that is sent in the sponsor where its timer was armed. Like a message
      of an actor, it is not refused by `:inbox`. Before that it does not count as waiting: `Mote.drain/2` does not
      wait for timers that are not due.

  ## Monitors

  `monitor(process, message)` in a behaviour is a timer that is due when a process has ended, in whatever way. The
  process is given by its pid. It may be on another node, and counts as ended when that node cannot be reached any
  more. If the process has ended before, the timer is due at once. The message goes to the actor itself, or with
  `monitor(process, target, message)` to a target, and comes after everything that the process has sent to an actor of
  the same single-threaded sponsor. `demonitor(monitor)` cancels it.

      defactor room(members) do
        {customer, {:join, pid}} ->
          send customer, :ok
          become room(Map.put(members, pid, monitor(pid, {:left, pid})))

        {customer, {:leave, pid}} ->
          demonitor(members[pid])
          send customer, :ok
          become room(Map.delete(members, pid))

        {:left, pid} ->
          become room(Map.delete(members, pid))
      end

  Monitors follow the rules of timers: they are armed at the commit, keep target and message alive, count against
  `:memory`, and are among the `timers` of `Mote.Counters`. Actors cannot be monitored. An actor cannot crash, and
  reports by itself when it is done.

  ## Time

  Time is counted in milliseconds since the start of the machine (`Mote.now/1`). With `clock: :manual` it stands still
  until `Mote.advance/3` lets it pass, moment by moment: whatever is due is sent, and everything that follows from it
  is done, before time goes on. So a test of timeouts takes no time and always goes the same way. `Mote.advance/3`
  also waits for turns of beam sponsors, unless `beam: :ignore` says that one of them blocks: the guide *Testing*
  shows how to test that its caller gives up.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> defmodule Doc.Relay do
      ...>   use Mote.Behaviour
      ...>   defactor relay(to) do
      ...>     message -> send to, message
      ...>   end
      ...> end
      iex> relay = Mote.create(machine, Doc.Relay.relay(self()))
      iex> _timer = Mote.send_after(relay, :late, 60_000)
      iex> Mote.advance(machine, 59_999)
      iex> receive do :late -> :early after 0 -> :waiting end
      :waiting
      iex> Mote.advance(machine, 1)
      iex> receive do :late -> Mote.now(machine) after 0 -> :waiting end
      60_000
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Error, Far, Machine, Native}
  alias Mote.Machine.{Long, Question, Table}
  require Long
  require Question

  @enforce_keys [:machine, :key]
  defstruct [:machine, :key]

  @type t :: %__MODULE__{machine: reference, key: binary | reference}

  @timeout 5_000

  # Milliseconds that the machine can count.
  @most 0xFFFFFFFFFFFF

  @doc false
  # The longest delay, in milliseconds.
  @spec most() :: pos_integer
  def most, do: @most

  @doc false
  @spec send_after(Address.t(), term, non_neg_integer, atom) :: t
  def send_after(%Address{machine: machine, key: key} = address, message, milliseconds, sponsor) do
    milliseconds!(milliseconds)
    sponsor = address.sponsor || sponsor

    answer = Long.call(message, Native.send_after(machine, key, sponsor, message, milliseconds))

    with word when is_atom(word) <- answer do
      if word == :unknown and Far.far?(address),
        do: %__MODULE__{machine: machine, key: Far.send_after(address, message, milliseconds, sponsor)},
        else: raise(Error.from(word, address: address, sponsor: sponsor))
    end
  end

  def send_after(other, _message, _milliseconds, _sponsor),
    do: expected!("the address of an actor to send to (Process.send_after/3 is for processes)", other)

  @doc false
  @spec cancel(t) :: non_neg_integer | false
  # It was armed by this node for an actor of another one.
  def cancel(%__MODULE__{key: key}) when is_reference(key) and node(key) == node(),
    do: Process.cancel_timer(key)

  def cancel(%__MODULE__{machine: machine, key: key} = timer) do
    case Native.cancel_timer(machine, key) do
      :unknown -> no_timer(timer)
      :not_durable -> raise Error.from(:not_durable, machine: machine)
      left -> left
    end
  end

  def cancel(other), do: no_timer(other)

  @doc false
  @spec now(Machine.t()) :: non_neg_integer
  def now(machine) do
    with word when is_atom(word) <- machine |> Machine.fetch!() |> Native.machine_now(),
         do: raise(Error.from(word, machine: machine))
  end

  @doc false
  @spec advance(Machine.t(), non_neg_integer, timeout | [timeout: timeout, beam: :wait | :ignore]) ::
          :ok | {:error, Error.t()}
  def advance(machine, milliseconds, timeout_or_opts) do
    milliseconds!(milliseconds)
    {timeout, ignores?} = options!(timeout_or_opts)

    with {:ok, native} <- Machine.fetch(machine) do
      if Table.clock(Native.machine_owner(native)) == {:ok, :system}, do: no_clock()
      deadline = if timeout != :infinity, do: System.monotonic_time(:millisecond) + timeout
      context = [machine: machine, timeout: timeout]

      with :ok <- quiet(native, deadline, context, ignores?),
           now when is_integer(now) <- Native.machine_now(native) do
        step(native, now + milliseconds, deadline, context, ignores?)
      else
        :stopped -> {:error, Error.from(:stopped, context)}
        error -> error
      end
    end
  end

  # Between two moments everything is done: so the order is that of the moments, whatever the threads do. The machine takes
  # the steps by itself where it can, until it is quiet.
  defp step(native, limit, deadline, context, ignores?) do
    case Native.machine_advance(native, limit, ignores?) do
      true -> step_again(native, limit, deadline, context, ignores?)
      false -> :ok
      :stopped -> {:error, Error.from(:stopped, context)}
      :system -> no_clock()
    end
  end

  defp step_again(native, limit, deadline, context, ignores?) do
    with :ok <- quiet(native, deadline, context, ignores?) do
      step(native, limit, deadline, context, ignores?)
    else
      error ->
        # Nobody waits for that moment any more: time stands still again.
        Native.machine_advance(native, 0, ignores?)
        error
    end
  end

  defp options!(timeout) when Question.is_timeout(timeout), do: {timeout, false}

  defp options!(opts) do
    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- [:timeout, :beam] == [],
      do: expected!("a timeout or the options of advance/3, :timeout and :beam", opts)

    timeout = Keyword.get(opts, :timeout, @timeout)
    Question.timeout!(timeout)

    case Keyword.get(opts, :beam, :wait) do
      beam when beam in [:wait, :ignore] ->
        {timeout, beam == :ignore}

      other ->
        expected!(":beam of advance/3 to be :wait or :ignore", other)
    end
  end

  @spec no_clock() :: no_return
  defp no_clock, do: raise(ArgumentError, "expected a machine that was started with clock: :manual")

  defp quiet(native, nil, context, ignores?), do: Question.drain(native, :infinity, context, ignores?)

  defp quiet(native, deadline, context, ignores?) do
    left = max(deadline - System.monotonic_time(:millisecond), 0)

    with {:error, %Error{reason: :timeout}} <- Question.drain(native, left, context, ignores?),
         do: {:error, Error.from(:timeout, context)}
  end

  @doc false
  # Raises `ArgumentError` for what is no delay.
  @spec milliseconds!(term) :: :ok
  def milliseconds!(milliseconds) when is_integer(milliseconds) and milliseconds in 0..@most, do: :ok

  def milliseconds!(other), do: expected!("milliseconds from 0 to #{@most}", other)

  @spec no_timer(term) :: no_return
  defp no_timer(%__MODULE__{} = timer) do
    raise ArgumentError,
          "#{inspect(timer)} is not a timer of this node: a timer is cancelled on the node that it came from, as long as its " <>
            "term is kept whole (not copied through another node)"
  end

  defp no_timer(other), do: expected!("a timer returned by Mote.send_after/4", other)

  defimpl Inspect do
    def inspect(%{machine: machine, key: key}, _opts) do
      hash = {machine, key} |> :erlang.phash2(0x1000000) |> Integer.to_string(36) |> String.downcase()
      "#Mote.Timer<#{hash}>"
    end
  end
end
