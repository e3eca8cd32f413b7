defmodule Mote.Prelude.Access do
  # `container[key]`, of maps, keyword lists and nil. A struct has no such access.
  @moduledoc false
  use Mote.Behaviour, import: [Access]

  require Mote.Prelude

  alias Mote.Prelude.Keyword, as: Pairs

  defpure get(container, key), do: get(container, key, nil)

  defpure get(nil, _, default), do: default
  defpure get(list, key, default) when is_list(list), do: Pairs.get(list, key, default)
  defpure get(map, key, default) when not is_struct(map), do: Map.get(map, key, default)

  defpure fetch(nil, _), do: :error
  defpure fetch(list, key) when is_list(list), do: Pairs.fetch(list, key)
  defpure fetch(map, key) when not is_struct(map), do: Map.fetch(map, key)

  defpure fetch!(container, key), do: elem(fetch(container, key), 1)

  defpure pop(list, key) when is_list(list), do: Pairs.pop(list, key)
  defpure pop(map, key) when not is_struct(map), do: Mote.Prelude.Map.pop(map, key)

  # What lies in a container that is to be changed: there must be one before anything is made of it.
  defpure held(container, key) when container != nil, do: get(container, key)

  # What a function in a path takes out: a list has pairs before it.
  defpure popped(list, key) when is_list(list), do: {Pairs.get(list, key), Pairs.popped(list, key, [])}
  defpure popped(map, key), do: pop(map, key)

  # The key's value is another one; of a keyword list the first, and the others go. What comes before it are pairs.
  defpure put(list, key, value) when is_list(list) and is_atom(key), do: put(list, key, value, [], list)

  defpure put(map, key, value) when is_map(map) and not is_struct(map),
    do: Map.put(map, key, value)

  defpurep put([], key, value, _, list), do: [{key, value} | list]

  defpurep put([{k, _} | rest], key, value, before, _) when k === key,
    do: Enum.reverse(before) ++ [{key, value} | Pairs.delete(rest, key)]

  defpurep put([{_, _} = pair | rest], key, value, before, list),
    do: put(rest, key, value, [pair | before], list)

  # What `fun` makes of the key's value, as `get_and_update_in` wants it.
  defpure changed(container, key, fun) when is_function(fun) do
    case fun.(held(container, key)) do
      {got, new} -> {got, put(container, key, new)}
      :pop -> popped(container, key)
    end
  end

  Mote.Prelude.released()
end
