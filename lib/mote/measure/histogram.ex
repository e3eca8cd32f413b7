defmodule Mote.Measure.Histogram do
  @moduledoc """
  A histogram: how often numbers fall into each of some intervals of one width.

      iex> Mote.Measure.Histogram.of([1, 2, 2, 3, 9], 4)
      [{1.0, 3.0, 3}, {3.0, 5.0, 1}, {5.0, 7.0, 0}, {7.0, 9.0, 1}]

  Each interval `{low, high, count}` has its lower end, and the last one both. As an actor, `histogram(bins)` answers
  `{customer, numbers}` with the list:

      iex> {:ok, machine} = Mote.start_link()
      iex> histogram = Mote.create(machine, Mote.Measure.Histogram.histogram(2))
      iex> Mote.ask!(histogram, [10, 20, 20])
      [{10.0, 15.0, 1}, {15.0, 20.0, 2}]

  Numbers that are all equal fill a single interval. A list without numbers, with something else in it, or no interval at
  all has no histogram: `:undefined`.
  """
  use Mote.Behaviour, errors: :undefined
  alias Mote.Measure.Statistics

  @doc "Answers `{customer, numbers}` with their histogram."
  defactor histogram(bins) do
    {customer, numbers} -> send customer, of(numbers, bins)
  end

  @doc "The intervals, from the least on."
  @spec of(Statistics.numbers(), pos_integer) :: [{float, float, non_neg_integer}] | :undefined
  defpure of(numbers, bins) when is_integer(bins) and bins > 0 do
    case Statistics.sorted(numbers) do
      :undefined -> :undefined
      sorted -> of_sorted(sorted, Mote.Vector.size(sorted), bins)
    end
  end

  defpure of(_numbers, _bins), do: :undefined

  @doc false
  defpure of_sorted(_sorted, 0, _bins), do: :undefined

  defpure of_sorted(sorted, n, bins) do
    low = Mote.Vector.get(sorted, 0) * 1.0
    high = Mote.Vector.get(sorted, n - 1) * 1.0

    if low == high,
      do: [{low, high, n}],
      else: intervals(Mote.Vector.to_list(sorted), low, (high - low) / bins, bins, 0, 0, [])
  end

  # The numbers come in ascending order, so that each interval takes its own from the front.
  @doc false
  defpure intervals([number | rest], low, width, bins, bin, count, done)
          when bin == bins - 1 or number < low + (bin + 1) * width,
          do: intervals(rest, low, width, bins, bin, count + 1, done)

  defpure intervals(rest, low, width, bins, bin, count, done) when bin < bins,
    do:
      intervals(rest, low, width, bins, bin + 1, 0, [
        {low + bin * width, low + (bin + 1) * width, count} | done
      ])

  defpure intervals(_rest, _low, _width, _bins, _bin, _count, done), do: Enum.reverse(done)
end
