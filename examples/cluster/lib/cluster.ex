defmodule Cluster do
  @moduledoc """
  Game rooms by name, spread over the nodes that run this application.

      iex> Cluster.score("lobby", "ann", 3)
      :ok
      iex> Cluster.score("lobby", "ann", 4)
      :ok
      iex> Cluster.points("lobby")
      %{"ann" => 7}
  """
  use Application

  alias Mote.{Address, Shards}

  @machine Cluster.Machine
  @rooms Cluster.Rooms

  # A node that is stopped in order stops the shards first: they give their rooms to the other nodes while the machine still runs.
  @impl Application
  def start(_type, _args) do
    children = [
      {Mote, name: @machine},
      {Shards, name: @rooms, machine: @machine, start: Cluster.Room.rooms()}
    ]

    Supervisor.start_link(children, strategy: :rest_for_one, name: Cluster.Supervisor)
  end

  @doc "Adds points of a player in a room, wherever that is. The first points open it."
  @spec score(String.t(), String.t(), integer) :: :ok
  def score(room, player, points), do: :ok = Shards.send(@rooms, room, {:scored, player, points})

  @doc "Returns the points of each player in a room."
  @spec points(String.t()) :: %{String.t() => integer}
  def points(room), do: Shards.ask!(@rooms, room, :points)

  @doc """
  Moves a room to another node, and returns its new address. Its name still leads to it.

  So a room that many play in can go to a node that has little to do.
  """
  @spec move(String.t(), node) :: {:ok, Address.t()} | {:error, Mote.Error.t()}
  def move(room, node), do: @rooms |> Shards.whereis(room) |> Mote.move({@machine, node})

  @doc "Returns the node that a name of a room belongs to."
  @spec node_of(String.t()) :: node
  def node_of(room), do: Shards.node(@rooms, room)

  @doc "Returns how many rooms belong to this node."
  @spec count() :: non_neg_integer
  def count, do: Shards.count(@rooms)

  @doc "Whether this node shares the rooms with so many nodes, itself among them, and no room has still to move."
  @spec settled?(pos_integer) :: boolean
  def settled?(nodes), do: length(Shards.nodes(@rooms)) == nodes and Shards.settled?(@rooms)
end
