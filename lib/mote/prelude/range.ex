defmodule Mote.Prelude.Range do
  # Functions of Range.
  @moduledoc false
  use Mote.Behaviour, import: [Range]

  require Mote.Prelude

  # Of `Enum.sum/1`, where its source is a range, or another map.
  defpure sum(first..last//step) do
    size = Range.size(first..last//step)
    div(size * (2 * first + (size - 1) * step), 2)
  end

  defpure sum(source), do: for(x <- Enum.to_list(source), reduce: 0, do: (sum -> sum + x))

  defpure to_list(first..last//step), do: Enum.to_list(first..last//step)

  # Of the numbers of a range the first `n`, or all but the last `-n`, and the others.
  defpure split(first..last//step, n) when is_integer(n) do
    case Range.size(first..last//step) do
      0 -> {first..(first - step)//step, (last + step)..last//step}
      size -> parted(first, last, step, min(if(n < 0, do: max(size + n, 0), else: n), size))
    end
  end

  defpure parted(first, last, step, n) do
    between = first + step * n
    {first..(between - step)//step, between..last//step}
  end

  # Whether two ranges have no number in common.
  defpure disjoint?(first1..last1//step1, first2..last2//step2) do
    {from1, to1, step1} = upwards(first1, last1, step1)
    {from2, to2, step2} = upwards(first2, last2, step2)

    cond do
      to1 < from1 or to2 < from2 or to2 < from1 or to1 < from2 -> true
      step1 == 1 and step2 == 1 -> false
      true -> apart?(from1, to1, step1, from2, to2, step2)
    end
  end

  defpure upwards(first, last, step) when step > 0, do: {first, last - rem(max(last - first, 0), step), step}
  defpure upwards(first, last, step) when last > first, do: {last, first, -step}
  defpure upwards(first, last, step), do: {last - rem(last - first, step), first, -step}

  # Numbers of the first one repeat modulo the step of the second one after as many as that step has.
  defpure apart?(from1, to1, step1, from2, to2, step2) do
    first = from1 + max(div(from2 - from1 + step1 - 1, step1), 0) * step1
    none?(first, step1, min(to1, to2), from2, step2, step2)
  end

  defpure none?(n, _, last, _, _, left) when n > last or left == 0, do: true

  defpure none?(n, step, last, from, modulo, left) do
    if rem(n - from, modulo) == 0, do: false, else: none?(n + step, step, last, from, modulo, left - 1)
  end

  Mote.Prelude.released()
end
