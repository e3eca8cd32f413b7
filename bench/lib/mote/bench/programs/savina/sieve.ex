defmodule Mote.Bench.Programs.Savina.Sieve do
  # The sieve of Eratosthenes of the Savina suite: a chain of filters that grows. A filter knows up to 1,000 primes; a number
  # that none of them divides is the next prime, or goes to the next filter. Each relies on the order of the numbers.
  @moduledoc false

  use Mote.Bench.Program,
    title: "the primes below n, by a chain of filters that know up to 1,000 primes each",
    param: :n,
    defaults: [100_000],
    small: 100,
    metric: :ns_per_number,
    processes: &(div(&1, 1_000) + 3)

  # More numbers in one turn would take more fuel than it has.
  @at_once 1_000

  defmodule Actors do
    use Mote.Behaviour

    @primes 1_000

    defactor source(first, at_once, limit) do
      from when from + at_once >= limit ->
        for number <- from..(limit - 1), do: send(first, number)
        send first, :end

      from ->
        for number <- from..(from + at_once - 1), do: send(first, number)
        send self(), from + at_once
    end

    # `next` is nil in the last one of the chain. What is found is how many primes there are up to here, and their sum. That
    # a full filter is of the same behaviour keeps its numbers in order: of one that never becomes turns may run in parallel.
    defactor filter(primes, next, found, customer) do
      :end when next == nil ->
        send customer, found

      :end ->
        send next, :end

      number ->
        if not divided?(primes, number) do
          cond do
            next != nil ->
              send next, number

            length(primes) < @primes ->
              become primes: primes ++ [number], found: with_one_more(found, number)

            true ->
              become next: create(filter([number], nil, with_one_more(found, number), customer))
          end
        end
    end

    defpure with_one_more({count, sum}, number), do: {count + 1, sum + number}

    defpure divided?([prime | _], number) when rem(number, prime) == 0, do: true
    defpure divided?([_ | primes], number), do: divided?(primes, number)
    defpure divided?([], _number), do: false
  end

  defmodule Processes do
    @primes 1_000

    @spec source(pid, pos_integer) :: term
    def source(first, limit) do
      receive do
        from ->
          for number <- from..(limit - 1), do: send(first, number)
          send(first, :end)
      end
    end

    @spec filter([pos_integer], pid | nil, {non_neg_integer, non_neg_integer}, pid) :: term
    def filter(primes, next, found, customer) do
      receive do
        :end when next == nil ->
          send(customer, found)

        :end ->
          send(next, :end)

        number ->
          cond do
            divided?(primes, number) ->
              filter(primes, next, found, customer)

            next != nil ->
              send(next, number)
              filter(primes, next, found, customer)

            length(primes) < @primes ->
              filter(primes ++ [number], next, with_one_more(found, number), customer)

            true ->
              next = spawn(__MODULE__, :filter, [[number], nil, with_one_more(found, number), customer])
              filter(primes, next, found, customer)
          end
      end
    end

    defp with_one_more({count, sum}, number), do: {count + 1, sum + number}

    defp divided?([prime | _], number) when rem(number, prime) == 0, do: true
    defp divided?([_ | primes], number), do: divided?(primes, number)
    defp divided?([], _number), do: false
  end

  @impl true
  def expected(n) do
    primes = primes(n)
    {length(primes), Enum.sum(primes)}
  end

  # By striking out, which has nothing in common with a chain of filters.
  defp primes(n) do
    struck =
      for factor <- 2..trunc(:math.sqrt(n)),
          number <- (factor * factor)..(n - 1)//factor,
          into: MapSet.new(),
          do: number

    for number <- 2..(n - 1), not MapSet.member?(struck, number), do: number
  end

  @impl true
  def mote(machine, n) do
    first = Mote.create(machine, Actors.filter([], nil, {0, 0}, self()))
    source = Mote.create(machine, Actors.source(first, @at_once, n))
    [run: asking(source, 2)]
  end

  @impl true
  def beam(n) do
    first = spawn(Processes, :filter, [[], nil, {0, 0}, self()])
    source = spawn(Processes, :source, [first, n])
    [run: asking(source, 2)]
  end
end
