defmodule ClusterTest do
  use ExUnit.Case, async: true

  doctest Cluster
  doctest Cluster.Story

  alias Cluster.{Room, Story}

  test "a room adds up the points of each player" do
    turn = Mote.Behaviour.turn(Room.room(%{"ann" => 3}), {:scored, "bob", 2})
    assert turn.become == Room.room(%{"ann" => 3, "bob" => 2})
    turn = Mote.Behaviour.turn(turn.become, {:scored, "ann", 4})
    assert turn.become == Room.room(%{"ann" => 7, "bob" => 2})
  end

  test "rooms keep their points when nodes join and leave; those of a node that is killed begin anew" do
    parent = self()
    stages = Story.run(&send(parent, {:told, &1}))
    for stage <- stages, text = Story.text(stage), do: assert_received({:told, ^text})
    assert [two, three, moved, left, killed, afresh] = stages

    # All rooms are there once, on every node some.
    for stage <- [two, three, moved, left, afresh] do
      assert length(for {_, count} <- stage.rooms, count > 0, do: count) == length(stage.rooms)
      assert Enum.sum(for {_, count} <- stage.rooms, do: count) == 300
    end

    assert Enum.uniq(Map.values(two.points)) == [3]
    assert three.points == two.points
    # The third one has taken rooms from both, and nobody has got any.
    for {node, count} <- two.rooms, do: assert(three.rooms[node] < count)

    # One room has moved, with all that was scored meanwhile. Its name belongs to the node that it belonged to before.
    assert moved.rooms == three.rooms
    assert [{room, 10_003}] = Enum.filter(moved.points, fn {_, points} -> points != 3 end)
    assert moved.what =~ "#{room} moves from two to three, and counts 10000 points"
    assert left.points == moved.points

    # What the killed one had is gone, and no more.
    [{one, stayed}, {_three, lost}] = left.rooms
    assert killed.rooms == [{one, stayed}]
    assert Enum.count(killed.points, fn {_, points} -> points == 0 end) == lost
    for {room, points} <- killed.points, points != 0, do: assert(points == left.points[room])
    assert {afresh.rooms, afresh.points} == {[{one, 300}], killed.points}
  end
end
