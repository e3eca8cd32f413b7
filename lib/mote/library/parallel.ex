defmodule Mote.Library.Parallel do
  # Several services at once, and one answer made of theirs. How long that may take is for `Time` to limit.
  #
  # 1. A customer gets one answer: the first one passes a `once`, all of them a `join`.
  # 2. A `join` takes the first answer of each place and ignores others, so a service that answers twice does no harm.
  @moduledoc """
  The behaviours of `Mote.Library` that ask several services at once.

  A service that does not answer leaves `fork/1`, `par_map/1` and `map_reduce/2` without an answer: see
  `Mote.Library.timed/2`.
  """

  use Mote.Behaviour

  alias Mote.Library.Plumbing

  @doc """
  Sends the same request to all of the list `services`; the first answer counts.

  Without any services it answers `{:error, :no_services}`.

      iex> {:ok, machine} = Mote.start_link()
      iex> services = for behaviour <- [Mote.Library.sink(), Mote.Library.const(1)], do: Mote.create(machine, behaviour)
      iex> Mote.ask(Mote.create(machine, Mote.Library.race(services)), :anybody?)
      {:ok, 1}
  """
  defactor race(services) do
    {customer, _request} when services == [] ->
      send customer, {:error, :no_services}

    {customer, request} ->
      first = create Plumbing.once(customer)
      Enum.each(services, fn service -> send service, {first, request} end)
  end

  @doc """
  Sends the same request to all of the list `services`, and answers with the list of their answers, in the
  order of the services.

      iex> {:ok, machine} = Mote.start_link()
      iex> services = for n <- 1..3, do: Mote.create(machine, Mote.Library.const(n))
      iex> Mote.ask(Mote.create(machine, Mote.Library.fork(services)), :all)
      {:ok, [1, 2, 3]}
  """
  defactor fork(services) do
    {customer, _request} when services == [] ->
      send customer, []

    {customer, request} ->
      join = create join(customer, length(services), %{})

      Enum.reduce(services, 0, fn service, place ->
        send service, {create(Plumbing.label(join, place)), request}
        place + 1
      end)
  end

  @doc """
  Asks `service` for each element of the list that is the request, all at once; answers with the list of the answers,
  in the order of the elements.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> Mote.ask(Mote.create(machine, Mote.Library.par_map(counter)), [{:add, 1}, {:add, 1}, :read])
      {:ok, [1, 2, 2]}
  """
  defactor par_map(service) do
    {customer, []} ->
      send customer, []

    {customer, list} when is_list(list) ->
      join = create join(customer, length(list), %{})

      Enum.reduce(list, 0, fn element, place ->
        send service, {create(Plumbing.label(join, place)), element}
        place + 1
      end)
  end

  @doc """
  Like `par_map/1` with `mapper`; then the list of the answers is the request to `reducer`, whose answer goes
  to the customer.

      iex> defmodule Doc.Words do
      ...>   use Mote.Behaviour
      ...>   defactor size do
      ...>     {customer, word} -> send customer, byte_size(word)
      ...>   end
      ...>   defactor sum do
      ...>     {customer, numbers} -> send customer, Enum.sum(numbers)
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> [size, sum] = for behaviour <- [Doc.Words.size(), Doc.Words.sum()], do: Mote.create(machine, behaviour)
      iex> Mote.ask(Mote.create(machine, Mote.Library.map_reduce(size, sum)), ["one", "two", "three"])
      {:ok, 11}
  """
  defactor map_reduce(mapper, reducer) do
    {customer, list} when is_list(list) ->
      send create(par_map(mapper)), {create(Plumbing.stage(customer, [reducer])), list}
  end

  @doc """
  Waits for `count` messages, at least one, and sends `customer` the list of them in the order in which they came.

  It is for reports that come unasked, where `fork/1` and `par_map/1` ask. Messages after the last one are ignored.
  In a behaviour, `create gather(customer, count, initial, &fun/2)` is a word of the language: there a function puts the
  reports together as they come (see `Mote.Behaviour`).

      iex> {:ok, machine} = Mote.start_link()
      iex> reports = Mote.create(machine, Mote.Library.gather(self(), 3))
      iex> for n <- 1..4, do: Mote.send(reports, n * n)
      iex> Mote.drain(machine)
      iex> Process.info(self(), :messages)
      {:messages, [[1, 4, 9]]}
  """
  defactor gather(customer, count), to: gathering(customer, count, [])

  @doc false
  defactor gathering(customer, missing, reports) do
    report when missing > 1 ->
      become missing: missing - 1, reports: [report | reports]

    report ->
      send customer, Enum.reverse([report | reports])
      become sink()
  end

  # Waits for that many answers, labelled with their places.
  @doc false
  defactor join(customer, missing, answers) do
    {place, answer} when not is_map_key(answers, place) ->
      answers = Map.put(answers, place, answer)

      if missing == 1 do
        send customer, Map.values(answers)
        become sink()
      else
        become join(customer, missing - 1, answers)
      end
  end
end
