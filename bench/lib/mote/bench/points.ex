defmodule Mote.Bench.Points do
  # Points for the programs that cluster and classify: seeded, in clouds around corners of a cube, so far apart that every
  # point is nearest to its own. So what is right is known without computing it.
  @moduledoc false

  @dimensions 16
  @clouds 8
  @distance 10.0
  @seed {1957, 1967, 8}

  @doc "How many coordinates a point has, and how many clouds there are."
  @spec dimensions() :: pos_integer
  def dimensions, do: @dimensions

  @spec clouds() :: pos_integer
  def clouds, do: @clouds

  @doc "n points as `{cloud, coordinates}`; the i-th belongs to the cloud i modulo their number. Seeds differ by `offset`."
  @spec new(pos_integer, non_neg_integer) :: [{non_neg_integer, [float]}]
  def new(n, offset \\ 0) do
    state = :rand.seed_s(:exsss, put_elem(@seed, 2, offset))
    {points, _} = Enum.map_reduce(0..(n - 1), state, &point(rem(&1, @clouds), &2))
    points
  end

  defp point(cloud, state) do
    {coordinates, state} =
      Enum.map_reduce(centre(cloud), state, fn middle, state ->
        {normal, state} = :rand.normal_s(state)
        {middle + normal, state}
      end)

    {{cloud, coordinates}, state}
  end

  @doc "The middle of a cloud: bit by bit of its number, again and again."
  @spec centre(non_neg_integer) :: [float]
  def centre(cloud) do
    bits = for bit <- 0..2, do: cloud |> Bitwise.bsr(bit) |> Bitwise.band(1)
    bits |> Stream.cycle() |> Enum.take(@dimensions) |> Enum.map(&(&1 * @distance))
  end
end
