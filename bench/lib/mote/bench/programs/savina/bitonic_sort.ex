defmodule Mote.Bench.Programs.Savina.BitonicSort do
  # Bitonic sort of the Savina suite (`bitonicsort`: 4,096 integers): a network of comparators, an actor for each. A comparator
  # waits for two numbers, and sends the smaller one one way and the greater one another way. The way of a number is fixed;
  # so comparators of one stage work at once. (Savina's comparators are used over and over, for parts of the network.)
  @moduledoc false

  use Mote.Bench.Program,
    title: "2^depth integers, sorted by a network of comparators, an actor for each",
    param: :depth,
    defaults: [12],
    small: 4,
    metric: :ns_per_comparator,
    # Half of the numbers in each stage.
    count: &(div(&1 * (&1 + 1), 2) * div(size(&1), 2)),
    expected: &Enum.sort(numbers(&1)),
    processes: &(count(&1) + size(&1) + 1)

  defmodule Actors do
    use Mote.Behaviour

    defactor source(targets) do
      numbers -> for {number, target} <- Enum.zip(numbers, targets), do: send(target, number)
    end

    defactor comparator(low, high) do
      number -> become loaded(number, low, high)
    end

    defactor loaded(first, low, high) do
      number ->
        send low, min(first, number)
        send high, max(first, number)
    end

    # The sorted numbers come here, each with its place.
    defactor place(number, customer) do
      value -> send customer, {number, value}
    end

    defactor judge(left, values, customer) do
      {place, value} when left > 1 -> become left: left - 1, values: Map.put(values, place, value)
      {place, value} -> send customer, Map.values(Map.put(values, place, value))
    end
  end

  defmodule Processes do
    @spec comparator(pid, pid) :: term
    def comparator(low, high) do
      first = number()
      second = number()
      send(low, {:number, min(first, second)})
      send(high, {:number, max(first, second)})
    end

    @spec place(non_neg_integer, pid) :: term
    def place(place, judge), do: send(judge, {place, number()})

    defp number do
      receive do
        {:number, number} -> number
      end
    end

    @spec judge(pos_integer, pid) :: term
    def judge(size, customer) do
      values = for place <- 0..(size - 1), do: receive(do: ({^place, value} -> value))
      send(customer, values)
    end
  end

  @impl true
  def mote(machine, depth) do
    judge = Mote.create(machine, Actors.judge(size(depth), %{}, self()))
    places = for place <- 0..(size(depth) - 1), do: Mote.create(machine, Actors.place(place, judge))
    targets = network(places, depth, &Mote.create(machine, Actors.comparator(&1, &2)))
    source = Mote.create(machine, Actors.source(targets))
    numbers = numbers(depth)
    [run: asking(source, numbers)]
  end

  @impl true
  def beam(depth) do
    judge = spawn(Processes, :judge, [size(depth), self()])
    places = for place <- 0..(size(depth) - 1), do: spawn(Processes, :place, [place, judge])
    targets = network(places, depth, &spawn(Processes, :comparator, [&1, &2]))
    numbers = Enum.zip(numbers(depth), targets)
    [run: fn _ -> answer(fn -> for({number, target} <- numbers, do: send(target, {:number, number})) end) end]
  end

  # From the last stage to the first: who gets the number at each place. Stages are pairs of the length of the sequences
  # that are sorted after it, and the distance of the two that are compared.
  defp network(places, depth, comparator) do
    stages = for part <- 1..depth, step <- part..1, do: {Integer.pow(2, part), Integer.pow(2, step - 1)}

    stages
    |> Enum.reverse()
    |> Enum.reduce(List.to_tuple(places), &stage(&1, &2, comparator))
    |> Tuple.to_list()
  end

  defp stage({length, distance}, targets, comparator) do
    pairs =
      for place <- 0..(tuple_size(targets) - 1), rem(div(place, distance), 2) == 0 do
        {one, other} = {elem(targets, place), elem(targets, place + distance)}
        # Every second sequence is sorted downwards, and all of them in the end upwards.
        up? = rem(div(place, length), 2) == 0
        {place, if(up?, do: comparator.(one, other), else: comparator.(other, one))}
      end

    for {place, actor} <- pairs, at <- [place, place + distance], reduce: targets do
      targets -> put_elem(targets, at, actor)
    end
  end

  defp size(depth), do: Integer.pow(2, depth)
  defp numbers(depth), do: Mote.Bench.Dice.rolls(1, size(depth))
end
