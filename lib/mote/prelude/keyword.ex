defmodule Mote.Prelude.Keyword do
  # Functions of Keyword that take no functions.
  @moduledoc false
  use Mote.Behaviour

  defpure get(list, key), do: get(list, key, nil)
  defpure get([], key, default) when is_atom(key), do: default
  defpure get([{k, value} | _], key, _) when k === key and is_atom(key), do: value
  defpure get([_ | rest], key, default), do: get(rest, key, default)

  defpure fetch([], key) when is_atom(key), do: :error
  defpure fetch([{k, value} | _], key) when k === key and is_atom(key), do: {:ok, value}
  defpure fetch([_ | rest], key), do: fetch(rest, key)

  defpure fetch!(list, key), do: elem(fetch(list, key), 1)

  defpure has_key?([], key) when is_atom(key), do: false
  defpure has_key?([{k, _} | _], key) when k === key and is_atom(key), do: true
  defpure has_key?([_ | rest], key), do: has_key?(rest, key)

  defpure delete(list, key) when is_list(list) and is_atom(key),
    do: for(pair <- list, elem(pair, 0) !== key, do: pair)

  defpure put(list, key, value), do: [{key, value} | delete(list, key)]
  defpure put_new(list, key, value), do: if(has_key?(list, key), do: list, else: [{key, value} | list])
  defpure keys(list) when is_list(list), do: Enum.map(list, fn {key, _} when is_atom(key) -> key end)
  defpure values(list) when is_list(list), do: Enum.map(list, fn {key, value} when is_atom(key) -> value end)

  defpure get_values(list, key) when is_list(list) and is_atom(key),
    do: for(pair <- list, elem(pair, 0) === key, do: elem(pair, 1))

  defpure take(list, keys) when is_list(list) and is_list(keys),
    do: for(pair <- list, elem(pair, 0) in keys, do: pair)

  defpure drop(list, keys) when is_list(list) and is_list(keys),
    do: for(pair <- list, elem(pair, 0) not in keys, do: pair)

  defpure merge(a, b) when is_list(a) and is_list(b) do
    # Aborts where it is no keyword list.
    _ = keys(b)
    for(pair <- a, not has_key?(b, elem(pair, 0)), do: pair) ++ b
  end

  defpure pop(list, key), do: pop(list, key, nil)

  defpure pop(list, key, default),
    do: if(has_key?(list, key), do: {get(list, key), delete(list, key)}, else: {default, list})
end
