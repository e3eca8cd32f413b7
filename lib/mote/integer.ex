defmodule Mote.Integer do
  @moduledoc """
  Arithmetic that wraps around at 64 bits, as needed for hashes and random number generators; for behaviours
  and for Elixir.

  Each function returns an integer of 0..2^64-1. `Mote.Integer.mul64(a, b)` is `a * b &&&
  0xFFFF_FFFF_FFFF_FFFF`, without the large integer in between.

      iex> Mote.Integer.add64(0xFFFF_FFFF_FFFF_FFFF, 2)
      1
      iex> Mote.Integer.sub64(0, 1)
      0xFFFF_FFFF_FFFF_FFFF

  Operands may be any integers, negative ones too: only their lowest 64 bits count, in two's complement.

      iex> Mote.Integer.mul64(-1, 3)
      0xFFFF_FFFF_FFFF_FFFD

  A step of a linear congruential generator:

      iex> defmodule Doc.Dice do
      ...>   use Mote.Behaviour
      ...>   defpure next(state) do
      ...>     state
      ...>     |> Mote.Integer.mul64(6_364_136_223_846_793_005)
      ...>     |> Mote.Integer.add64(1_442_695_040_888_963_407)
      ...>   end
      ...> end
      iex> Doc.Dice.next(Doc.Dice.next(1))
      9396908728118811419
  """

  import Bitwise

  @mask 0xFFFF_FFFF_FFFF_FFFF

  @doc """
  The sum of two integers, modulo 2^64.

      iex> Mote.Integer.add64(1, 2)
      3
  """
  @spec add64(integer, integer) :: non_neg_integer
  def add64(a, b), do: (a &&& @mask) + (b &&& @mask) &&& @mask

  @doc """
  The difference of two integers, modulo 2^64.

      iex> Mote.Integer.sub64(1, 2)
      0xFFFF_FFFF_FFFF_FFFF
  """
  @spec sub64(integer, integer) :: non_neg_integer
  def sub64(a, b), do: (a &&& @mask) - (b &&& @mask) &&& @mask

  @doc """
  The product of two integers, modulo 2^64.

      iex> Mote.Integer.mul64(0x1_0000_0001, 0x1_0000_0001)
      0x2_0000_0001
  """
  @spec mul64(integer, integer) :: non_neg_integer
  def mul64(a, b), do: (a &&& @mask) * (b &&& @mask) &&& @mask
end
