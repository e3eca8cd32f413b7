defmodule Mote.Bench.Programs.TimeEater do
  # From which amount of work per message on are threads worth it, and do they harm below? A tree of ten levels, each
  # of its 1,024 leaves adding up n random numbers: nothing at all for n = 1, some microseconds for n = 256.
  @moduledoc false

  @depth 10

  use Mote.Bench.Program,
    title: "a tree of ten levels, each leaf adding up n random numbers",
    param: :n,
    defaults: [1, 4, 16, 64, 256],
    small: 1,
    metric: :ns_per_leaf,
    count: Integer.pow(2, @depth),
    expected: :plausible,
    processes: Integer.pow(2, @depth + 1) - 1,
    plot: [full: [1, 2, 4, 8, 16, 32, 64, 128, 256], x: :log2]

  # How far the mean of a run's numbers may be from 0.5: eleven standard deviations for n = 1.
  @tolerance 0.1

  defmodule Actors do
    use Mote.Behaviour
    require Mote.Bench.Programs.Summing, as: Summing

    defactor node(parent, n) do
      0 ->
        sum = Enum.reduce(1..n, 0.0, fn _index, sum -> sum + :rand.uniform() end)
        send parent, sum

      depth when depth > 0 ->
        Summing.branch(node(self(), n), depth, parent)
    end
  end

  defmodule Processes do
    # Each process has a generator of its own and seeds it first, which for few numbers is most of the work: on the
    # BEAM, too, one would not ask for one random number in a new process.

    use Mote.Bench.Programs.Summing

    defp leaf(parent, n), do: send(parent, sum(n, 0.0))

    defp sum(0, sum), do: sum
    defp sum(n, sum), do: sum(n - 1, sum + :rand.uniform())
  end

  @impl true
  def mote(machine, n), do: [run: asking(Mote.create(machine, Actors.node(self(), n)), @depth, &judge(&1, n))]

  @impl true
  def beam(n), do: [run: asking(spawn(Processes, :node, [self(), n]), @depth, &judge(&1, n))]

  @doc "Whether the numbers have the mean of uniform ones."
  @spec judge(float, pos_integer) :: :plausible | {:mean, float}
  def judge(sum, n) do
    mean = sum / (count(n) * n)
    if abs(mean - 0.5) < @tolerance, do: :plausible, else: {:mean, mean}
  end
end
