defmodule WorldTest do
  use ExUnit.Case, async: true

  doctest World
  doctest World.Dice
  doctest World.Picture
  doctest World.Walker

  alias World.{Walker, Zone}

  defp zones(opts, ticks) do
    world = World.start(opts)
    for _ <- 1..ticks, do: :ok = World.tick(world)
    zones = World.watch(world)
    World.stop(world)
    zones
  end

  test "a world depends on its seed alone" do
    opts = [walkers: 20_000, seed: 5]
    assert [zones] = Enum.uniq(for threads <- [1, 2, 3], do: zones([threads: threads] ++ opts, 40))
    assert zones != zones([walkers: 20_000, seed: 6], 40)
    assert zones |> Map.values() |> Enum.sum() == 20_000
  end

  test "those who watch hear of every zone after each tick" do
    world = World.start(walkers: 10_000)
    assert World.watch(world) == %{}

    ticks =
      for _ <- 1..3 do
        :ok = World.tick(world)
        World.watch(world)
      end

    assert Enum.uniq(ticks) == ticks
    for zones <- ticks, do: assert({map_size(zones), zones |> Map.values() |> Enum.sum()} == {1_024, 10_000})
    World.stop(world)
  end

  test "a walker walks around the world, whichever way it goes" do
    {:ok, machine} = Mote.start_link()
    zones = List.to_tuple(Mote.create_many(machine, Zone.zone({0, self()}), 1_024))

    for {dx, dy} <- [{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {7, -9}, {-10, 10}, {0, 0}],
        {x, y} <- [{0, 0}, {32_767, 32_767}] do
      walker = Mote.create(machine, Walker.walker(Walker.state(x, y, dx, dy)))
      for _ <- 1..3, do: Mote.send(walker, {:tick, zones})
      assert Mote.ask!(walker, :where) == {Integer.mod(x + 3 * dx, 32_768), Integer.mod(y + 3 * dy, 32_768)}
    end

    Mote.stop(machine)
  end

  test "who crosses a border tells both zones" do
    zones = List.to_tuple(for n <- 0..1_023, do: n)
    turn = Mote.Behaviour.turn(Walker.walker(Walker.state(1_023, 5, 1, 0)), {:tick, zones})
    assert turn.sends == [{0, :left}, {1, :came}]
    turn = Mote.Behaviour.turn(Walker.walker(Walker.state(1_022, 5, 1, 0)), {:tick, zones})
    assert turn.sends == [] and turn.become == Walker.walker(Walker.state(1_023, 5, 1, 0))
    turn = Mote.Behaviour.turn(turn.become, {:turn, -3, 4})
    assert turn.become == Walker.walker(Walker.state(1_023, 5, -3, 4))
  end
end
