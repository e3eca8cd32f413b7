defmodule Events.Dice do
  @moduledoc """
  Random numbers that follow from a state, so that a run is decided by its seed.

      iex> dice = Events.Dice.of(42, 7)
      iex> dice == Events.Dice.of(42, 7) and dice != Events.Dice.next(dice)
      true
  """
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

  @doc "The state after this one."
  defpure next(dice), do: rem(dice * @factor, @prime)

  @doc "A number from 0.0 to 1.0, both excluded."
  defpure uniform(dice), do: dice / @prime

  @doc """
  Whole milliseconds that are distributed exponentially.

      iex> Enum.map_reduce(1..10_000, 1, fn _, dice -> {Events.Dice.exponential(dice, 100), Events.Dice.next(dice)} end)
      ...> |> elem(0) |> Enum.sum() |> div(10_000)
      101
  """
  defpure exponential(dice, mean), do: round(0.0 - mean * :math.log(uniform(dice)))
end
