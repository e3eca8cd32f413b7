defmodule Mote.Prelude.Differences do
  # How far two lists or two texts are apart: functions of List and String.
  @moduledoc false
  use Mote.Behaviour, import: [List, String]

  require Mote.Prelude

  alias Mote.Prelude.Characters

  # As the newest releases have it; earlier ones return 0.0.
  defpure bag_distance("", ""), do: 1.0
  defpure bag_distance(_, ""), do: 0.0
  defpure bag_distance("", _), do: 0.0

  defpure bag_distance(text1, text2) do
    {characters1, characters2} = {Characters.graphemes(text1), Characters.graphemes(text2)}
    {bag1, bag2} = {Enum.frequencies(characters1), Enum.frequencies(characters2)}
    1 - max(beyond(bag1, bag2), beyond(bag2, bag1)) / max(length(characters1), length(characters2))
  end

  # How many of one bag are not in the other one.
  defpure beyond(bag, other),
    do: Enum.reduce(bag, 0, fn {character, n}, sum -> sum + max(n - Map.get(other, character, 0), 0) end)

  Mote.Prelude.released()
end
