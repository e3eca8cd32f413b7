defmodule Cluster.Story do
  @moduledoc """
  What becomes of 300 rooms when nodes come and go: two nodes share them, a third one joins, a room moves that many play in, one
  node leaves in order, and one is killed.
  """

  alias Cluster.Peers

  @rooms for n <- 1..300, do: "room #{n}"

  # Points that a crowd scores while their room moves, one at a time.
  @crowd 10_000

  # Milliseconds until it is looked again whether all is settled.
  @again 20

  @typedoc "What has happened; how many rooms each node has then; the points in each room."
  @type stage :: %{what: String.t(), rooms: [{node, non_neg_integer}], points: %{String.t() => integer}}

  @doc "Plays the story, and returns its stages. `tell` is given a text of each as soon as it has come to pass."
  @spec run((String.t() -> term)) :: [stage]
  def run(tell \\ &IO.puts/1) do
    peers = [one, two, three] = for name <- ~w(one two three), do: Peers.start(name)

    try do
      Peers.join(one)
      Peers.join(two, one)
      settle([one, two])
      Peers.call(one, __MODULE__, :play)
      stages = [stage("one and two share 300 rooms", [one, two], tell)]

      Peers.join(three, one)
      stages = [stage("three joins", peers, tell) | stages]

      what = Peers.call(one, __MODULE__, :relieve, [elem(two, 1), elem(three, 1)])
      stages = [stage(what, peers, tell) | stages]

      Peers.stop(two)
      stages = [stage("two leaves in order", [one, three], tell) | stages]

      Peers.kill(three)
      stages = [stage("three is killed", [one], tell) | stages]
      Enum.reverse([stage("whoever visits a lost room opens it afresh", [one], tell) | stages])
    after
      Peers.abandon(peers)
    end
  end

  # -- on a node -----------------------------------------------------------------------------------------------

  @doc """
  Three points in each room. Returns when all rooms are there: what is scored is on its way for a while, and what is asked comes
  behind it.
  """
  def play do
    for room <- @rooms, do: Cluster.score(room, "ann", 3)
    points()
  end

  @doc "Moves a room from one node to another one, while a crowd plays in it."
  def relieve(from, to) do
    room = Enum.find(@rooms, &(Cluster.node_of(&1) == from))
    crowd = Task.async(fn -> for _ <- 1..@crowd, do: Cluster.score(room, "crowd", 1) end)
    {:ok, moved} = Cluster.move(room, to)
    Task.await(crowd)
    points = Cluster.points(room)["crowd"]

    "#{room} moves from #{short(from)} to #{short(node(moved.machine))}, and counts #{points} points meanwhile"
  end

  @doc "The points of each room. Asking a room opens it."
  def points, do: Map.new(@rooms, &{&1, &1 |> Cluster.points() |> Map.values() |> Enum.sum()})

  # -- what is seen of it --------------------------------------------------------------------------------------

  # Rooms are counted before all are asked.
  defp stage(what, peers, tell) do
    settle(peers)
    rooms = for {_, node} = peer <- peers, do: {node, Peers.call(peer, Cluster, :count)}
    points = Peers.call(hd(peers), __MODULE__, :points)
    stage = %{what: what, rooms: rooms, points: points}
    tell.(text(stage))
    stage
  end

  defp settle(peers) do
    unless Enum.all?(peers, &Peers.call(&1, Cluster, :settled?, [length(peers)])) do
      Process.sleep(@again)
      settle(peers)
    end
  end

  @doc """
  The text of a stage.

      iex> Cluster.Story.text(%{what: "one has two rooms", rooms: ["one_1@127.0.0.1": 2], points: %{"a" => 3, "b" => 4}})
      "one has two rooms: 7 points\\n  one       2 █\\n"
  """
  @spec text(stage) :: String.t()
  def text(%{what: what, rooms: rooms, points: points}) do
    lines =
      for {node, count} <- rooms do
        "  #{String.pad_trailing(short(node), 5)} #{String.pad_leading("#{count}", 5)} #{bar(count)}\n"
      end

    "#{what}: #{points |> Map.values() |> Enum.sum()} points\n#{lines}"
  end

  # A character for every five rooms.
  defp bar(count), do: String.duplicate("█", div(count + 4, 5))

  defp short(node), do: node |> to_string() |> String.split("_") |> hd()
end
