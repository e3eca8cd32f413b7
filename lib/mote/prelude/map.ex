defmodule Mote.Prelude.Map do
  # Functions of Map that take no functions, as far as they are no primitives.
  @moduledoc false
  use Mote.Behaviour, import: [Map]

  require Mote.Prelude

  defpure drop(map, keys) when is_map(map),
    do: Enum.reduce(Enum.to_list(keys), map, fn key, map -> Map.delete(map, key) end)

  defpure pop(map, key, default \\ nil),
    do: if(is_map_key(map, key), do: {Map.fetch!(map, key), Map.delete(map, key)}, else: {default, map})

  defpure intersect(a, b) when is_map(a) and is_map(b),
    do: Map.new(for({key, value} <- Map.to_list(b), is_map_key(a, key), do: {key, value}))

  Mote.Prelude.released()
end
