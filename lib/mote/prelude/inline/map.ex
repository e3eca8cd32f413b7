defmodule Mote.Prelude.Inline.Map do
  # Functions of Map that take functions, as templates. They go through a map in the order of its keys.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate filter(map, fun), do: reject(map, fn pair -> !fun.(pair) end)

  deftemplate reject(map, fun) when is_map(map),
    do: for({key, _} = pair <- Map.to_list(map), fun.(pair), reduce: map, do: (left -> Map.delete(left, key)))

  deftemplate merge(a, b, fun) when is_map(a) and is_map(b) do
    for {key, new} <- Map.to_list(b), reduce: a do
      map -> Map.put(map, key, if(is_map_key(map, key), do: fun.(key, Map.fetch!(map, key), new), else: new))
    end
  end

  deftemplate put_new_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: map, else: Map.put(map, key, fun.()))

  deftemplate get_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: Map.fetch!(map, key), else: fun.())

  deftemplate split_with(map, fun) when is_map(map) do
    {yes, no} = Enum.split_with(Map.to_list(map), fn pair -> fun.(pair) end)
    {Map.new(yes), Map.new(no)}
  end

  deftemplate intersect(a, b, fun) when is_map(a) and is_map(b) do
    common =
      for {key, old} <- Map.to_list(a), is_map_key(b, key), do: {key, fun.(key, old, Map.fetch!(b, key))}

    Map.new(common)
  end

  deftemplate replace_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: Map.put(map, key, fun.(Map.fetch!(map, key))), else: map)

  deftemplate pop_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: {Map.fetch!(map, key), Map.delete(map, key)}, else: {fun.(), map})

  deftemplate get_and_update(map, key, fun), do: updated(map, key, Map.get(map, key), fun)
  deftemplate get_and_update!(map, key, fun), do: updated(map, key, Map.fetch!(map, key), fun)

  deftemplate updated(map, key, old, fun) do
    case fun.(old) do
      {got, value} -> {got, Map.put(map, key, value)}
      :pop -> Mote.Prelude.Map.pop(map, key)
    end
  end
end
