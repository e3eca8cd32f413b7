defmodule World.Walker do
  @moduledoc """
  An entity that moves: an actor with a place, a direction and a mailbox of its own. It walks on a torus of 32 x 32 zones, each
  1,024 wide and high, and tells a zone when it leaves and when it comes.

  A drummer beats time for its walkers.
  """
  use Mote.Behaviour
  import Bitwise

  # Coordinates are integers below this, a power of two, so that a bit mask leads around the world.
  @size 32_768
  @zone 1_024
  @side 32

  @doc "Somebody at a place, with a step by tick. `zones` are the addresses of all zones, line by line."
  defactor walker(zones, x, y, dx, dy) do
    :tick ->
      to_x = x + dx &&& @size - 1
      to_y = y + dy &&& @size - 1
      if bxor(x, to_x) >= @zone or bxor(y, to_y) >= @zone, do: cross(zones, x, y, to_x, to_y)
      become x: to_x, y: to_y

    {:turn, dx, dy} ->
      become dx: dx, dy: dy

    {customer, :where} ->
      send customer, {x, y}
  end

  defeffect cross(zones, x, y, to_x, to_y) do
    send elem(zones, zone(x, y)), :left
    send elem(zones, zone(to_x, to_y)), :came
  end

  @doc """
  The number of the zone of a place.

      iex> {World.Walker.zone(0, 0), World.Walker.zone(1_024, 0), World.Walker.zone(0, 32_767)}
      {0, 1, 992}
  """
  defpure zone(x, y), do: (y >>> 10) * @side + (x >>> 10)

  @doc "Sends the beat to its walkers."
  defactor drummer(walkers) do
    :tick -> beat(walkers, tuple_size(walkers))
  end

  defeffect beat(_walkers, 0), do: :ok

  defeffect beat(walkers, n) do
    send elem(walkers, n - 1), :tick
    beat(walkers, n - 1)
  end
end
