defmodule Mote.Bench.Programs.ErfcBomb do
  # The fork bomb with something to do: each leaf computes erfc of 1,000 uniform randoms. The sums travel up, so that
  # the result tells that all of it was done.
  @moduledoc false

  use Mote.Bench.Program,
    title: "the tree of the fork bomb, each leaf computing erfc of 1,000 random numbers",
    param: :depth,
    defaults: [12],
    small: 2,
    metric: :us_per_leaf,
    count: &Integer.pow(2, &1),
    expected: :plausible,
    processes: &(Integer.pow(2, &1 + 1) - 1),
    plot: [sizes: [3, 5, 7, 9], full: 3..12, over: :count, x: :log2],
    rust: [rust: "erfc_bomb"]

  @randoms 1_000

  # The mean of erfc over 0..1, and how far that of a run may be from it: ten standard deviations of the least one.
  @mean :math.erfc(1) + (1 - :math.exp(-1)) / :math.sqrt(:math.pi())
  @tolerance 0.06

  defmodule Actors do
    use Mote.Behaviour
    require Mote.Bench.Programs.Summing, as: Summing

    @randoms 1_000

    defactor node(parent) do
      0 ->
        sum = Enum.reduce(1..@randoms, 0.0, fn _index, sum -> sum + :math.erfc(:rand.uniform()) end)
        send parent, sum

      depth when depth > 0 ->
        Summing.branch(node(self()), depth, parent)
    end
  end

  defmodule Processes do
    # A process seeds its generator at the first number, which is little beside 1,000 of them.

    use Mote.Bench.Programs.Summing

    defp leaf(parent, n), do: send(parent, sum(n, 0.0))

    defp sum(0, sum), do: sum
    defp sum(n, sum), do: sum(n - 1, sum + :math.erfc(:rand.uniform()))
  end

  @impl true
  def mote(machine, depth),
    do: [run: asking(Mote.create(machine, Actors.node(self())), depth, &judge(&1, depth))]

  @impl true
  def beam(depth), do: [run: asking(spawn(Processes, :node, [self(), @randoms]), depth, &judge(&1, depth))]

  @impl true
  def rust(sum, depth), do: judge(sum, depth)

  @doc "Whether that can be the sum of a tree of that depth."
  @spec judge(float, pos_integer) :: :plausible | {:mean, float}
  def judge(sum, depth) do
    mean = sum / (count(depth) * @randoms)
    if abs(mean - @mean) < @tolerance, do: :plausible, else: {:mean, mean}
  end
end
