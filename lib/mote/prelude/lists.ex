defmodule Mote.Prelude.Lists do
  # Functions of Erlang's `lists` that are not written in Erlang, and one that is slower there. The others are had from their own
  # definitions (`Mote.Behaviour.Imports`).
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Enum, as: Walk

  defpure reverse(list) when is_list(list), do: Enum.reverse(list)
  defpure reverse(list, tail) when is_list(list), do: Enum.reverse(list) ++ tail
  defpure member(x, list) when is_list(list), do: Enum.member?(list, x)
  # For templates of `Mote.Prelude.Inline.Lists`.
  defpure appended([], all), do: all
  defpure appended([list | rest], all), do: appended(rest, list ++ all)
  defpure unzip(pairs) when is_list(pairs), do: Walk.unzip(pairs)
  defpure keyfind(key, n, list) when is_integer(n) and n > 0, do: List.keyfind(list, key, n - 1, false)
  defpure keymember(key, n, list) when is_integer(n) and n > 0, do: List.keymember?(list, key, n - 1)
end
