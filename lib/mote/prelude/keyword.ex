defmodule Mote.Prelude.Keyword do
  # Functions of Keyword that take no functions.
  @moduledoc false
  use Mote.Behaviour, import: [Keyword]

  require Mote.Prelude

  defpure fetch([], key) when is_atom(key), do: :error
  defpure fetch([{k, value} | _], key) when k === key and is_atom(key), do: {:ok, value}
  defpure fetch([_ | rest], key), do: fetch(rest, key)

  defpure has_key?([], key) when is_atom(key), do: false
  defpure has_key?([{k, _} | _], key) when k === key and is_atom(key), do: true
  defpure has_key?([_ | rest], key), do: has_key?(rest, key)

  # The list without the key, before which there are pairs.
  defpure popped([], _, before), do: Enum.reverse(before)
  defpure popped([{k, _} | rest], key, before) when k === key, do: Enum.reverse(before) ++ delete(rest, key)
  defpure popped([{_, _} = pair | rest], key, before), do: popped(rest, key, [pair | before])

  # -- all of it -----------------------------------------------------------------------------------------------

  defpure new(source), do: unique(Enum.reverse(Enum.to_list(source)), %{}, [])

  # The last of each key's values, from the end on.
  defpure unique([], _, pairs), do: pairs

  defpure unique([{key, value} | rest], seen, pairs) when is_atom(key) do
    if is_map_key(seen, key),
      do: unique(rest, seen, pairs),
      else: unique(rest, Map.put(seen, key, true), [{key, value} | pairs])
  end

  # With the values of the second list.
  defpure intersect(a, b) when is_list(a) and is_list(b), do: common(a, b, [])

  defpure common([], _, done), do: Enum.reverse(done)

  defpure common([{key, _} | rest], b, done) do
    case fetch(b, key) do
      {:ok, value} -> common(rest, b, [{key, value} | done])
      :error -> common(rest, b, done)
    end
  end

  defpure get(list, key, default \\ nil)
  defpure get([], key, default) when is_atom(key), do: default
  defpure get([{k, value} | _], key, _) when k === key and is_atom(key), do: value
  defpure get([_ | rest], key, default), do: get(rest, key, default)

  defpure put_new(list, key, value), do: if(has_key?(list, key), do: list, else: [{key, value} | list])

  Mote.Prelude.released()
end
