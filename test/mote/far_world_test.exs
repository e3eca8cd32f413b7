defmodule Mote.FarWorldTest do
  # The protocol between hundreds of nodes, over links that are slow, repeat parcels, and are lost: test/support/far_world.ex says
  # what is checked on the way.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.FarWorld

  defp steps(kinds, range),
    do:
      list_of({member_of(kinds), integer(0..100_000), integer(0..100_000), integer(0..1_000)}, length: range)

  @kinds [:send, :send, :send, :move, :move, :move, :move, :move, :drop, :rest]

  property "hundreds of nodes: nothing is lost, nothing comes twice, and in the end nothing is listed" do
    check all(count <- integer(100..400), steps <- steps(@kinds, 1_500..2_500), max_runs: 5) do
      world = count |> FarWorld.new() |> run(steps) |> FarWorld.settle()
      assert MapSet.size(world.arrived) == world.sent
      world = world |> FarWorld.forget() |> FarWorld.settle()
      assert FarWorld.listed(world) == 0
    end
  end

  property "few nodes, which have much to do with each other" do
    check all(count <- integer(2..5), steps <- steps([:drop, :drop, :rest | @kinds], 50..300), max_runs: 200) do
      world = count |> FarWorld.new() |> run(steps) |> FarWorld.settle()
      assert MapSet.size(world.arrived) == world.sent
      assert world |> FarWorld.forget() |> FarWorld.settle() |> FarWorld.listed() == 0
    end
  end

  # So that the same few pairs have much to do with each other.
  property "few nodes with links that are lost: what is not lost comes once, and in the end nothing is listed" do
    check all(count <- integer(2..8), steps <- steps([:cut | @kinds] ++ @kinds, 50..300), max_runs: 100) do
      world = count |> FarWorld.new() |> run(steps) |> FarWorld.settle()
      all = MapSet.new(0..(world.sent - 1)//1)
      assert MapSet.union(world.arrived, world.lost) == all
      world = world |> FarWorld.forget() |> FarWorld.settle()
      assert FarWorld.listed(world) == 0
    end
  end

  property "hundreds of nodes with links that are lost" do
    check all(count <- integer(100..300), steps <- steps([:cut | @kinds], 1_500..2_500), max_runs: 3) do
      world = count |> FarWorld.new() |> run(steps) |> FarWorld.settle()
      assert MapSet.size(MapSet.union(world.arrived, world.lost)) == world.sent
      assert world |> FarWorld.forget() |> FarWorld.settle() |> FarWorld.listed() == 0
    end
  end

  # Far too many pairs for anything to meet twice, if all choose among all: half of the steps stay among the first nodes.
  defp run(world, steps) do
    steps
    |> Enum.with_index()
    |> Enum.reduce(world, fn
      {{kind, a, b, which}, i}, world when rem(i, 2) == 0 ->
        FarWorld.step({kind, rem(a, 10), rem(b, 10), which}, world)

      {step, _}, world ->
        FarWorld.step(step, world)
    end)
  end
end
