defmodule Epidemic.Dice do
  @moduledoc """
  Random numbers that belong to a person: a state, from which the next one follows.

  `:rand.uniform/0` in a behaviour draws from its thread. Here every draw must depend on the seed and on the person alone, so
  that a run is the same on any number of threads.

      iex> dice = Epidemic.Dice.of(42, 7)
      iex> dice == Epidemic.Dice.of(42, 7)
      true
      iex> Epidemic.Dice.hits?(dice, Epidemic.Dice.odds(1.0))
      true
  """
  use Mote.Behaviour
  import Bitwise

  # The generator of Park and Miller: the state is an integer from 1 to `@prime - 1`.
  @prime 2_147_483_647
  @factor 48_271

  @doc "The first state for a number, say a person's, under a seed."
  defpure of(seed, number) do
    mixed = rem(number * 1_000_003 + seed * 7_919 + 12_345, @prime)
    mixed = rem(bxor(mixed, mixed >>> 15) * @factor + 11, @prime)
    mixed = rem(bxor(mixed, mixed >>> 13) * 69_621 + 7, @prime)
    1 + rem(bxor(mixed, mixed >>> 16), @prime - 1)
  end

  @doc "The state after this one."
  defpure next(dice), do: rem(dice * @factor, @prime)

  @doc "An integer from 0 to `n - 1`."
  defpure below(dice, n), do: rem(dice, n)

  @doc "Whether something of these odds happens."
  defpure hits?(dice, odds), do: dice < odds

  @doc "The odds of a probability from 0.0 to 1.0."
  @spec odds(float) :: non_neg_integer
  def odds(probability), do: round(probability * @prime)
end
