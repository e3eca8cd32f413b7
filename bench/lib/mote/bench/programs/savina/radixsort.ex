defmodule Mote.Bench.Programs.Savina.Radixsort do
  # Radixsort of the Savina suite: a chain of sorters, one for each bit. A sorter passes on numbers without its bit at once,
  # and the others when all have come. Each relies on the order of what the one before it sends.
  @moduledoc false

  @bits 59

  use Mote.Bench.Program,
    title: "n integers of 59 bits, sorted by a chain of 59 actors, one for each bit",
    param: :n,
    defaults: [100_000],
    small: 50,
    metric: :ns_per_message,
    count: &(&1 * (@bits + 1)),
    expected: :sorted,
    processes: @bits + 2,
    rust: [rust: "radixsort"]

  @seed {2014, 10, 20}

  defmodule Actors do
    use Mote.Behaviour

    defactor source(numbers, first) do
      :start -> for number <- numbers, do: send(first, number)
    end

    defactor sorter(bit, left, ones, next) do
      number when left > 1 ->
        if rem(div(number, bit), 2) == 0 do
          send next, number
          become left: left - 1
        else
          become left: left - 1, ones: [number | ones]
        end

      number ->
        ones = if rem(div(number, bit), 2) == 0, do: ones, else: [number | ones]
        if rem(div(number, bit), 2) == 0, do: send(next, number)
        for one <- Enum.reverse(ones), do: send(next, one)
        # As a process that ends, it lets go of its list.
        become sink()
    end

    # Whether they come sorted, and all of them.
    defactor judge(left, last, sum, customer) do
      number when number < last -> send customer, {:not_sorted, last, number}
      number when left > 1 -> become judge(left - 1, number, sum - number, customer)
      number when sum == number -> send customer, :sorted
      number -> send customer, {:others, sum - number}
    end
  end

  defmodule Processes do
    @spec source([non_neg_integer], pid) :: term
    def source(numbers, first) do
      receive do
        :start -> for number <- numbers, do: send(first, number)
      end
    end

    @spec sorter(pos_integer, non_neg_integer, [non_neg_integer], pid) :: term
    def sorter(_bit, 0, ones, next), do: for(one <- Enum.reverse(ones), do: send(next, one))

    def sorter(bit, left, ones, next) do
      receive do
        number when rem(div(number, bit), 2) == 0 ->
          send(next, number)
          sorter(bit, left - 1, ones, next)

        number ->
          sorter(bit, left - 1, [number | ones], next)
      end
    end

    @spec judge(non_neg_integer, non_neg_integer, integer, pid) :: term
    def judge(0, _last, 0, customer), do: send(customer, :sorted)
    def judge(0, _last, sum, customer), do: send(customer, {:others, sum})

    def judge(left, last, sum, customer) do
      receive do
        number when number < last -> send(customer, {:not_sorted, last, number})
        number -> judge(left - 1, number, sum - number, customer)
      end
    end
  end

  @impl true
  def mote(machine, n) do
    numbers = numbers(n)
    judge = Mote.create(machine, Actors.judge(n, 0, Enum.sum(numbers), self()))
    first = chain(judge, &Mote.create(machine, Actors.sorter(&1, n, [], &2)))
    source = Mote.create(machine, Actors.source(numbers, first))
    [run: asking(source, :start)]
  end

  @impl true
  def beam(n) do
    numbers = numbers(n)
    judge = spawn(Processes, :judge, [n, 0, Enum.sum(numbers), self()])
    first = chain(judge, &spawn(Processes, :sorter, [&1, n, [], &2]))
    source = spawn(Processes, :source, [numbers, first])
    [run: asking(source, :start)]
  end

  @impl true
  def rust(sorted, n), do: if(sorted == n, do: :sorted, else: {:of, sorted})

  defp numbers(n) do
    :rand.seed(:exsss, @seed)
    for _ <- 1..n, do: :rand.uniform(Integer.pow(2, @bits)) - 1
  end

  # The first of the sorters, each of which knows the next one.
  defp chain(judge, sorter), do: Enum.reduce((@bits - 1)..0, judge, &sorter.(Integer.pow(2, &1), &2))
end
