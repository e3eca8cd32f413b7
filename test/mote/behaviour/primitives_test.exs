defmodule Mote.Behaviour.PrimitivesTest do
  # The table of primitives, as the compiler reads it, and as the guide shows it.
  use ExUnit.Case, async: true

  alias Mote.Behaviour.Primitives

  test "the guide has the same table" do
    rows = for row <- Primitives.all(), do: {row.number, row.name, row.arity}
    assert guide() == rows
  end

  # `| 38 39 | hd tl | 1 | … |`, or `| 60 … 75 |` and as many names.
  defp guide do
    [table] = Regex.run(~r/^\| p \|.*?\n\n/ms, File.read!("guides/ir.md"))

    for "| " <> line <- table |> String.split("\n") |> Enum.drop(2),
        [numbers, names, arity, _meaning] = String.split(line, " | ", parts: 4),
        {number, name} <- Enum.zip(numbers(String.split(numbers)), String.split(names)),
        do: {number, String.to_atom(name), String.to_integer(arity)}
  end

  defp numbers([first, "…", last]), do: String.to_integer(first)..String.to_integer(last)
  defp numbers(each), do: Enum.map(each, &String.to_integer/1)

  test "each spelling means one primitive" do
    spellings = for row <- Primitives.all(), spelling <- row.spellings, do: {spelling, row.arity}
    assert spellings == Enum.uniq(spellings)
  end

  test "spellings are found" do
    assert Primitives.local(:-, 1) == :neg
    assert Primitives.remote(Kernel, :-, 2) == :sub
    assert Primitives.remote(:erlang, :"=:=", 2) == :same
    assert Primitives.remote(:math, :sqrt, 1) == :sqrt
    assert Primitives.remote(Mote.Vector, :sum, 1) == :vec_sum
    assert Primitives.remote(Enum, :sort, 1) == nil
  end
end
