defmodule Mote.Total.Enumerable do
  # What loops and functions of Enum go through: lists, maps, and the structs MapSet and Range. Returns `@none` where there is no
  # answer, as of any other struct.
  @moduledoc false
  import Mote.Total.Term, only: [is_value_map: 1]

  alias Mote.Total.{Integers, Maps, Term}

  @none Mote.Total.None.value()

  # Nearer ranges are calculated in 128 bits, for nothing: 2^100.
  @farthest 0x10000000000000000000000000

  defguardp is_near(n) when n >= -@farthest and n <= @farthest

  @doc "Returns whether a struct is a range that the BEAM takes for one."
  defguard is_range(first, last, step)
           when is_integer(first) and is_integer(last) and is_integer(step) and step != 0

  @doc "Returns whether the bounds and the step of a range need no integers of any size."
  defguard is_near(first, last, step) when is_near(first) and is_near(last) and is_near(step)

  def elements(%Range{first: first, last: last, step: step}) when is_range(first, last, step),
    do: if(numbers?([first, last, step]), do: Enum.to_list(first..last//step), else: @none)

  def elements(%MapSet{map: map}) when is_value_map(map), do: Term.sorted_keys(map)
  def elements(struct) when is_struct(struct), do: @none
  def elements(list) when is_list(list), do: list
  def elements(other), do: Maps.to_list(other)

  def member(value, list) when is_list(list), do: listed(value, list)

  def member(value, %Range{first: first, last: last, step: step}) when is_range(first, last, step),
    do: if(numbers?([first, last, step]), do: held?(value, first..last//step), else: @none)

  def member(value, %MapSet{map: map}) when is_value_map(map), do: is_map_key(map, value)
  def member(_, struct) when is_struct(struct), do: @none
  def member(value, map) when is_value_map(map), do: member(value, Maps.to_list(map))
  def member(_, _), do: @none

  # As far as it is searched, a list must be proper, whatever it ends with otherwise.
  defp listed(value, list) do
    :lists.member(value, list)
  rescue
    ArgumentError -> @none
  end

  defp held?(value, range), do: is_integer(value) and Integers.number?(value) and value in range

  defp numbers?(integers), do: Enum.all?(integers, &Integers.number?/1)
end
