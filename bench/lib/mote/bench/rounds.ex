defmodule Mote.Bench.Rounds do
  # What the scripts of this project have in common: they measure in rounds, in which the sides of a comparison take turns, and
  # show the middle of a figure with the least and the greatest.
  @moduledoc false

  @doc "The microseconds of each way in each round. Before the first round, all ways are taken once."
  @spec times([(... -> term)], pos_integer) :: [[non_neg_integer]]
  def times(ways, rounds) do
    Enum.each(ways, & &1.())
    Enum.zip_with(for(_ <- 1..rounds, do: Enum.map(ways, &us/1)), & &1)
  end

  @doc "The microseconds that a function takes."
  @spec us((... -> term)) :: non_neg_integer
  def us(fun), do: fun |> :timer.tc() |> elem(0)

  @doc """
  The least value, the one in the middle and the greatest.

      iex> Mote.Bench.Rounds.extent([5, 3, 4, 1])
      {1, 4, 5}
  """
  @spec extent([number, ...]) :: {number, number, number}
  def extent([_ | _] = values) do
    sorted = Enum.sort(values)
    {hd(sorted), Enum.at(sorted, div(length(sorted), 2)), List.last(sorted)}
  end

  @doc "The middle value."
  @spec middle([number, ...]) :: number
  def middle(values), do: values |> extent() |> elem(1)

  @doc """
  All three as text, with so many decimal places.

      iex> Mote.Bench.Rounds.spread([5, 3.25, 4], 1)
      "4.0 (3.3–5.0)"
  """
  @spec spread([number, ...], 0..15) :: String.t()
  def spread(values, places) do
    {least, middle, greatest} = extent(values)
    [least, middle, greatest] = for value <- [least, middle, greatest], do: Float.round(value / 1, places)
    "#{middle} (#{least}–#{greatest})"
  end

  @doc "The numbers of a command line, with the others of these defaults behind them."
  @spec numbers([String.t()], [integer]) :: [integer]
  def numbers(args, defaults) do
    numbers = for arg <- args, do: arg |> String.replace("_", "") |> String.to_integer()
    numbers ++ Enum.drop(defaults, length(numbers))
  end
end
