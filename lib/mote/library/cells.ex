defmodule Mote.Library.Cells do
  # Actors that hold a value, the purpose of become. Each answers every request of its shape at once or as
  # soon as there is a value; none asks for more than its own state.
  @moduledoc """
  The behaviours of `Mote.Library` that hold state.
  """

  use Mote.Behaviour

  alias Mote.Library.{Plumbing, Queue}

  @doc """
  A number. `{customer, {:add, n}}` adds an integer and answers with the sum, `{customer, :read}` answers with it,
  `{customer, {:reset, n}}` sets it and answers with the old value.

  A sum beyond the integers of a machine (2^20 bits) is ignored, and so is anything but an integer.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(40))
      iex> for request <- [{:add, 2}, {:reset, 0}, :read], do: Mote.ask!(counter, request)
      [42, 42, 0]
  """
  defactor counter(count) do
    {customer, {:add, n}} when is_integer(n) and is_integer(count + n) ->
      send customer, count + n
      become counter(count + n)

    {customer, :read} ->
      send customer, count

    {customer, {:reset, n}} when is_integer(n) ->
      send customer, count
      become counter(n)
  end

  @doc """
  A value. `{customer, :read}` is answered with it, `{customer, {:write, new}}` replaces it and is answered with `:ok`.

  `{customer, {:cas, expected, new}}` (compare and set) replaces it if it is `expected` (`===`), and is answered with `:ok`,
  or with `{:error, {:changed, value}}` when it is not. So an actor that computes a new value from one that was read does not
  overwrite what others wrote meanwhile.

      iex> {:ok, machine} = Mote.start_link()
      iex> cell = Mote.create(machine, Mote.Library.cell(1))
      iex> for request <- [:read, {:write, 2}, {:cas, 2, 3}, {:cas, 2, 4}, :read], do: Mote.ask!(cell, request)
      [1, :ok, :ok, {:error, {:changed, 3}}, 3]
  """
  defactor cell(value) do
    {customer, :read} ->
      send customer, value

    {customer, {:write, new}} ->
      send customer, :ok
      become cell(new)

    {customer, {:cas, expected, new}} when expected === value ->
      send customer, :ok
      become cell(new)

    {customer, {:cas, _expected, _new}} ->
      send customer, {:error, {:changed, value}}
  end

  @doc """
  A value that is written once. `{customer, {:write, value}}` is answered with `:ok`, later ones with
  `{:error, :written}`; `{customer, :read}` is answered with the value, as soon as there is one.

  To let an actor only read, give it an actor in front that passes on nothing but reads, not the future's address.

      iex> {:ok, machine} = Mote.start_link()
      iex> future = Mote.create(machine, Mote.Library.future())
      iex> ask = Mote.async(future, :read)
      iex> {Mote.ask!(future, {:write, 1}), Mote.await(ask), Mote.ask!(future, {:write, 2}), Mote.ask!(future, :read)}
      {:ok, 1, {:error, :written}, 1}
  """
  defactor future(), to: unwritten([])

  # The waiting customers, the last one first.
  @doc false
  defactor unwritten(readers) do
    {customer, :read} ->
      become unwritten([customer | readers])

    {customer, {:write, value}} ->
      Enum.each(Enum.reverse(readers), fn reader -> send reader, value end)
      send customer, :ok
      become written(value)
  end

  @doc false
  defactor written(value) do
    {customer, :read} -> send customer, value
    {customer, {:write, _value}} -> send customer, {:error, :written}
  end

  @doc """
  The answer of `service` to `request`, asked for when it is first read: every `{customer, :read}` is answered
  with it.

  The service is asked once. If it does not answer, readers wait: see `Mote.Library.timed/2`.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> lazy = Mote.create(machine, Mote.Library.lazy(counter, {:add, 1}))
      iex> for actor <- [counter, lazy, lazy, counter], do: Mote.ask!(actor, :read)
      [0, 1, 1, 1]
  """
  defactor lazy(service, request) do
    {customer, :read} ->
      tag = create Plumbing.reply(self())
      send service, {tag, request}
      become awaiting(tag, [customer])
  end

  @doc false
  defactor awaiting(tag, readers) do
    {:reply, ^tag, value} ->
      Enum.each(Enum.reverse(readers), fn reader -> send reader, value end)
      become known(value)

    {customer, :read} ->
      become awaiting(tag, [customer | readers])
  end

  @doc false
  defactor known(value) do
    {customer, :read} -> send customer, value
  end

  @doc """
  Asks `service` each request once, and answers the same request with the same answer from then on.

  A request that was made already, but not answered yet, gets that answer as well. An answer `{:error, reason}` goes to
  all requests that wait, and is not kept. Requests are the same if they are one key of a map (`===`). Answers
  are kept as long as the memo lives.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> memo = Mote.create(machine, Mote.Library.memo(counter))
      iex> for request <- [{:add, 1}, {:add, 1}, {:add, 2}, {:add, 1}], do: Mote.ask!(memo, request)
      [1, 1, 3, 1]
  """
  defactor memo(service), to: remembering(service, %{}, %{}, %{})

  # Answers by request; the customers that wait for them, the last one first, by request; and the requests at the service, by their tags.
  @doc false
  defactor remembering(service, answers, waiting, asked) do
    {:reply, tag, answer} when is_map_key(asked, tag) ->
      request = Map.get(asked, tag)
      Enum.each(Enum.reverse(Map.get(waiting, request)), fn customer -> send customer, answer end)

      answers =
        case answer do
          {:error, _reason} -> answers
          _ -> Map.put(answers, request, answer)
        end

      become remembering(service, answers, Map.delete(waiting, request), Map.delete(asked, tag))

    {customer, request} when is_map_key(answers, request) ->
      send customer, Map.get(answers, request)

    {customer, request} when is_map_key(waiting, request) ->
      customers = [customer | Map.get(waiting, request)]
      become remembering(service, answers, Map.put(waiting, request, customers), asked)

    {customer, request} ->
      tag = create Plumbing.reply(self())
      send service, {tag, request}

      become remembering(
               service,
               answers,
               Map.put(waiting, request, [customer]),
               Map.put(asked, tag, request)
             )
  end

  @doc """
  A queue between actors of which some may be faster than others: `{customer, {:put, item}}` is answered with `:ok` when
  the item is in, `{customer, :take}` with the first item, when there is one.

  Never more than `capacity` items are in it; an actor that puts more waits for the answer. So an actor that
  puts the next item only after the previous put was answered is no faster than the actors that take. With a
  capacity of 0 every put waits for a take.

  A take that gave up or died, as after the timeout of `Mote.ask/3`, is still in the queue: the item that it is given is lost.

      iex> {:ok, machine} = Mote.start_link()
      iex> buffer = Mote.create(machine, Mote.Library.bounded_buffer(1))
      iex> [first, second] = for item <- [:a, :b], do: Mote.async(buffer, {:put, item})
      iex> {Mote.await(first), Mote.drain(machine), Mote.yield(second, 0)}
      {:ok, :ok, nil}
      iex> {Mote.ask!(buffer, :take), Mote.await(second), Mote.ask!(buffer, :take)}
      {:a, :ok, :b}
  """
  defactor bounded_buffer(capacity), to: stocked(capacity, 0, nil, nil)

  # The number of items; and puts that wait, if it is full.
  @doc false
  defactor stocked(capacity, size, items, puts) do
    {_customer, {:put, _item}} when not is_integer(capacity) ->
      abort({:bad_capacity, capacity})

    {customer, {:put, item}} when size < capacity ->
      send customer, :ok
      become stocked(capacity, size + 1, Queue.push(items, item), puts)

    {_customer, {:put, _item}} = message ->
      become stocked(capacity, size, items, Queue.push(puts, message))

    {customer, :take} ->
      case {Queue.pop(items), Queue.pop(puts)} do
        {:empty, :empty} ->
          become hungry(capacity, Queue.push(nil, customer))

        {:empty, {{putter, {:put, item}}, puts}} ->
          send customer, item
          send putter, :ok
          become stocked(capacity, size, items, puts)

        {{item, items}, :empty} ->
          send customer, item
          become stocked(capacity, size - 1, items, puts)

        {{item, items}, {{putter, {:put, next}}, puts}} ->
          send customer, item
          send putter, :ok
          become stocked(capacity, size, Queue.push(items, next), puts)
      end
  end

  # Empty, and these want to take.
  @doc false
  defactor hungry(capacity, takers) do
    {customer, {:put, item}} ->
      {taker, takers} = Queue.pop(takers)
      send taker, item
      send customer, :ok

      case takers do
        nil -> become stocked(capacity, 0, nil, nil)
        _ -> become hungry(capacity, takers)
      end

    {customer, :take} ->
      become hungry(capacity, Queue.push(takers, customer))
  end
end
