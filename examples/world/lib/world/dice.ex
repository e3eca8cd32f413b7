defmodule World.Dice do
  @moduledoc "Random numbers that follow from a state, so that a world is decided by its seed."
  use Mote.Behaviour
  import Bitwise

  # The generator of Park and Miller: the state is an integer from 1 to `@prime - 1`.
  @prime 2_147_483_647
  @factor 48_271

  @doc "The first state for a number under a seed."
  defpure of(seed, number) do
    mixed = rem(number * 1_000_003 + seed * 7_919 + 12_345, @prime)
    mixed = rem(bxor(mixed, mixed >>> 15) * @factor + 11, @prime)
    mixed = rem(bxor(mixed, mixed >>> 13) * 69_621 + 7, @prime)
    1 + rem(bxor(mixed, mixed >>> 16), @prime - 1)
  end

  @doc """
  An integer from 0 to `n - 1`, and the next state.

      iex> {number, dice} = World.Dice.draw(World.Dice.of(1, 2), 6)
      iex> number in 0..5 and dice != World.Dice.of(1, 2)
      true
  """
  defpure draw(dice, n), do: {rem(dice, n), rem(dice * @factor, @prime)}
end
