defmodule Mote.Prelude.MapSet do
  # Functions of MapSet that take no functions. A set is the struct that it is in Elixir, a map whose keys are its members.
  @moduledoc false
  use Mote.Behaviour

  defpure new(), do: %MapSet{}
  defpure new(source), do: with_members(new(), Enum.to_list(source))

  defpure with_members(%MapSet{map: map} = set, members),
    do: %{set | map: Map.merge(map, Map.new(for(x <- members, do: {x, []})))}

  defpure put(%MapSet{map: map} = set, member), do: %{set | map: Map.put(map, member, [])}
  defpure delete(%MapSet{map: map} = set, member), do: %{set | map: Map.delete(map, member)}
  defpure member?(%MapSet{map: map}, member), do: is_map_key(map, member)
  defpure size(%MapSet{map: map}), do: map_size(map)
  defpure to_list(%MapSet{map: map}), do: Map.keys(map)
  defpure equal?(%MapSet{map: a}, %MapSet{map: b}), do: a === b
  defpure union(%MapSet{map: a} = set, %MapSet{map: b}), do: %{set | map: Map.merge(a, b)}

  defpure intersection(%MapSet{map: a} = set, %MapSet{map: b}),
    do: %{set | map: Map.new(for(x <- Map.keys(a), is_map_key(b, x), do: {x, []}))}

  defpure difference(%MapSet{map: a} = set, %MapSet{map: b}),
    do: %{set | map: Enum.reduce(Map.keys(b), a, fn x, left -> Map.delete(left, x) end)}

  defpure symmetric_difference(a, b), do: union(difference(a, b), difference(b, a))

  defpure subset?(%MapSet{map: a}, %MapSet{map: b}),
    do: map_size(a) <= map_size(b) and all_in?(Map.keys(a), b)

  defpure all_in?([], _), do: true
  defpure all_in?([x | rest], map), do: if(is_map_key(map, x), do: all_in?(rest, map), else: false)

  defpure disjoint?(%MapSet{map: a}, %MapSet{map: b}), do: none_in?(Map.keys(a), b)

  defpure none_in?([], _), do: true
  defpure none_in?([x | rest], map), do: if(is_map_key(map, x), do: false, else: none_in?(rest, map))
end
