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
    count: &Integer.pow(2, &1),
    expected: :plausible,
    processes: &(2 * count(&1) - 1),
    plot: [sizes: [6, 8, 10, 12, 14], full: 5..20, over: :count, x: :log2]

  alias Mote.Bench.Programs.TimeEater

  @randoms 64

  @impl true
  def mote(machine, depth),
    do: [run: asking(Mote.create(machine, TimeEater.Actors.node(self(), @randoms)), depth, &judge(&1, depth))]

  @impl true
  def beam(depth),
    do: [run: asking(spawn(TimeEater.Processes, :node, [self(), @randoms]), depth, &judge(&1, depth))]

  # Of at least 512 numbers: eight standard deviations.
  defp judge(sum, depth) do
    mean = sum / (count(depth) * @randoms)
    if abs(mean - 0.5) < 0.1, do: :plausible, else: {:mean, mean}
  end
end
