defmodule Mote.Measure.ServicesTest do
  # Median, statistics, histogram, prep and sweep, each against plain Elixir.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Measure.{Histogram, Median, Prep, Statistics, Sweep}

  defmodule Devices do
    use Mote.Behaviour, errors: :undefined

    # Answers with one of the list after the other.
    defactor reader(numbers) do
      {customer, _} ->
        [first | rest] = numbers
        send customer, first
        become reader(rest)
    end

    # Answers later, with how many questions there were meanwhile.
    defactor slow(open) do
      {:answer, customer} ->
        send customer, open
        become slow(open - 1)

      {customer, _} ->
        send_after(1, self(), {:answer, customer})
        become slow(open + 1)
    end

    defactor echo do
      {customer, request} -> send customer, request
    end
  end

  setup_all do
    %{machine: start_supervised!({Mote, []})}
  end

  defp ask(machine, behaviour, request), do: Mote.ask!(Mote.create(machine, behaviour), request)

  defp numbers,
    do:
      list_of(one_of([integer(-1_000..1_000), float(min: -1.0e3, max: 1.0e3)]), min_length: 1, max_length: 30)

  defp median(numbers) do
    sorted = Enum.sort(numbers)
    n = length(sorted)

    if rem(n, 2) == 1,
      do: Enum.at(sorted, div(n, 2)),
      else: (Enum.at(sorted, div(n, 2) - 1) + Enum.at(sorted, div(n, 2))) / 2
  end

  defp near(a, b), do: abs(a - b) <= 1.0e-6 * max(1.0, abs(b))

  property "statistics are those of Elixir, in the machine and outside", %{machine: machine} do
    check all(numbers <- numbers(), max_runs: 60) do
      n = length(numbers)
      mean = Enum.sum(numbers) / n
      middle = median(numbers)
      variance = if n > 1, do: Enum.sum(for x <- numbers, do: (x - mean) * (x - mean)) / (n - 1), else: 0.0
      statistics = Statistics.of(numbers)

      assert %{count: ^n} = statistics
      assert statistics.median == middle
      assert statistics.min == Enum.min(numbers) and statistics.max == Enum.max(numbers)
      assert near(statistics.mean, mean) and near(statistics.stdev, :math.sqrt(variance))
      assert near(statistics.mad, median(for x <- numbers, do: abs(x - middle)))
      assert ask(machine, Statistics.statistics(), numbers) == statistics
      assert Statistics.median(numbers) == middle
    end
  end

  test "what has no statistics is :undefined", %{machine: machine} do
    for nothing <- [[], [1, :a], :a, [1 | 2]] do
      assert Statistics.of(nothing) == :undefined
      assert ask(machine, Statistics.statistics(), nothing) == :undefined
      assert ask(machine, Histogram.histogram(3), nothing) == :undefined
    end

    for bins <- [0, -1, 1.5, :many], do: assert(Histogram.of([1, 2], bins) == :undefined)
  end

  property "a histogram has every number once, in the interval where it is", %{machine: machine} do
    check all(numbers <- numbers(), bins <- integer(1..12), max_runs: 60) do
      histogram = Histogram.of(numbers, bins)
      assert Enum.sum(for {_, _, count} <- histogram, do: count) == length(numbers)
      assert ask(machine, Histogram.histogram(bins), numbers) == histogram
      {low, high} = Enum.min_max(numbers)
      assert {first, _, _} = hd(histogram)
      assert {_, last, _} = List.last(histogram)
      assert first == low and near(last, high)

      if low != high do
        assert length(histogram) == bins
        for {{_, ends, _}, {begins, _, _}} <- Enum.zip(histogram, tl(histogram)), do: assert(ends == begins)

        for {{from, to, count}, at} <- Enum.with_index(histogram) do
          inside = fn x -> x >= from and (x < to or at == bins - 1) end
          # The last interval is cut off by the greatest number, not by a sum that is rounded.
          assert Enum.count(numbers, inside) == count or at == bins - 1
        end
      end
    end
  end

  test "a number between two intervals belongs to the upper one, the greatest to the last" do
    assert Histogram.of([0, 1, 2, 3, 4], 2) == [{0.0, 2.0, 2}, {2.0, 4.0, 3}]
    assert Histogram.of([7, 7], 3) == [{7.0, 7.0, 2}]
  end

  property "the median of given samples is Elixir's, of as many as asked for", %{machine: machine} do
    check all(numbers <- numbers(), max_runs: 40) do
      reader = Mote.create(machine, Devices.reader(numbers ++ [0, 0, 0]))
      answer = ask(machine, Median.median(reader, length(numbers)), :go)
      assert answer.samples == numbers
      assert answer.median == median(numbers)
      assert answer.min == Enum.min(numbers) and answer.max == Enum.max(numbers)
      assert answer.count == length(numbers)
    end
  end

  test "three runs are the default, and they go one after the other", %{machine: machine} do
    reader = Mote.create(machine, Devices.reader([5, 9, 1, 7]))
    assert %{samples: [5, 9, 1], median: 5, mad: 4} = ask(machine, Median.median(reader), :go)

    slow = Mote.create(machine, Devices.slow(0))
    assert %{samples: [1, 1, 1, 1]} = ask(machine, Median.median(slow, 4), :go)
  end

  test "a median of what is no number, or of nothing, is :undefined", %{machine: machine} do
    reader = Mote.create(machine, Devices.reader([1, :a, 3]))
    assert ask(machine, Median.median(reader), :go) == :undefined
    for n <- [0, -1, 1.0, :many], do: assert(ask(machine, Median.median(reader, n), :go) == :undefined)
  end

  test "prep divides every figure, and only figures", %{machine: machine} do
    echo = Mote.create(machine, Devices.echo())
    assert ask(machine, Prep.prep(echo, 4), 10) == 2.5
    assert ask(machine, Prep.prep(echo, 4), [10, 20]) == [2.5, 5.0]
    assert ask(machine, Prep.prep(echo, 0), 10) == :undefined
    assert ask(machine, Prep.prep(echo, 4), :no_number) == :undefined
    assert ask(machine, Prep.prep(echo, %{10 => 4}), 11) == :undefined

    statistics = Statistics.of([10, 20, 40]) |> Map.put(:samples, [10, 20, 40])
    prepared = ask(machine, Prep.prep(echo, %{statistics => 10}), statistics)
    assert %{count: 3, samples: [1.0, 2.0, 4.0], median: 2.0, min: 1.0, max: 4.0, mad: 1.0} = prepared
    assert near(prepared.mean, 7 / 3) and near(prepared.stdev, statistics.stdev / 10)
  end

  test "a sweep asks every service for every parameter, in turns", %{machine: machine} do
    echo = Mote.create(machine, Devices.echo())
    halved = Mote.create(machine, Prep.prep(echo, 2))
    rows = ask(machine, Sweep.sweep([whole: echo, half: halved], self()), [4, 6])
    assert rows == [{4, :whole, 4}, {4, :half, 2.0}, {6, :whole, 6}, {6, :half, 3.0}]

    for {{param, name, answer}, left} <- Enum.zip(rows, 3..0//-1),
        do: assert_receive({:measured, ^param, ^name, ^answer, ^left})

    assert ask(machine, Sweep.sweep([whole: echo], :undefined), []) == []
    assert ask(machine, Sweep.sweep([], :undefined), [1]) == []
    refute_receive _, 10
  end
end
