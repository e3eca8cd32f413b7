defmodule Mote.Library.Time do
  # Deadlines, and messages that wait for their time. All of it rests on timers of the machine, so tests move its clock.
  #
  # 1. A customer gets either the answer or the error that it is too late, once: both go through a `once`.
  # 2. The timer of an answer that came in time is cancelled, so deadlines cost nothing afterwards.
  @moduledoc """
  The behaviours of `Mote.Library` that have to do with time.

  Milliseconds are integers from 0. For anything else, services answer `{:error, {:bad_milliseconds, value}}`;
  others abort every turn with that reason, which is reported.
  """

  use Mote.Behaviour

  alias Mote.Library.{Plumbing, Queue}

  @doc """
  Asks `service`, and answers `{:error, :timeout}` when it has not answered within `milliseconds`.

  The customer gets one answer, whichever comes first: what the service answers later is ignored, and so is a second
  answer. Time begins when the request arrives here.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> timed = Mote.create(machine, Mote.Library.timed(Mote.create(machine, Mote.Library.sink()), 1_000))
      iex> ask = Mote.async(timed, :anybody?)
      iex> Mote.advance(machine, 1_000)
      iex> Mote.await(ask)
      {:error, :timeout}
  """
  defactor timed(service, milliseconds) do
    {customer, request} when is_integer(milliseconds) and milliseconds >= 0 ->
      first = create Plumbing.once(customer)
      timer = send_after(milliseconds, first, {:error, :timeout})
      send service, {create(in_time(first, timer)), request}

    {customer, _request} ->
      send customer, {:error, {:bad_milliseconds, milliseconds}}
  end

  # Gets the answer of a service that is timed.
  @doc false
  defactor in_time(first, timer) do
    answer ->
      cancel_timer(timer)
      send first, answer
  end

  @doc """
  Like `timed/2`, and sends `cleanup` what the customer gets, once, before the customer gets it.

  So whatever a request needs can be released, whether its service answers or not. To tell the cleanup which
  request it is about, make it a `Mote.Library.label/2`.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> cleanup = Mote.create(machine, Mote.Library.label(self(), :close))
      iex> nobody = Mote.create(machine, Mote.Library.sink())
      iex> ask = Mote.async(Mote.create(machine, Mote.Library.guard(nobody, cleanup, 1_000)), :read)
      iex> Mote.advance(machine, 1_000)
      iex> receive do {:close, outcome} -> outcome end
      {:error, :timeout}
      iex> Mote.await(ask)
      {:error, :timeout}
  """
  defactor guard(service, cleanup, milliseconds) do
    {customer, request} when is_integer(milliseconds) and milliseconds >= 0 ->
      first = create finally(customer, cleanup)
      timer = send_after(milliseconds, first, {:error, :timeout})
      send service, {create(in_time(first, timer)), request}

    {customer, _request} ->
      error = {:error, {:bad_milliseconds, milliseconds}}
      send cleanup, error
      send customer, error
  end

  @doc false
  defactor finally(customer, cleanup) do
    outcome ->
      send cleanup, outcome
      send customer, outcome
      become sink()
  end

  @doc """
  Sends the same request to all of the list `services`; the first answer counts, or `{:error, :timeout}` when
  there is none within `milliseconds`.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> services = for _ <- 1..2, do: Mote.create(machine, Mote.Library.sink())
      iex> ask = Mote.async(Mote.create(machine, Mote.Library.select(services, 500)), :anybody?)
      iex> Mote.advance(machine, 500)
      iex> Mote.await(ask)
      {:error, :timeout}
  """
  defactor select(services, milliseconds) do
    {customer, request} when is_integer(milliseconds) and milliseconds >= 0 ->
      first = create Plumbing.once(customer)
      timer = send_after(milliseconds, first, {:error, :timeout})
      answer = create in_time(first, timer)
      Enum.each(services, fn service -> send service, {answer, request} end)

    {customer, _request} ->
      send customer, {:error, {:bad_milliseconds, milliseconds}}
  end

  @doc """
  Sends messages on to `target`, at most `count` of them in any `milliseconds`; others wait and follow in their order.

  The period slides: each message that was sent frees its place `milliseconds` later.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> limiter = Mote.create(machine, Mote.Library.rate_limiter(self(), 2, 1_000))
      iex> for n <- 1..5, do: Mote.send(limiter, n)
      iex> for _ <- 1..3 do
      ...>   Mote.advance(machine, 999)
      ...>   {:messages, heard} = Process.info(self(), :messages)
      ...>   Mote.advance(machine, 1)
      ...>   length(heard)
      ...> end
      [2, 4, 5]
  """
  defactor rate_limiter(target, count, milliseconds) do
    message when is_integer(milliseconds) and milliseconds >= 0 and is_integer(count) and count > 0 ->
      tick = create Plumbing.reply(self())
      send target, message
      send_after(milliseconds, tick, :free)
      become limiting(target, milliseconds, tick, count - 1, nil)

    _ when not (is_integer(count) and count > 0) ->
      abort({:bad_count, count})

    _ ->
      abort({:bad_milliseconds, milliseconds})
  end

  # The number of free places; when something waits, there are none.
  @doc false
  defactor limiting(target, milliseconds, tick, free, waiting) do
    {:reply, ^tick, :free} ->
      case Queue.pop(waiting) do
        :empty ->
          become limiting(target, milliseconds, tick, free + 1, waiting)

        {message, waiting} ->
          send target, message
          send_after(milliseconds, tick, :free)
          become limiting(target, milliseconds, tick, free, waiting)
      end

    message when free > 0 ->
      send target, message
      send_after(milliseconds, tick, :free)
      become limiting(target, milliseconds, tick, free - 1, waiting)

    message ->
      become limiting(target, milliseconds, tick, free, Queue.push(waiting, message))
  end

  @doc """
  Sends messages on to `target` in lists, in their order: as soon as there are `size` of them, or `milliseconds` after
  the first one of the list came.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> batcher = Mote.create(machine, Mote.Library.batcher(self(), 3, 1_000))
      iex> for n <- 1..5, do: Mote.send(batcher, n)
      iex> Mote.advance(machine, 1_000)
      iex> Process.info(self(), :messages)
      {:messages, [[1, 2, 3], [4, 5]]}
  """
  defactor batcher(target, size, milliseconds) do
    message when is_integer(milliseconds) and milliseconds >= 0 and is_integer(size) and size > 1 ->
      late = create Plumbing.reply(self())
      timer = send_after(milliseconds, late, :late)
      become batching(target, size, milliseconds, late, timer, 1, [message])

    message when size === 1 ->
      send target, [message]

    _ when not (is_integer(size) and size > 0) ->
      abort({:bad_size, size})

    _ ->
      abort({:bad_milliseconds, milliseconds})
  end

  # A new tag for each list: the timer of one that was sent already may be on its way.
  @doc false
  defactor batching(target, size, milliseconds, late, timer, count, messages) do
    {:reply, ^late, _} ->
      send target, Enum.reverse(messages)
      become batcher(target, size, milliseconds)

    message when count + 1 == size ->
      cancel_timer(timer)
      send target, Enum.reverse([message | messages])
      become batcher(target, size, milliseconds)

    message ->
      become batching(target, size, milliseconds, late, timer, count + 1, [message | messages])
  end
end
