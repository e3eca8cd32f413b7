defmodule World.Walker do
  @moduledoc """
  An entity that moves: an actor with a place, a direction and a mailbox of its own. It walks on a torus of 32 x 32 zones, each
  1,024 wide and high, and tells a zone when it leaves and when it comes.

  A drummer beats time for its walkers.
  """
  use Mote.Behaviour
  import Bitwise

  # A place is one integer: x in the lower bits, y above, with a bit between them that takes what x carries. So a step is one
  # addition, and a mask leads around the world.
  @above 16
  @world 0x7FFF <<< @above ||| 0x7FFF
  @zones 0x7C00 <<< @above ||| 0x7C00
  @bits 31

  @doc """
  Somebody whose state is one integer, made by `state/4`: the place, and what each tick adds to it. A single small integer lies in
  the 16 bytes of the actor itself, so a tick leaves no garbage, and there is nothing to collect.

  `{:tick, zones}` has the addresses of all zones, line by line.
  """
  defactor walker(state) do
    {:tick, zones} ->
      place = state &&& @world
      to = place + (state >>> @bits) &&& @world
      unless (bxor(place, to) &&& @zones) == 0, do: cross(zones, place, to)
      become walker(state - place + to)

    {:turn, dx, dy} ->
      become walker(step(dx, dy) <<< @bits ||| (state &&& @world))

    {customer, :where} ->
      send customer, {state &&& 0x7FFF, (state &&& @world) >>> @above}
  end

  defeffect cross(zones, from, to) do
    send elem(zones, zone(from)), :left
    send elem(zones, zone(to)), :came
  end

  @doc "The state of a walker at a place, with a step for each tick."
  defpure state(x, y, dx, dy), do: step(dx, dy) <<< @bits ||| place(x, y)

  @doc "The integer that stands for a place."
  defpure place(x, y), do: y <<< @above ||| x

  # A step to the left is one to the right, nearly around the world.
  defpurep step(dx, dy), do: place(dx &&& 0x7FFF, dy &&& 0x7FFF)

  @doc """
  The number of the zone of a place.

      iex> for {x, y} <- [{0, 0}, {1_024, 0}, {0, 32_767}], do: World.Walker.zone(World.Walker.place(x, y))
      [0, 1, 992]
  """
  defpure zone(place) do
    row = place >>> (@above + 10)
    row * 32 + ((place &&& 0x7FFF) >>> 10)
  end

  @doc "Sends the beat to its walkers."
  defactor drummer(walkers, zones) do
    :tick -> beat(walkers, tuple_size(walkers), {:tick, zones})
  end

  defeffect beat(_walkers, 0, _tick), do: :ok

  defeffect beat(walkers, n, tick) do
    send elem(walkers, n - 1), tick
    beat(walkers, n - 1, tick)
  end
end
