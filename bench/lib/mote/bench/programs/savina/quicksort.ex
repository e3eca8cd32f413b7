defmodule Mote.Bench.Programs.Savina.Quicksort do
  # Quicksort of the Savina suite (`quicksort`: 1,000,000 integers below 2^60, cutoff 2,048): an actor splits its list by the
  # first number, leaves what is less and what is greater to two more, and puts the parts together. A list of up to 2,048
  # numbers is sorted in one turn, in the same way.
  @moduledoc false

  use Mote.Bench.Program,
    title: "quicksort of n integers, an actor for each part of more than 2,048",
    param: :n,
    defaults: [1_000_000],
    small: 5_000,
    metric: :ns_per_number,
    expected: &Enum.sum(numbers(&1)),
    processes: &(div(&1, 100) + 2),
    rust: [rust: "quicksort"]

  defmodule Actors do
    use Mote.Behaviour

    @cutoff 2_048

    defactor source(numbers, sorter) do
      :start -> send sorter, numbers
    end

    defactor sorter(customer, place) do
      numbers when length(numbers) <= @cutoff ->
        send customer, {place, sort(numbers, [])}

      [pivot | numbers] ->
        {less, greater} = split(numbers, pivot, [], [])
        send create(sorter(self(), :less)), less
        send create(sorter(self(), :greater)), greater
        become half(customer, place, pivot)
    end

    defactor half(customer, place, pivot) do
      {:less, less} -> become other(customer, place, less, [pivot])
      {:greater, greater} -> become other(customer, place, [], [pivot | greater])
    end

    # With the first half, which begins or ends with the pivot.
    defactor other(customer, place, less, from_pivot) do
      {:less, less} -> send customer, {place, less ++ from_pivot}
      {:greater, greater} -> send customer, {place, less ++ from_pivot ++ greater}
    end

    # What the customer wants to know: whether they are in order, and their sum.
    defactor judge(customer) do
      {:all, numbers} -> send customer, if(ordered?(numbers), do: Enum.sum(numbers), else: :not_sorted)
    end

    # Before what is sorted already.
    defpure sort([], sorted), do: sorted

    defpure sort([pivot | numbers], sorted) do
      {less, greater} = split(numbers, pivot, [], [])
      sort(less, [pivot | sort(greater, sorted)])
    end

    defpure split([number | numbers], pivot, less, greater) when number < pivot do
      split(numbers, pivot, [number | less], greater)
    end

    defpure split([number | numbers], pivot, less, greater),
      do: split(numbers, pivot, less, [number | greater])

    defpure split([], _pivot, less, greater), do: {less, greater}

    defpure ordered?([one, next | numbers]), do: one <= next and ordered?([next | numbers])
    defpure ordered?(_), do: true
  end

  defmodule Processes do
    @cutoff 2_048

    @spec source([non_neg_integer], pid) :: term
    def source(numbers, judge) do
      receive do
        :start -> send(judge, {:all, sorted(numbers)})
      end
    end

    @spec sorter(pid) :: term
    def sorter(customer) do
      receive do
        {:numbers, numbers} -> send(customer, {self(), sorted(numbers)})
      end
    end

    defp sorted(numbers) when length(numbers) <= @cutoff, do: sort(numbers, [])

    # One half is left to another process; with two of them both halves would be copied.
    defp sorted([pivot | numbers]) do
      {less, greater} = split(numbers, pivot, [], [])
      sorter = spawn(__MODULE__, :sorter, [self()])
      send(sorter, {:numbers, greater})
      less = sorted(less)
      receive do: ({^sorter, greater} -> less ++ [pivot | greater])
    end

    @spec judge(pid) :: term
    def judge(customer) do
      receive do
        {:all, numbers} -> send(customer, if(ordered?(numbers), do: Enum.sum(numbers), else: :not_sorted))
      end
    end

    defp sort([], sorted), do: sorted

    defp sort([pivot | numbers], sorted) do
      {less, greater} = split(numbers, pivot, [], [])
      sort(less, [pivot | sort(greater, sorted)])
    end

    defp split([number | numbers], pivot, less, greater) when number < pivot do
      split(numbers, pivot, [number | less], greater)
    end

    defp split([number | numbers], pivot, less, greater), do: split(numbers, pivot, less, [number | greater])
    defp split([], _pivot, less, greater), do: {less, greater}

    defp ordered?([one, next | numbers]), do: one <= next and ordered?([next | numbers])
    defp ordered?(_), do: true
  end

  @impl true
  def mote(machine, n) do
    judge = Mote.create(machine, Actors.judge(self()))
    source = Mote.create(machine, Actors.source(numbers(n), Mote.create(machine, Actors.sorter(judge, :all))))
    [run: asking(source, :start)]
  end

  @impl true
  def beam(n) do
    judge = spawn(Processes, :judge, [self()])
    source = spawn(Processes, :source, [numbers(n), judge])
    [run: asking(source, :start)]
  end

  # The lowest 53 bits, which a float has.
  @impl true
  def rust(sum, n), do: if(sum == rem(expected(n), 9_007_199_254_740_992), do: expected(n), else: {:sum, sum})

  # Numbers of the generator, put together to such of 60 bits.
  defp numbers(n) do
    for [high, low] <- Enum.chunk_every(Mote.Bench.Dice.rolls(1, 2 * n), 2),
        do: rem(high, 1_073_741_824) * 1_073_741_824 + rem(low, 1_073_741_824)
  end
end
