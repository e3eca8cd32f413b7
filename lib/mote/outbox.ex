defmodule Mote.Outbox do
  @moduledoc """
  A queue from which a process takes messages of actors in batches.

  A message to a pid costs as much as any message on the BEAM. An outbox is cheaper for many messages: actors
  send to it as to any address, the messages wait in the machine, and the process that opened it gets **one**
  wake-up, `{:mote_outbox, outbox}`, when something has arrived. Then it takes as much as it likes.

      iex> {:ok, machine} = Mote.start_link()
      iex> outbox = Mote.Outbox.open(machine)
      iex> defmodule Doc.Counting do
      ...>   use Mote.Behaviour
      ...>   defactor to(target) do
      ...>     n -> for i <- 1..n, do: send(target, {:number, i})
      ...>   end
      ...> end
      iex> Mote.send(Mote.create(machine, Doc.Counting.to(outbox)), 3)
      iex> receive do {:mote_outbox, ^outbox} -> Mote.drain(machine) end
      iex> Mote.Outbox.take(outbox)
      [number: 1, number: 2, number: 3]

  ## What is promised

    * Messages of one actor come in the order in which it sent them; so do all messages of a single-threaded sponsor.
    * When `take/2` returns **fewer messages than you asked for**, the outbox was empty, and the next message brings a
      wake-up. When it returns as many as you asked for, there may be more, and no wake-up needs to come: take again
      when you like.
    * A wake-up may find nothing, because its message has been taken meanwhile.
    * An outbox holds `:capacity` messages (default 65,536). An actor never waits, since a turn that is committed can
      neither wait nor be undone. So a message that finds the outbox full is discarded and counted, in
      `info/1` (`overflowed`) and in the counters of the thread that sent it (`Mote.Counters`), which
      telemetry reports. Waiting messages are never discarded: so the newest are lost, and the rest keep their
      order.
    * Waiting messages count against the machine's `:memory`. When that is used up, a message is discarded and
      counted like one that finds the outbox full, and in `refused_no_memory` as well; taking messages makes
      room.
    * An outbox that was opened with `on_full: :hold` discards nothing: see below.
    * When the process that opened it ends, the outbox closes. Messages that wait then, or are sent later,
      count as `undelivered` in the machine's counters.
    * When the machine ends, the outbox is closed: waiting messages can still be taken, but nothing arrives
      any more, **not even a wake-up**. A process that waits for one in a `receive` of its own should monitor
      the machine, as below; `stream/1` does so itself.

  ## Without loss

  An outbox that is opened with `on_full: :hold` takes every message, in the same order. Its `:capacity` is a credit:
  messages beyond it are **held** in the machine, and count in two places.

    * A held message counts as waiting in the sponsor whose turn has sent it (`held` and `waiting` in `Mote.info/1`).
      So a sponsor with an `:inbox` is full while its consumers are slow: `Mote.send/3` returns an error with the
      reason `:overloaded`, or waits, as `:on_full` of the sponsor or of the call says, and goes on as messages are
      taken. As everywhere, messages from actors are not refused.
    * A held message counts against the `:memory` of the outbox's machine. A turn that sends more than there is memory
      for is undone and runs again after a collection. If there is still no room, it is aborted with `:no_memory`, and
      none of its messages is sent. Messages from outside are refused with `:no_memory` before that: the last eighth
      of the memory is left to turns.

  So every message of a committed turn can be taken, as long as the process that opened the outbox lives. When that
  process ends, the outbox closes like any other, waiting and held messages count as `undelivered`, and senders that
  wait for room go on. When the machine stops, it waits for its outboxes to be read, as long as its `:shutdown` says,
  and the unread messages can still be taken.

  `Mote.drain/2` does not wait for held messages, since their turns are done. Nor are they part of an image
  (`Mote.save/3`): they have left the actors, and stay in the outbox. Due timers are not refused, as everywhere:
  messages that they send to an outbox are held even beyond the memory.

      outbox = Mote.Outbox.open(machine, on_full: :hold, capacity: 1_000)

  An outbox does not slow down an actor that produces on its own. Let it produce on credit that the consumer gives:
  the guide *Recipes* has such a producer for `GenStage`.

  ## Demand

  Since a consumer takes as much as it wants, an outbox fits a producer of `GenStage`: `handle_demand/2`
  takes, and demand that could not be satisfied at once is satisfied at the next wake-up.

      def init(machine) do
        Mote.monitor(machine)
        {:producer, {Mote.Outbox.open(machine), 0}}
      end

      def handle_demand(demand, {outbox, owed}), do: satisfy(outbox, owed + demand)
      def handle_info({:mote_outbox, outbox}, {outbox, owed}), do: satisfy(outbox, owed)
      def handle_info({:DOWN, _, :process, _machine, reason}, state), do: {:stop, reason, state}

      defp satisfy(outbox, owed) do
        events = Mote.Outbox.take(outbox, owed)
        {:noreply, events, {outbox, owed - length(events)}}
      end
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Error, Machine, Native}

  @enforce_keys [:machine, :ref]
  defstruct [:machine, :ref]

  @type t :: %__MODULE__{machine: reference, ref: reference}

  @capacity 65_536
  @max 1_000
  @most 0x7FFFFFFFFFFFFFFF

  @doc """
  Opens an outbox of the calling process for the actors of a machine.

  Options:

    * `:capacity` - how many messages may wait (default 65,536);
    * `:on_full` - `:discard` (the default) discards messages beyond the capacity, and `:hold` holds them in the
      machine.

  Raises `Mote.Error` when the machine is not running.
  """
  @spec open(Machine.t(), capacity: pos_integer, on_full: :discard | :hold) :: t
  def open(machine, opts \\ []) do
    {capacity, on_full} = options!(opts)

    with word when is_atom(word) <-
           machine |> Machine.fetch!() |> Native.outbox_open(capacity, on_full == :hold),
         do: raise(Error.from(word, machine: machine))
  end

  @doc """
  Takes at most `max` messages, oldest first. Never waits.

  Any process of the node may take. The wake-up goes to the process that opened the outbox.
  """
  @spec take(t, non_neg_integer) :: [term]
  def take(outbox, max \\ @max)

  def take(%__MODULE__{} = outbox, max) when is_integer(max) and max in 0..@most,
    do: outbox |> here(&pull(&1, max)) |> elem(0)

  def take(%__MODULE__{}, max), do: expected!("a number of messages to take", max)

  def take(other, _max), do: no_outbox(other)

  # A call of the NIF takes no more than is good for a scheduler, and leaves what is large to a call of its own.
  defp pull(ref, max) do
    case Native.outbox_take(ref, max) do
      {messages, letter} when is_reference(letter) ->
        {rest, why} = pull(ref, max - length(messages) - 1)
        {messages ++ [Native.outbox_letter(letter) | rest], why}

      {messages, :more} ->
        {rest, why} = pull(ref, max - length(messages))
        {messages ++ rest, why}

      taken ->
        taken
    end
  end

  @doc """
  Returns the messages as a lazy stream, for the process that opened the outbox.

  The stream waits when there are none, and ends when the outbox is closed or the machine has ended, and everything
  was taken. It takes one message at a time: when a stream is halted, the remaining messages stay in the outbox, with
  a wake-up for them. To take thousands at once, `take/2` is faster. Raises `ArgumentError` in another process.
  """
  @spec stream(t) :: Enumerable.t()
  def stream(%__MODULE__{} = outbox) do
    Stream.resource(fn -> start(outbox) end, &next/1, &stop/1)
  end

  def stream(other), do: no_outbox(other)

  defp start(outbox) do
    if info(outbox).owner != self() do
      raise ArgumentError,
            "#{inspect(outbox)} belongs to another process: only the process that opened it gets its wake-ups"
    end

    {outbox, Process.monitor(Native.machine_owner(outbox.machine)), :running}
  end

  defp next({outbox, monitor, state} = at) do
    case pull(outbox.ref, 1) do
      {[], :closed} -> {:halt, at}
      {[], _} when state == :ended -> {:halt, at}
      {[], _} -> {[], wait(outbox, monitor)}
      {messages, _} -> {messages, at}
    end
  end

  defp wait(outbox, monitor) do
    receive do
      {:mote_outbox, ^outbox} -> {outbox, monitor, :running}
      {:DOWN, ^monitor, _, _, _} -> {outbox, monitor, :ended}
    end
  end

  # A reader that relies on wake-ups has one if something waits, and gets one with the next message if nothing does.
  defp stop({outbox, monitor, _}) do
    Process.demonitor(monitor, [:flush])
    forget_wake_up(outbox)

    with {[], :enough} <- pull(outbox.ref, 0) do
      forget_wake_up(outbox)
      send(self(), {:mote_outbox, outbox})
    end
  end

  defp forget_wake_up(outbox) do
    receive do
      {:mote_outbox, ^outbox} -> :ok
    after
      0 -> :ok
    end
  end

  @doc """
  Closes an outbox: it takes no more messages. Those that wait can still be taken.
  """
  @spec close(t) :: :ok
  def close(%__MODULE__{} = outbox) do
    # A process that waits in a stream learns it.
    here(outbox, &Native.outbox_close/1)
  end

  def close(other), do: no_outbox(other)

  @doc """
  Returns figures of an outbox: `owner`, `capacity`, `waiting`, `received` (all messages that ever came in),
  `overflowed` (those that found it full, or no memory) and `closed`, which is also true after the end of its machine.
  """
  @spec info(t) :: %{
          owner: pid,
          capacity: pos_integer,
          waiting: non_neg_integer,
          received: non_neg_integer,
          overflowed: non_neg_integer,
          closed: boolean
        }
  def info(%__MODULE__{} = outbox) do
    {owner, capacity, waiting, received, overflowed, closed} = here(outbox, &Native.outbox_info/1)

    %{
      owner: owner,
      capacity: capacity,
      waiting: waiting,
      received: received,
      overflowed: overflowed,
      closed: closed
    }
  end

  def info(other), do: no_outbox(other)

  defp options!(opts) do
    capacity = if Keyword.keyword?(opts), do: Keyword.get(opts, :capacity, @capacity)
    on_full = if Keyword.keyword?(opts), do: Keyword.get(opts, :on_full, :discard)

    unless is_integer(capacity) and capacity in 1..@most and on_full in [:discard, :hold] and
             Keyword.keys(opts) -- [:capacity, :on_full] == [] do
      raise ArgumentError,
            "expected the options of an outbox to be [capacity: messages, on_full: :discard or :hold], with a capacity of at " <>
              "least 1, got: #{inspect(opts)}"
    end

    {capacity, on_full}
  end

  # To others its reference means nothing.
  defp here(%{ref: ref} = outbox, function) do
    function.(ref)
  rescue
    ArgumentError ->
      raise ArgumentError,
            "#{inspect(outbox)} is not an outbox of this node: it is taken from on the node where it was opened, as long as " <>
              "its term is kept whole (not copied through term_to_binary or another node)"
  end

  @spec no_outbox(term) :: no_return
  defp no_outbox(other), do: expected!("an outbox returned by Mote.Outbox.open/2", other)

  defimpl Inspect do
    def inspect(%{ref: ref}, _opts) do
      "#Mote.Outbox<#{ref |> :erlang.phash2(0x1000000) |> Integer.to_string(36) |> String.downcase()}>"
    end
  end
end
