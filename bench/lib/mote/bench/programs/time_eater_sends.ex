defmodule Mote.Bench.Programs.TimeEaterSends do
  # The time eater without a loop: a leaf that is to add up n random numbers adds one a turn, and sends itself the rest.
  @moduledoc false

  alias Mote.Bench.Programs.TimeEater

  use Mote.Bench.Program,
    title: "a tree of ten levels, each leaf adding up n random numbers, one a turn",
    param: :n,
    defaults: [1, 4, 16, 64, 256],
    small: 1,
    metric: :ns_per_leaf,
    count: &TimeEater.count/1,
    expected: &TimeEater.expected/1,
    processes: &TimeEater.processes/1,
    plot: [full: [1, 2, 4, 8, 16, 32, 64, 128, 256], x: :log2]

  @depth 10

  defmodule Actors do
    use Mote.Behaviour
    require Mote.Bench.Programs.Summing, as: Summing

    defactor node(parent, n) do
      0 ->
        become eater(parent, 0.0)
        send self(), n

      depth when depth > 0 ->
        Summing.branch(node(self(), n), depth, parent)
    end

    defactor eater(parent, sum) do
      0 ->
        send parent, sum

      left ->
        become eater(parent, sum + :rand.uniform())
        send self(), left - 1
    end
  end

  defmodule Processes do
    use Mote.Bench.Programs.Summing

    defp leaf(parent, n) do
      send(self(), n)
      eater(parent, 0.0)
    end

    defp eater(parent, sum) do
      receive do
        0 ->
          send(parent, sum)

        left ->
          send(self(), left - 1)
          eater(parent, sum + :rand.uniform())
      end
    end
  end

  @impl true
  def mote(machine, n),
    do: [run: asking(Mote.create(machine, Actors.node(self(), n)), @depth, &TimeEater.judge(&1, n))]

  @impl true
  def beam(n), do: [run: asking(spawn(Processes, :node, [self(), n]), @depth, &TimeEater.judge(&1, n))]
end
