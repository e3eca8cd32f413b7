defmodule Cluster.Room do
  @moduledoc "A game room, which knows the points of its players."
  use Mote.Behaviour

  @doc "`points` has those of each player."
  defactor room(points) do
    {:scored, player, n} -> become points: Map.put(points, player, Map.get(points, player, 0) + n)
    {customer, :points} -> send customer, points
  end

  @doc "Any name is that of a room. It is empty at first."
  defdirectory rooms() do
    name when is_binary(name) -> room(%{})
  end
end
