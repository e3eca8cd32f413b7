defmodule Mote.Measure.Statistics do
  @moduledoc """
  Statistics of a list of numbers: for actors, and for Elixir.

      iex> Mote.Measure.Statistics.of([71.0, 64.0, 64.5, 90.0])
      %{count: 4, min: 64.0, max: 90.0, mean: 72.375, stdev: 12.174940109366725, median: 67.75, mad: 3.5}

  `stdev` is the standard deviation of a sample (divided by the count less one). `mad` is the median of the deviations from
  the median: a few disturbed runs do not spoil it.

  As an actor, `statistics()` answers `{customer, numbers}` with that map:

      iex> {:ok, machine} = Mote.start_link()
      iex> statistics = Mote.create(machine, Mote.Measure.Statistics.statistics())
      iex> Mote.ask!(statistics, [3, 1, 2]).median
      2

  A list without numbers, or with something else in it, has no statistics: `:undefined`.
  """
  use Mote.Behaviour, errors: :undefined

  @doc "Answers `{customer, numbers}` with their statistics."
  defactor statistics do
    {customer, numbers} -> send customer, of(numbers)
  end

  @typedoc "Numbers in a list."
  @type numbers :: [number]

  @doc "All of them: `count`, `min`, `max`, `mean`, `stdev`, `median`, `mad`."
  @spec of(numbers) :: %{atom => number} | :undefined
  defpure of(numbers) do
    case sorted(numbers) do
      :undefined -> :undefined
      sorted -> of_sorted(sorted, Mote.Vector.size(sorted))
    end
  end

  @doc false
  defpure of_sorted(_sorted, 0), do: :undefined

  defpure of_sorted(sorted, n) do
    mean = Mote.Vector.sum(sorted) / n
    median = middle(sorted, n)

    %{
      count: n,
      min: Mote.Vector.get(sorted, 0),
      max: Mote.Vector.get(sorted, n - 1),
      mean: mean,
      stdev: stdev(sorted, n, mean),
      median: median,
      mad: mad(sorted, n, median)
    }
  end

  @doc "The middle one; of an even number of them the mean of the two in the middle."
  @spec median(numbers) :: number | :undefined
  defpure median(numbers) do
    case sorted(numbers) do
      :undefined -> :undefined
      sorted -> middle(sorted, Mote.Vector.size(sorted))
    end
  end

  @doc false
  defpure middle(_sorted, 0), do: :undefined
  defpure middle(sorted, n) when rem(n, 2) == 1, do: Mote.Vector.get(sorted, div(n, 2))

  defpure middle(sorted, n),
    do: (Mote.Vector.get(sorted, div(n, 2) - 1) + Mote.Vector.get(sorted, div(n, 2))) / 2

  @doc false
  defpure mad(sorted, _n, median) do
    deviations = for number <- Mote.Vector.to_list(sorted), do: abs(number - median)
    median(deviations)
  end

  @doc false
  defpure stdev(_sorted, 1, _mean), do: 0.0

  defpure stdev(sorted, n, mean) do
    deviations = Mote.Vector.sub(floats(sorted), mean)
    :math.sqrt(Mote.Vector.dot(deviations, deviations) / (n - 1))
  end

  @doc "A vector of the numbers in ascending order: of integers, if all are."
  @spec sorted(numbers) :: Mote.Vector.t() | :undefined
  defpure sorted(numbers) do
    case Mote.Vector.new(:i64, numbers) do
      :undefined -> Mote.Vector.sort(Mote.Vector.new(:f64, numbers))
      integers -> Mote.Vector.sort(integers)
    end
  end

  @doc false
  defpure floats(vector), do: Mote.Vector.new(:f64, Mote.Vector.to_list(vector))
end
