defmodule Mote.Prelude.Maps do
  # Functions of Erlang's `maps` without functions as arguments.
  @moduledoc false
  use Mote.Behaviour

  defpure get(key, map), do: Map.fetch!(map, key)
  defpure put(key, value, map), do: Map.put(map, key, value)
  defpure update(key, value, map), do: %{map | key => value}
  defpure remove(key, map), do: Map.delete(map, key)
  defpure has_key(key, map), do: Map.has_key?(map, key)
  defpure size_of(map), do: map_size(map)
  defpure keys(map), do: Map.keys(map)
  defpure values(map), do: Map.values(map)
  defpure merge(a, b), do: Map.merge(a, b)
  defpure to_list(map), do: Map.to_list(map)
  defpure from_list(pairs) when is_list(pairs), do: Map.new(pairs)
  defpure from_keys(keys, value) when is_list(keys), do: Map.new(for(key <- keys, do: {key, value}))

  defpure find(key, map) do
    case Map.fetch(map, key) do
      {:ok, value} -> {:ok, value}
      :error -> :error
    end
  end

  defpure take(key, map) do
    if is_map_key(map, key), do: {Map.fetch!(map, key), Map.delete(map, key)}, else: taken_none(map)
  end

  defpure taken_none(map) when is_map(map), do: :error
end
