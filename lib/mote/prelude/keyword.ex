defmodule Mote.Prelude.Keyword do
  # Functions of Keyword that take no functions.
  @moduledoc false
  use Mote.Behaviour

  defpure get(list, key, default \\ nil)
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

  # Without the key nothing else of the list is looked at.
  defpure delete(list, key) when is_list(list) and is_atom(key),
    do: if(member?(list, key), do: others(list, key, []), else: list)

  defpure member?([], _), do: false

  defpure member?([x | rest], key),
    do: if(is_tuple(x) and x != {} and elem(x, 0) === key, do: true, else: member?(rest, key))

  defpure others([], _, kept), do: Enum.reverse(kept)
  defpure others([{k, _} | rest], key, kept) when k === key, do: others(rest, key, kept)
  defpure others([{_, _} = pair | rest], key, kept), do: others(rest, key, [pair | kept])

  defpure put(list, key, value), do: [{key, value} | delete(list, key)]
  defpure put_new(list, key, value), do: if(has_key?(list, key), do: list, else: [{key, value} | list])
  defpure keys(list) when is_list(list), do: Enum.map(list, fn {key, _} when is_atom(key) -> key end)
  defpure values(list) when is_list(list), do: Enum.map(list, fn {_, value} -> value end)

  defpure get_values(list, key) when is_list(list) and is_atom(key),
    do: for(pair <- list, elem(pair, 0) === key, do: elem(pair, 1))

  defpure take(list, keys) when is_list(list) and is_list(keys),
    do: for(pair <- list, elem(pair, 0) in keys, do: pair)

  defpure drop(list, keys) when is_list(list) and is_list(keys),
    do: for(pair <- list, elem(pair, 0) not in keys, do: pair)

  defpure merge(a, []) when is_list(a), do: a
  defpure merge([], b) when is_list(b), do: b

  defpure merge(a, b) when is_list(a) and is_list(b) do
    # Aborts where it is no keyword list.
    _ = keys(b)
    for(pair <- a, not has_key?(b, elem(pair, 0)), do: pair) ++ b
  end

  defpure pop(list, key, default \\ nil),
    do: if(has_key?(list, key), do: {get(list, key), delete(list, key)}, else: {default, list})

  # -- more of one key -----------------------------------------------------------------------------------------

  defpure pop!(list, key), do: {fetch!(list, key), delete(list, key)}

  defpure pop_values(list, key), do: {get_values(list, key), delete(list, key)}

  defpure pop_first(list, key, default \\ nil) when is_list(list) and is_atom(key) do
    if has_key?(list, key), do: {get(list, key), delete_first(list, key)}, else: {default, list}
  end

  defpure delete_first(list, key) when is_list(list) and is_atom(key), do: without_first(list, key, [])

  defpure without_first([], _, before), do: Enum.reverse(before)
  defpure without_first([{k, _} | rest], key, before) when k === key, do: Enum.reverse(before) ++ rest
  defpure without_first([pair | rest], key, before), do: without_first(rest, key, [pair | before])

  # The list without the key, before which there are pairs.
  defpure popped([], _, before), do: Enum.reverse(before)
  defpure popped([{k, _} | rest], key, before) when k === key, do: Enum.reverse(before) ++ delete(rest, key)
  defpure popped([{_, _} = pair | rest], key, before), do: popped(rest, key, [pair | before])

  # In its place where the key is there, without the key's other values.
  defpure replace(list, key, value) when is_list(list) and is_atom(key), do: set(list, key, value, [], [])

  defpure replace!(list, key, value) do
    _ = fetch!(list, key)
    replace(list, key, value)
  end

  # The same, and at the end where the key is not there.
  defpure with_first(list, key, value) when is_list(list) and is_atom(key),
    do: set(list, key, value, [], [{key, value}])

  defpure set([], _, _, before, missing), do: Enum.reverse(before) ++ missing

  defpure set([{k, _} | rest], key, value, before, _) when k === key,
    do: Enum.reverse(before) ++ [{key, value} | delete(rest, key)]

  defpure set([{_, _} = pair | rest], key, value, before, missing),
    do: set(rest, key, value, [pair | before], missing)

  # -- all of it -----------------------------------------------------------------------------------------------

  defpure new(), do: []
  defpure new(source), do: unique(Enum.reverse(Enum.to_list(source)), %{}, [])

  # The last of each key's values, from the end on.
  defpure unique([], _, pairs), do: pairs

  defpure unique([{key, value} | rest], seen, pairs) when is_atom(key) do
    if is_map_key(seen, key),
      do: unique(rest, seen, pairs),
      else: unique(rest, Map.put(seen, key, true), [{key, value} | pairs])
  end

  defpure keyword?([]), do: true
  defpure keyword?([{key, _} | rest]) when is_atom(key), do: keyword?(rest)
  defpure keyword?(_), do: false

  defpure to_list(list) when is_list(list), do: list

  defpure equal?(a, b) when is_list(a) and is_list(b),
    do: Enum.sort(a) === Enum.sort(b)

  defpure from_keys(keys, value) when is_list(keys),
    do: Enum.map(keys, fn key when is_atom(key) -> {key, value} end)

  defpure split(list, keys), do: {take(list, keys), drop(list, keys)}

  # With the values of the second list.
  defpure intersect(a, b) when is_list(a) and is_list(b), do: common(a, b, [])

  defpure common([], _, done), do: Enum.reverse(done)

  defpure common([{key, _} | rest], b, done) do
    case fetch(b, key) do
      {:ok, value} -> common(rest, b, [{key, value} | done])
      :error -> common(rest, b, done)
    end
  end

  # -- what is allowed -----------------------------------------------------------------------------------------

  defpure validate!(list, allowed) do
    {:ok, valid} = validate(list, allowed)
    valid
  end

  defpure validate(list, allowed) when is_list(list) and is_list(allowed),
    do: validate(list, allowed, [], [], [])

  # Keys of `one` and of `two` may come; those that have come are in neither.
  defpure validate([], one, two, valid, []), do: {:ok, defaults(one, defaults(two, valid))}
  defpure validate([], _, _, _, unknown), do: {:error, unknown}

  defpure validate([{key, value} | rest], one, two, valid, unknown) when is_atom(key) do
    case without(key, one, two) || without(key, two, one) do
      {one, two} -> validate(rest, one, two, [{key, value} | valid], unknown)
      nil -> validate(rest, one, two, valid, [key | unknown])
    end
  end

  defpure without(_, [], _), do: nil
  defpure without(key, [allowed | rest], seen) when allowed === key, do: {rest, seen}
  defpure without(key, [{allowed, _} | rest], seen) when allowed === key, do: {rest, seen}
  defpure without(key, [allowed | rest], seen), do: without(key, rest, [allowed | seen])

  defpure defaults([], valid), do: valid
  defpure defaults([key | rest], valid) when is_atom(key), do: defaults(rest, valid)
  defpure defaults([{key, value} | rest], valid) when is_atom(key), do: defaults(rest, [{key, value} | valid])
end
