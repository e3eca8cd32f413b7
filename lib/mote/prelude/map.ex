defmodule Mote.Prelude.Map do
  # Functions of Map that take no functions, as far as they are no primitives.
  @moduledoc false
  use Mote.Behaviour

  defpure drop(map, keys) when is_map(map) and is_list(keys),
    do: Enum.reduce(keys, map, fn key, map -> Map.delete(map, key) end)

  defpure drop(map, keys) when is_map(map), do: drop(map, Enum.to_list(keys))

  defpure take(map, keys) when is_map(map) and is_list(keys) do
    Enum.reduce(keys, %{}, fn key, taken ->
      if is_map_key(map, key), do: Map.put(taken, key, Map.fetch!(map, key)), else: taken
    end)
  end

  defpure take(map, keys) when is_map(map), do: take(map, Enum.to_list(keys))

  defpure split(map, keys), do: {take(map, keys), drop(map, keys)}

  defpure pop(map, key, default \\ nil),
    do: if(is_map_key(map, key), do: {Map.fetch!(map, key), Map.delete(map, key)}, else: {default, map})

  defpure pop!(map, key), do: {Map.fetch!(map, key), Map.delete(map, key)}
  defpure replace!(map, key, value), do: %{map | key => value}
  defpure replace(map, key, value), do: if(is_map_key(map, key), do: Map.put(map, key, value), else: map)
  defpure from_keys(keys, value) when is_list(keys), do: Map.new(for(key <- keys, do: {key, value}))
  defpure from_struct(%_{} = struct), do: Map.delete(struct, :__struct__)
  defpure equal?(a, b) when is_map(a) and is_map(b), do: a === b

  defpure intersect(a, b) when is_map(a) and is_map(b),
    do: Map.new(for({key, value} <- Map.to_list(b), is_map_key(a, key), do: {key, value}))
end
