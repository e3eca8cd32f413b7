defmodule StreamData.Recursive do
  @moduledoc """
  Generators of nested values, behind the functions of the same names in `StreamData`.
  """

  import StreamData, only: [sized: 1, resize: 2, integer: 1, bind: 2, one_of: 1, frequency: 1]

  @doc """
  A value nested to any depth: `subtree_fun` gets a generator of what is below, and returns one of a level above it.

  About as many leaves are generated as the size says, as long as `subtree_fun` uses lists and the like. Shrinks
  towards a leaf.
  """
  @spec tree(StreamData.t(a), (StreamData.t(a | b) -> StreamData.t(b))) :: StreamData.t(a | b)
        when a: var, b: var
  def tree(leaf_data, subtree_fun) when is_function(subtree_fun, 1) do
    sized(fn size -> node(resize(leaf_data, size), subtree_fun, size) end)
  end

  defp node(leaf, _subtree_fun, budget) when budget < 2, do: leaf

  defp node(leaf, subtree_fun, budget) do
    # The budget of leaves is split in factors, one a level: wide and flat, or narrow and deep.
    subtree =
      bind(integer(1..floor(:math.log2(budget))), fn exponent ->
        width = Bitwise.bsl(1, exponent)
        below = sized(fn _size -> node(leaf, subtree_fun, div(budget, width)) end)
        resize(subtree_fun.(below), width)
      end)

    frequency([{1, leaf}, {3, subtree}])
  end

  @doc """
  Any term made of atoms, numbers, bitstrings, lists, tuples and maps.
  """
  @spec term() :: StreamData.t(term)
  def term do
    scalars =
      one_of([
        StreamData.boolean(),
        StreamData.integer(),
        StreamData.float(),
        StreamData.atom(:alphanumeric),
        StreamData.binary(),
        StreamData.string(:printable),
        StreamData.bitstring()
      ])

    tree(scalars, fn below ->
      one_of([
        StreamData.list_of(below),
        StreamData.map(StreamData.list_of(below), &List.to_tuple/1),
        StreamData.map_of(below, below)
      ])
    end)
  end
end
