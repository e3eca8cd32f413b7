defmodule Mote.Total.Sorting do
  # What the machine compares when it sorts, in the same order (native/mote_vm/src/terms/prim/sorting.rs): eight elements at a
  # time are sorted by insertion, and the runs that this makes are merged, two neighbours at a time, until one is left. Two runs
  # that are in order already are compared once.
  @moduledoc false

  @few 8

  @doc "What comparisons add up to. Each is told the sum so far, and returns whether the first element is greater, and the next sum."
  @spec compared([term, ...], sum, (term, term, sum -> {boolean, sum})) :: sum when sum: non_neg_integer
  def compared(list, sum, compare) do
    {runs, sum} = list |> Enum.chunk_every(@few) |> Enum.map_reduce(sum, &inserted(&1, &2, compare))
    merged(runs, sum, compare)
  end

  defp inserted(run, sum, compare) do
    {falling, sum} = Enum.reduce(run, {[], sum}, fn x, {falling, sum} -> insert(falling, x, sum, compare) end)
    {Enum.reverse(falling), sum}
  end

  # From the greatest on, until there is one that is not greater.
  defp insert([], x, sum, _), do: {[x], sum}

  defp insert([y | rest] = falling, x, sum, compare) do
    case compare.(y, x, sum) do
      {true, sum} ->
        {rest, sum} = insert(rest, x, sum, compare)
        {[y | rest], sum}

      {false, sum} ->
        {[x | falling], sum}
    end
  end

  defp merged([_], sum, _), do: sum

  defp merged(runs, sum, compare) do
    {runs, sum} =
      runs
      |> Enum.chunk_every(2)
      |> Enum.map_reduce(sum, fn
        [run], sum -> {run, sum}
        [left, right], sum -> both(left, right, sum, compare)
      end)

    merged(runs, sum, compare)
  end

  defp both(left, [first | _] = right, sum, compare) do
    case compare.(List.last(left), first, sum) do
      {true, sum} -> merge(left, right, [], sum, compare)
      {false, sum} -> {left ++ right, sum}
    end
  end

  defp merge([x | xs] = left, [y | ys] = right, merged, sum, compare) do
    case compare.(x, y, sum) do
      {true, sum} -> merge(left, ys, [y | merged], sum, compare)
      {false, sum} -> merge(xs, right, [x | merged], sum, compare)
    end
  end

  defp merge(left, right, merged, sum, _), do: {Enum.reverse(merged, left ++ right), sum}
end
