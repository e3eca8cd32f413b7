defmodule Mote.Prelude.Lists do
  # Functions of Erlang's `lists` that are not written in Erlang, and one that is slower there. The others are had from their own
  # definitions (`Mote.Behaviour.Imports`).
  @moduledoc false
  use Mote.Behaviour

  defpure reverse(list) when is_list(list), do: Enum.reverse(list)
  defpure reverse(list, tail) when is_list(list), do: Enum.reverse(list) ++ tail
  defpure member(x, list) when is_list(list), do: Enum.member?(list, x)
  # Of Function. This module calls no other one, so all of them can call it.
  defpure identity(x), do: x
  # For templates of `Mote.Prelude.Inline.Lists`.
  defpure appended([], all), do: all
  defpure appended([list | rest], all), do: appended(rest, list ++ all)

  defpure unzip(pairs) when is_list(pairs), do: unpaired(Enum.reverse(pairs), [], [])

  defpurep unpaired([], xs, ys), do: {xs, ys}
  defpurep unpaired([{x, y} | rest], xs, ys), do: unpaired(rest, [x | xs], [y | ys])

  defpure keyfind(key, n, list) when is_integer(n) and n > 0, do: found(list, key, n - 1)
  defpure keymember(key, n, list) when is_integer(n) and n > 0, do: found(list, key, n - 1) != false

  defpurep found([], _, _), do: false
  defpurep found([{k, _} = pair | rest], key, 0), do: if(k == key, do: pair, else: found(rest, key, 0))

  defpurep found([x | rest], key, place) do
    if is_tuple(x) and tuple_size(x) > place and elem(x, place) == key, do: x, else: found(rest, key, place)
  end
end
