defmodule Mote.Bench.Dice do
  # Random numbers that both sides of a comparison can make, and the check of a result, too: the generator of Park and
  # Miller. Actors and processes have the formula in their own code, as they would elsewhere.
  @moduledoc false

  @doc """
  The first numbers of the generator of this seed, which is not one of them.

      iex> Mote.Bench.Dice.rolls(1, 3)
      [48271, 182605794, 1291394886]
  """
  @spec rolls(pos_integer, non_neg_integer) :: [pos_integer]
  def rolls(seed, count), do: seed |> Stream.iterate(&next/1) |> Enum.slice(1, count)

  defp next(dice), do: rem(dice * 48_271, 2_147_483_647)
end
