defmodule World.Region do
  @moduledoc """
  Part of the world that one thread runs: it makes its walkers, with a drummer for each thousand, and passes on to its drummers
  and zones what they have to do.
  """
  use Mote.Behaviour
  alias World.{Dice, Walker}

  @crowd 1_000

  @doc "`zones` are those of the whole world, `mine` are those of this part."
  defactor region(zones, mine, sponsor, drummers \\ []) do
    :tick ->
      Enum.each(drummers, &send(&1, :tick))

    :tell ->
      Enum.each(mine, &send(&1, :tell))

    {:make, customer, first, last, _seed} when first > last ->
      send customer, :made

    {:make, customer, first, last, seed} ->
      next = min(first + @crowd, last + 1)
      walkers = for n <- first..(next - 1), do: walker(zones, Dice.of(seed, n), sponsor)
      drummer = create Walker.drummer(List.to_tuple(walkers), zones), sponsor: sponsor
      send self(), {:make, customer, next, last, seed}
      become drummers: [drummer | drummers]
  end

  defeffect walker(zones, dice, sponsor) do
    {x, dice} = Dice.draw(dice, 32_768)
    {y, dice} = Dice.draw(dice, 32_768)
    {dx, dice} = Dice.draw(dice, 21)
    {dy, _dice} = Dice.draw(dice, 21)
    send elem(zones, Walker.zone(Walker.place(x, y))), :came
    create Walker.walker(Walker.state(x, y, dx - 10, dy - 10)), sponsor: sponsor
  end
end
