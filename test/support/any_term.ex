defmodule Mote.AnyTerm do
  @moduledoc """
  Generates every kind of term there is, for round trips through a machine.
  """

  import StreamData

  @doc "Terms of all kinds, nested; `addresses` are some of the leaves."
  def term(addresses) do
    # Beyond some size terms do not get more interesting.
    addresses |> leaf() |> nested() |> scale(&min(&1, 300))
  end

  defp nested(leaf) do
    tree(leaf, fn inner ->
      frequency([
        {3, list_of(inner)},
        {3, map(list_of(inner, max_length: 6), &List.to_tuple/1)},
        {2, map_of(inner, inner, max_length: 4)},
        {1, map({list_of(inner, min_length: 1), inner}, fn {list, tail} -> improper(list, tail) end)},
        {1, map(inner, fn captured -> fn -> captured end end)}
      ])
    end)
  end

  defp leaf(addresses) do
    frequency([
      {4, integer()},
      {2, member_of([2 ** 62, 2 ** 62 - 1, -(2 ** 62), -(2 ** 62) - 1, 2 ** 63, -(2 ** 63), 2 ** 64])},
      {1, map(integer(), &(&1 * 3 ** 90))},
      {1, map(integer(0..20_000), &(1 - 2 ** &1))},
      {2, float()},
      {1, member_of([0.0, -0.0, 1.0e308, 5.0e-324, -1.0e-300, 1.0])},
      {3, atom(:alphanumeric)},
      {1, member_of([nil, true, :undefined, :日本語, :"with space", :"", :é, [], {}, %{}, ""])},
      {3, binary()},
      {1, map(integer(0..9_000), &:binary.copy("x", &1))},
      {2, bitstring()},
      {1, map(constant([]), fn _ -> make_ref() end)},
      {1, member_of([self(), :c.pid(0, 0, 0), hd(Port.list()), &String.length/1, &Enum.map/2])},
      {1, member_of([external_pid(), external_reference()])},
      {3, member_of(addresses)}
    ])
  end

  defp improper(list, []), do: list
  defp improper(list, tail), do: Enum.reduce(Enum.reverse(list), tail, &[&1 | &2])

  @doc "A pid of a node that does not exist."
  def external_pid,
    do: :erlang.binary_to_term(<<131, 88, 119, 4, "a@bc", 1::32, 2::32, 3::32>>)

  @doc "A reference of a node that does not exist."
  def external_reference,
    do: :erlang.binary_to_term(<<131, 90, 3::16, 119, 4, "a@bc", 3::32, 1::32, 2::32, 3::32>>)
end
