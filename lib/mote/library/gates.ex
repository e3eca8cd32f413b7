defmodule Mote.Library.Gates do
  # Gatekeepers: actors that let messages through in an order. They do not know what they guard, nor, except
  # by a deadline, whether it answers.
  #
  # 1. Each request that a gate forwards is answered to a tag of its own (`Plumbing.reply/1`). Only an answer
  #    that carries the tag of a request under way counts; so a second or late answer is ignored, and none can
  #    be forged.
  # 2. Waiting messages are in the gate's state, in the order in which they came.
  @moduledoc """
  Gatekeepers: the behaviours of `Mote.Library` that let messages through in an order.

  The guide *Gatekeepers* says when one is needed.
  """

  use Mote.Behaviour

  alias Mote.Library.{Plumbing, Queue, Time}

  @doc """
  One request at a time: `service` gets the next one when it has answered the previous one.

  Requests that come meanwhile wait and are let through in the order in which they came. Each goes to the service as
  `{tag, request}` with a tag made for it, and the first answer to that goes to the customer. Another answer to the
  same request is ignored, as is every message that is not a request.

  A service that does not answer keeps all other requests waiting forever, and so does one that sends a
  request to its own serializer and waits for the answer: see `safe_serializer/2`.

      iex> {:ok, machine} = Mote.start_link()
      iex> cell = Mote.create(machine, Mote.Library.counter(0))
      iex> gate = Mote.create(machine, Mote.Library.serializer(cell))
      iex> for _ <- 1..3, do: Mote.ask!(gate, {:add, 1})
      [1, 2, 3]
  """
  defactor serializer(service) do
    {customer, request} ->
      tag = create Plumbing.reply(self())
      send service, {tag, request}
      become serving(service, tag, customer, nil)
  end

  @doc false
  defactor serving(service, tag, customer, waiting) do
    {:reply, ^tag, answer} ->
      send customer, answer

      case waiting do
        nil ->
          become serializer(service)

        _ ->
          {{next, request}, waiting} = Queue.pop(waiting)
          tag = create Plumbing.reply(self())
          send service, {tag, request}
          become serving(service, tag, next, waiting)
      end

    {_customer, _request} = message ->
      become serving(service, tag, customer, Queue.push(waiting, message))
  end

  @doc """
  A `serializer/1` that waits at most `milliseconds` for each answer.

  When there is none, the customer gets `{:error, :timeout}` and the next request goes to the service, which may still
  be at work on the one before. From then on the service may have several requests at a time. Its late answer
  is ignored.

      iex> {:ok, machine} = Mote.start_link(clock: :manual)
      iex> gate = Mote.create(machine, Mote.Library.safe_serializer(Mote.create(machine, Mote.Library.sink()), 1_000))
      iex> asks = for n <- 1..2, do: Mote.async(gate, n)
      iex> Mote.advance(machine, 2_000)
      iex> Mote.await_many(asks)
      [{:error, :timeout}, {:error, :timeout}]
  """
  defactor safe_serializer(service, milliseconds) do
    {customer, request} ->
      timed = create Time.timed(service, milliseconds)
      tag = create Plumbing.reply(self())
      send timed, {tag, request}
      become serving(timed, tag, customer, nil)
  end

  @doc """
  Many readers or one writer: requests are `{:read, request}` and `{:write, request}`, and `request` goes to `service`.

  The service gets reads together, and each write alone. Messages are let in in the order in which they come:
  a read that arrives after a waiting write waits too, so neither readers nor writers wait forever. Answers
  are as with `serializer/1`, and a service that does not answer keeps the gate shut: give it a deadline with
  `Mote.Library.timed/2`.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> gate = Mote.create(machine, Mote.Library.rw_gate(counter))
      iex> for request <- [write: {:add, 42}, read: :read], do: Mote.ask!(gate, request)
      [42, 42]
  """
  defactor rw_gate(service), to: open(service, %{})

  # Nobody waits: `readers` are the customers of the reads at the service, by their tags.
  @doc false
  defactor open(service, readers) do
    {:reply, tag, answer} when is_map_key(readers, tag) ->
      send Map.get(readers, tag), answer
      become open(service, Map.delete(readers, tag))

    {customer, {:read, request}} ->
      tag = create Plumbing.reply(self())
      send service, {tag, request}
      become open(service, Map.put(readers, tag, customer))

    {customer, {:write, request}} when readers == %{} ->
      tag = create Plumbing.reply(self())
      send service, {tag, request}
      become writing(service, tag, customer, nil)

    {_customer, {:write, _request}} = message ->
      become closing(service, readers, Queue.push(nil, message))
  end

  # A write waits, at the head of `waiting`, for these readers.
  @doc false
  defactor closing(service, readers, waiting) do
    {:reply, tag, answer} when is_map_key(readers, tag) and map_size(readers) > 1 ->
      send Map.get(readers, tag), answer
      become closing(service, Map.delete(readers, tag), waiting)

    {:reply, tag, answer} when is_map_key(readers, tag) ->
      send Map.get(readers, tag), answer
      {{customer, {:write, request}}, waiting} = Queue.pop(waiting)
      tag = create Plumbing.reply(self())
      send service, {tag, request}
      become writing(service, tag, customer, waiting)

    {_customer, {kind, _request}} = message when kind in [:read, :write] ->
      become closing(service, readers, Queue.push(waiting, message))
  end

  # A write is at the service.
  @doc false
  defactor writing(service, tag, customer, waiting) do
    {:reply, ^tag, answer} ->
      send customer, answer

      case Queue.pop(waiting) do
        :empty ->
          become open(service, %{})

        {{next, {:write, request}}, waiting} ->
          tag = create Plumbing.reply(self())
          send service, {tag, request}
          become writing(service, tag, next, waiting)

        {_read, _waiting} ->
          {reads, waiting} = reads(Queue.to_list(waiting), [])

          readers =
            Enum.reduce(reads, %{}, fn {reader, {:read, request}}, readers ->
              tag = create Plumbing.reply(self())
              send service, {tag, request}
              Map.put(readers, tag, reader)
            end)

          case waiting do
            [] -> become open(service, readers)
            _ -> become closing(service, readers, Queue.new(waiting))
          end
      end

    {_customer, {kind, _request}} = message when kind in [:read, :write] ->
      become writing(service, tag, customer, Queue.push(waiting, message))
  end

  # The reads in front of the first write, and the rest.
  @doc false
  defpure reads([{_, {:read, _}} = read | rest], before), do: reads(rest, [read | before])
  defpure reads(rest, before), do: {Enum.reverse(before), rest}

  @doc """
  Brings messages into their order: of the messages `{n, message}`, with integers `n`, sends `message` to `target` in the
  order of the numbers, beginning with `first`.

  A message that comes too early waits as long as a number before it is missing. A number that has already
  come is ignored.

      iex> {:ok, machine} = Mote.start_link()
      iex> sequencer = Mote.create(machine, Mote.Library.sequencer(self(), 1))
      iex> for n <- [3, 1, 2, 2], do: Mote.send(sequencer, {n, n})
      iex> Mote.drain(machine)
      iex> Process.info(self(), :messages)
      {:messages, [1, 2, 3]}
  """
  defactor sequencer(target, first), to: sequencing(target, first, %{})

  @doc false
  defactor sequencing(target, next, early) do
    {^next, message} when is_integer(next) ->
      send target, message
      last = last(early, next + 1)

      early =
        Enum.reduce((next + 1)..(last - 1)//1, early, fn n, early ->
          send target, Map.get(early, n)
          Map.delete(early, n)
        end)

      become sequencing(target, last, early)

    {n, message} when is_integer(n) and n > next and not is_map_key(early, n) ->
      become sequencing(target, next, Map.put(early, n, message))
  end

  # The first number from `n` on that has not come.
  @doc false
  defpure last(early, n) when is_map_key(early, n), do: last(early, n + 1)
  defpure last(_early, n), do: n

  @doc """
  Sends every message on to `target`, until it is suspended.

  To `{customer, :suspend}` it answers with a capability: until anything is sent to that, messages wait here; then they go
  on in the order in which they came. Another `{customer, :suspend}` meanwhile waits with them, and holds the
  messages that came after it.

      iex> {:ok, machine} = Mote.start_link()
      iex> door = Mote.create(machine, Mote.Library.suspendable(self()))
      iex> resume = Mote.ask!(door, :suspend)
      iex> for n <- 1..3, do: Mote.send(door, n)
      iex> Mote.drain(machine)
      iex> receive do n -> n after 0 -> :suspended end
      :suspended
      iex> Mote.send(resume, :go)
      iex> Mote.drain(machine)
      iex> Process.info(self(), :messages)
      {:messages, [1, 2, 3]}
  """
  defactor suspendable(target) do
    {customer, :suspend} ->
      resume = create Plumbing.reply(self())
      send customer, resume
      become suspended(target, resume, nil)

    message ->
      send target, message
  end

  @doc false
  defactor suspended(target, resume, held) do
    {:reply, ^resume, _} ->
      {free, rest} = until_suspend(Queue.to_list(held), [])
      Enum.each(free, fn message -> send target, message end)

      case rest do
        [] ->
          become suspendable(target)

        [{customer, :suspend} | rest] ->
          resume = create Plumbing.reply(self())
          send customer, resume
          become suspended(target, resume, Queue.new(rest))
      end

    message ->
      become suspended(target, resume, Queue.push(held, message))
  end

  @doc false
  defpure until_suspend([{_, :suspend} | _] = rest, before), do: {Enum.reverse(before), rest}
  defpure until_suspend([message | rest], before), do: until_suspend(rest, [message | before])
  defpure until_suspend([], before), do: {Enum.reverse(before), []}
end
