defmodule Mote.Prelude.Lists do
  # Functions of Erlang's `lists` without functions as arguments. They take lists only, and count from one.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Enum, as: Walk
  alias Mote.Prelude.List, as: Lists

  defpure reverse(list) when is_list(list), do: Enum.reverse(list)
  defpure reverse(list, tail) when is_list(list), do: Enum.reverse(list) ++ tail
  defpure append(lists) when is_list(lists), do: appended(Enum.reverse(lists), [])
  defpure append(a, b), do: a ++ b

  defpure appended([], all), do: all
  defpure appended([list | rest], all), do: appended(rest, list ++ all)

  defpure member(x, list) when is_list(list), do: Enum.member?(list, x)
  defpure delete(x, list), do: List.delete(list, x)
  defpure subtract(a, b), do: a -- b
  defpure duplicate(n, x), do: List.duplicate(x, n)
  defpure flatten(list), do: List.flatten(list)
  defpure flatten(list, tail), do: List.flatten(list, tail)

  defpure last([x]), do: x
  defpure last([_ | rest]), do: last(rest)
  defpure droplast([_ | _] = list), do: tl_reversed(Enum.reverse(list))
  defpure tl_reversed([_ | rest]), do: Enum.reverse(rest)

  defpure nth(1, [x | _]), do: x
  defpure nth(n, [_ | rest]) when is_integer(n) and n > 1, do: nth(n - 1, rest)
  defpure nthtail(0, list) when is_list(list), do: list
  defpure nthtail(n, [_ | rest]) when is_integer(n) and n > 0, do: nthtail(n - 1, rest)

  defpure sublist(list, n) when is_list(list) and is_integer(n) and n >= 0, do: Walk.take_first(list, n, [])

  defpure sublist(list, start, n) when is_list(list) and start >= 1 and length(list) >= start - 1,
    do: sublist(nthtail(start - 1, list), n)

  defpure split(n, list) when is_list(list) and is_integer(n) and n >= 0 do
    {first, rest} = Walk.split_at(list, n, [])
    # There must be as many.
    ^n = length(first)
    {first, rest}
  end

  defpure prefix(prefix, list), do: List.starts_with?(list, prefix)
  defpure suffix(suffix, list), do: Lists.ends_with?(list, suffix)

  # -- numbers and order ---------------------------------------------------------------------------------------

  defpure seq(first, last) when is_integer(first) and is_integer(last) and first - 1 <= last,
    do: Enum.to_list(first..last//1)

  defpure seq(first, last, step)
          when is_integer(first) and is_integer(last) and is_integer(step) and
                 ((step > 0 and first - step <= last) or (step < 0 and first - step >= last)),
          do: Enum.to_list(first..last//step)

  defpure sum(list) when is_list(list), do: Enum.sum(list)
  defpure greatest([_ | _] = list), do: Walk.max(list)
  defpure least([_ | _] = list), do: Walk.min(list)
  defpure usort(list), do: distinct(:lists.sort(list), [])

  # The first of those that are equal.
  defpure distinct([], done), do: Enum.reverse(done)
  defpure distinct([x | rest], [y | _] = done) when x == y, do: distinct(rest, done)
  defpure distinct([x | rest], done), do: distinct(rest, [x | done])

  # -- several lists -------------------------------------------------------------------------------------------

  defpure zip(xs, ys) when length(xs) == length(ys), do: Walk.pairs(xs, ys, [])
  defpure unzip(pairs) when is_list(pairs), do: Walk.unzip(pairs)

  # -- of tuples with a key ------------------------------------------------------------------------------------

  defpure keyfind(key, n, list) when is_integer(n) and n > 0, do: List.keyfind(list, key, n - 1, false)
  defpure keymember(key, n, list) when is_integer(n) and n > 0, do: List.keymember?(list, key, n - 1)
  defpure keydelete(key, n, list) when is_integer(n) and n > 0, do: List.keydelete(list, key, n - 1)

  defpure keyreplace(key, n, list, new) when n > 0 and is_tuple(new),
    do: List.keyreplace(list, key, n - 1, new)

  defpure keystore(key, n, list, new) when n > 0 and is_tuple(new), do: List.keystore(list, key, n - 1, new)

  defpure keytake(key, n, list) when is_integer(n) and n > 0 do
    case List.keytake(list, key, n - 1) do
      nil -> false
      {found, rest} -> {:value, found, rest}
    end
  end
end
