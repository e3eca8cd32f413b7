defmodule Mote.Total.Maps do
  # The primitives on maps. Returns `@none` where there is no answer. Whatever goes through a map does so in the order of
  # its keys, as the machine does, and not in the BEAM's own, which differs between releases.
  @moduledoc false
  import Kernel, except: [map_size: 1, to_list: 1]
  import Mote.Total.Term, only: [is_value_map: 1]

  alias Mote.Total.{Enumerable, Term}

  @none Mote.Total.None.value()

  def map_of(parts) when is_tuple(parts) and rem(tuple_size(parts), 2) == 0 do
    # One after the other, as Elixir's own literals: of two zeros the first one stays the key.
    for [key, value] <- parts |> Tuple.to_list() |> Enum.chunk_every(2), reduce: %{} do
      map -> Map.put(map, key, value)
    end
  end

  def map_of(_), do: @none

  def map_get(map, key, default) when is_value_map(map) do
    case map do
      %{^key => value} -> value
      _ -> default
    end
  end

  def map_get(_, _, _), do: @none

  def map_fetch(map, key), do: map_get(map, key, @none)

  def map_put(map, key, value) when is_value_map(map), do: Map.put(map, key, value)
  def map_put(_, _, _), do: @none

  def map_update(map, key, value) when is_value_map(map) and is_map_key(map, key),
    do: Map.put(map, key, value)

  def map_update(_, _, _), do: @none

  def map_delete(map, key) when is_value_map(map), do: Map.delete(map, key)
  def map_delete(_, _), do: @none

  def map_has_key(map, key) when is_value_map(map), do: is_map_key(map, key)
  def map_has_key(_, _), do: @none

  def map_size(map) when is_value_map(map), do: :erlang.map_size(map)
  def map_size(_), do: @none

  def map_keys(map) when is_value_map(map), do: Term.sorted_keys(map)
  def map_keys(_), do: @none

  def map_values(map) when is_value_map(map), do: for({_, value} <- Term.sorted_pairs(map), do: value)
  def map_values(_), do: @none

  # Nothing is no list.
  def map_new(struct) when is_struct(struct), do: struct |> Enumerable.elements() |> map_new()
  def map_new(map) when is_value_map(map), do: map

  def map_new(pairs) when length(pairs) >= 0 do
    if Enum.all?(pairs, &match?({_, _}, &1)), do: Map.new(pairs), else: @none
  end

  def map_new(_), do: @none

  def map_merge(a, b) when is_value_map(a) and is_value_map(b), do: Map.merge(a, b)
  def map_merge(_, _), do: @none

  def to_list(map) when is_value_map(map), do: Term.sorted_pairs(map)
  def to_list(_), do: @none
end
