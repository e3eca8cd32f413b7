defmodule Mote.Prelude.Inline.Map do
  # Functions of Map that take functions, as templates. They go through a map in the order of its keys.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate filter(map, fun) when is_map(map), do: chosen(Map.to_list(map), map, fun)

  deftemplate chosen([], map, fun), do: map

  deftemplate chosen([{key, _} = pair | rest], map, fun),
    do: chosen(rest, if(fun.(pair), do: map, else: Map.delete(map, key)), fun)

  deftemplate reject(map, fun) when is_map(map), do: left(Map.to_list(map), map, fun)

  deftemplate left([], map, fun), do: map

  deftemplate left([{key, _} = pair | rest], map, fun),
    do: left(rest, if(fun.(pair), do: Map.delete(map, key), else: map), fun)

  deftemplate merge(a, b, fun) when is_map(a) and is_map(b), do: merged(Map.to_list(b), a, fun)

  deftemplate merged([], map, fun), do: map

  deftemplate merged([{key, new} | rest], map, fun) do
    value = if is_map_key(map, key), do: fun.(key, Map.fetch!(map, key), new), else: new
    merged(rest, Map.put(map, key, value), fun)
  end

  deftemplate put_new_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: map, else: Map.put(map, key, fun.()))

  deftemplate get_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: Map.fetch!(map, key), else: fun.())

  deftemplate split_with(map, fun) when is_map(map), do: parted(Map.to_list(map), [], [], fun)

  deftemplate parted([], yes, no, fun), do: {Map.new(yes), Map.new(no)}

  deftemplate parted([pair | rest], yes, no, fun) do
    if fun.(pair), do: parted(rest, [pair | yes], no, fun), else: parted(rest, yes, [pair | no], fun)
  end

  deftemplate intersect(a, b, fun) when is_map(a) and is_map(b), do: common(Map.to_list(a), b, [], fun)

  deftemplate common([], b, pairs, fun), do: Map.new(pairs)

  deftemplate common([{key, old} | rest], b, pairs, fun) do
    pairs = if is_map_key(b, key), do: [{key, fun.(key, old, Map.fetch!(b, key))} | pairs], else: pairs
    common(rest, b, pairs, fun)
  end

  deftemplate replace_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: Map.put(map, key, fun.(Map.fetch!(map, key))), else: map)

  deftemplate pop_lazy(map, key, fun),
    do: if(is_map_key(map, key), do: {Map.fetch!(map, key), Map.delete(map, key)}, else: {fun.(), map})

  deftemplate get_and_update(map, key, fun) do
    case fun.(Map.get(map, key)) do
      {got, value} -> {got, Map.put(map, key, value)}
      :pop -> Mote.Prelude.Map.pop(map, key)
    end
  end

  deftemplate get_and_update!(map, key, fun) do
    case fun.(Map.fetch!(map, key)) do
      {got, value} -> {got, Map.put(map, key, value)}
      :pop -> Mote.Prelude.Map.pop(map, key)
    end
  end
end
