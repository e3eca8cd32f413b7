defmodule Mote.PreludeCases do
  @moduledoc """
  Calls of the functions that behaviours can call, as text, for the property that compares them with Elixir's own.

  The name of a variable says what it is: see `Mote.PreludeCases.Variables`.
  """

  @cases [__MODULE__.Containers, __MODULE__.Enum, __MODULE__.Primitives, __MODULE__.Scalars]
         |> Enum.map(& &1.cases())
         |> Enum.reduce(&Map.merge/2)

  @doc "The names of the groups."
  def groups, do: @cases |> Map.keys() |> Enum.sort()

  @doc "The cases of a group."
  def of(group), do: @cases |> Map.fetch!(group) |> String.split("\n", trim: true)

  @doc "All cases."
  def all, do: Enum.flat_map(groups(), &of/1)
end
