defmodule Mote.Prelude.Keyword do
  # Functions of Keyword that take no functions.
  @moduledoc false
  use Mote.Behaviour

  defpure get(list, key), do: get(list, key, nil)
  defpure get([], _, default), do: default
  defpure get([{k, value} | _], key, _) when k === key, do: value
  defpure get([_ | rest], key, default), do: get(rest, key, default)

  defpure fetch([], _), do: :error
  defpure fetch([{k, value} | _], key) when k === key, do: {:ok, value}
  defpure fetch([_ | rest], key), do: fetch(rest, key)

  defpure fetch!(list, key), do: elem(fetch(list, key), 1)

  defpure has_key?([], _), do: false
  defpure has_key?([{k, _} | _], key) when k === key, do: true
  defpure has_key?([_ | rest], key), do: has_key?(rest, key)

  defpure delete(list, key), do: for({k, value} <- list, k !== key, do: {k, value})
  defpure put(list, key, value), do: [{key, value} | delete(list, key)]
  defpure put_new(list, key, value), do: if(has_key?(list, key), do: list, else: [{key, value} | list])
  defpure keys(list), do: for({key, _} <- list, do: key)
  defpure values(list), do: for({_, value} <- list, do: value)
  defpure get_values(list, key), do: for({k, value} <- list, k === key, do: value)
  defpure take(list, keys), do: for({k, value} <- list, k in keys, do: {k, value})
  defpure drop(list, keys), do: for({k, value} <- list, k not in keys, do: {k, value})
  defpure merge(a, b), do: for({k, value} <- a, not has_key?(b, k), do: {k, value}) ++ b

  defpure pop(list, key), do: pop(list, key, nil)

  defpure pop(list, key, default),
    do: if(has_key?(list, key), do: {get(list, key), delete(list, key)}, else: {default, list})
end
