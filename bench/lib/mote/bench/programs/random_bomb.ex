defmodule Mote.Bench.Programs.RandomBomb do
  # The tree of the fork bomb with little to do: each leaf adds up 64 random numbers. It is that of the time eater, which
  # keeps the tree and varies the work; here the tree grows.
  @moduledoc false

  use Mote.Bench.Program,
    title: "the tree of the fork bomb, each leaf adding up 64 random numbers",
    param: :depth,
    defaults: [14],
    small: 3,
    metric: :ns_per_leaf,
    plot: [sizes: [6, 8, 10, 12, 14], full: 5..20, over: :count, x: :log2]

  alias Mote.Bench.Programs.TimeEater

  @randoms 64

  @impl true
  def count(depth), do: Integer.pow(2, depth)

  @impl true
  def expected(_depth), do: :plausible

  @impl true
  def processes(depth), do: 2 * count(depth) - 1

  @impl true
  def mote(machine, depth) do
    root = Mote.create(machine, TimeEater.Actors.node(self(), @randoms))
    [run: fn _ -> fn -> Mote.send(root, depth) end |> answer() |> judge(depth) end]
  end

  @impl true
  def beam(depth) do
    root = spawn(TimeEater.Processes, :node, [self(), @randoms])
    [run: fn _ -> fn -> send(root, depth) end |> answer() |> judge(depth) end]
  end

  # Of at least 512 numbers: eight standard deviations.
  defp judge(sum, depth) do
    mean = sum / (count(depth) * @randoms)
    if abs(mean - 0.5) < 0.1, do: :plausible, else: {:mean, mean}
  end
end
