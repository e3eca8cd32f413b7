defmodule Benchee.Format do
  @moduledoc """
  Numbers with the unit that suits them.
  """

  @times [{3_600_000_000_000, "h"}, {60_000_000_000, "min"}, {1_000_000_000, "s"}] ++
           [{1_000_000, "ms"}, {1000, "μs"}, {1, "ns"}]
  @counts [{1_000_000_000, " B"}, {1_000_000, " M"}, {1000, " K"}, {1, ""}]

  @doc """
  The unit of time (its nanoseconds and its name) that suits `nanoseconds`.
  """
  @spec time_unit(number) :: {pos_integer, String.t()}
  def time_unit(nanoseconds), do: unit(@times, nanoseconds)

  @doc """
  The unit of counting that suits `count`.
  """
  @spec count_unit(number) :: {pos_integer, String.t()}
  def count_unit(count), do: unit(@counts, count)

  defp unit(units, number) do
    Enum.find(units, List.last(units), fn {size, _name} -> abs(number) >= size end)
  end

  @doc """
  A time in nanoseconds for people, in its best or in a given unit.
  """
  @spec time(number, {pos_integer, String.t()} | nil) :: String.t()
  def time(nanoseconds, unit \\ nil) do
    {size, name} = unit || time_unit(nanoseconds)
    "#{decimals(nanoseconds / size)} #{name}"
  end

  @doc """
  A configured time, without decimals that say nothing.
  """
  @spec duration(non_neg_integer) :: String.t()
  def duration(nanoseconds) do
    {size, name} = time_unit(nanoseconds)

    if rem(nanoseconds, size) == 0,
      do: "#{div(nanoseconds, size)} #{name}",
      else: time(nanoseconds, {size, name})
  end

  @doc """
  A count in a given unit.
  """
  @spec count(number, {pos_integer, String.t()}) :: String.t()
  def count(count, {size, name}), do: decimals(count / size) <> name

  @doc """
  Two decimals, more for small numbers.
  """
  @spec decimals(number) :: String.t()
  def decimals(number) do
    places = if abs(number) < 0.01 and number != 0, do: 5, else: 2
    :erlang.float_to_binary(number * 1.0, decimals: places)
  end
end
