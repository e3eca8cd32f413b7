defmodule Mote.Chaos.Terms do
  @moduledoc "Terms as data, and what is found in terms."

  alias Mote.Chaos.Pool

  @doc "Makes a term; always the same, but for the addresses in it."
  def make(term)
  def make({:int, n}), do: n
  def make({:list, n}), do: Enum.to_list(1..n)
  def make({:improper, n}), do: Enum.reduce(1..n, :end, &[&1 | &2])
  def make({:map, n}), do: Map.new(1..n, &{&1, -&1})
  def make({:binary, n}), do: :binary.copy(<<rem(n, 256)>>, n)
  def make({:part, n}), do: binary_part(:binary.copy("part", n), n, 3 * n)
  def make({:vector, n}), do: Mote.Vector.new(:f64, for(i <- 1..n, do: rem(i * 7919, 10_007) * 0.5))
  def make({:nested, n}), do: Enum.reduce(1..n, 0, &%{&1 => {&2, [&1]}})
  def make({:addresses, i, n}), do: for(k <- 1..n, do: Pool.pick(:any, i + k))

  def make({:opaque, i}) do
    case rem(i, 6) do
      0 -> fn -> i end
      1 -> make_ref()
      2 -> self()
      3 -> if(rem(i, 12) == 3, do: 1, else: -1) * 7 ** (20 + rem(i, 2_000))
      4 -> <<i::13>>
      5 -> {Pool.pick(:timer, i), Pool.pick(:outbox, i), Pool.pick(:future, i)}
    end
  end

  @doc "The addresses that are in a term."
  def addresses(%Mote.Address{} = address), do: [address]
  def addresses(tuple) when is_tuple(tuple), do: addresses(Tuple.to_list(tuple))
  def addresses(%_{}), do: []
  def addresses(map) when is_map(map), do: addresses(Map.to_list(map))
  def addresses([head | tail]), do: addresses(head) ++ addresses(tail)
  def addresses(_), do: []
end
