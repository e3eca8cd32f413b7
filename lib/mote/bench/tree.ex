defmodule Mote.Bench.Tree do
  # A binary tree like that of the fork bomb, whose leaves have something to do: they add up n random numbers, what erfc makes
  # of these, or a number a turn. The sums travel up, so that the result tells that all of it was done.
  #
  # The programs that grow it differ in what they vary: how deep it is, or how much a leaf does.
  @moduledoc false

  import Mote.Bench.Program, only: [answer: 1]
  alias Mote.Bench.Program

  @typedoc "What a leaf does, and with how many numbers."
  @type work :: {:add | :add_erfc | :add_by_turns, pos_integer}

  # The mean of erfc over 0..1.
  @erfc :math.erfc(1) + (1 - :math.exp(-1)) / :math.sqrt(:math.pi())

  # Standard deviations of one number of each kind, above, and how many of them the mean of a run may be off.
  @deviation 0.3
  @deviations 10

  defmodule Actors do
    @moduledoc false
    use Mote.Behaviour

    defactor node(parent, work) do
      0 ->
        case work do
          {:add, n} ->
            send parent, Enum.reduce(1..n, 0.0, fn _index, sum -> sum + :rand.uniform() end)

          {:add_erfc, n} ->
            send parent, Enum.reduce(1..n, 0.0, fn _index, sum -> sum + :math.erfc(:rand.uniform()) end)

          {:add_by_turns, n} ->
            become eater(parent, 0.0)
            send self(), n
        end

      depth when depth > 0 ->
        left = create node(self(), work)
        right = create node(self(), work)
        send left, depth - 1
        send right, depth - 1
        become collect(parent)
    end

    defactor collect(parent) do
      first -> become second(parent, first)
    end

    defactor second(parent, first) do
      sum -> send parent, first + sum
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
    # Each process has a generator of its own and seeds it first, which for few numbers is most of the work: on the
    # BEAM, too, one would not ask for one random number in a new process.
    @moduledoc false

    @spec node(pid, Mote.Bench.Tree.work()) :: term
    def node(parent, work) do
      receive do
        0 ->
          leaf(parent, work)

        depth ->
          left = spawn(__MODULE__, :node, [self(), work])
          right = spawn(__MODULE__, :node, [self(), work])
          send(left, depth - 1)
          send(right, depth - 1)

          receive do
            first ->
              receive do
                second -> send(parent, first + second)
              end
          end
      end
    end

    defp leaf(parent, {:add, n}), do: send(parent, add(n, 0.0))
    defp leaf(parent, {:add_erfc, n}), do: send(parent, add_erfc(n, 0.0))

    defp leaf(parent, {:add_by_turns, n}) do
      send(self(), n)
      eater(parent, 0.0)
    end

    defp add(0, sum), do: sum
    defp add(n, sum), do: add(n - 1, sum + :rand.uniform())

    defp add_erfc(0, sum), do: sum
    defp add_erfc(n, sum), do: add_erfc(n - 1, sum + :math.erfc(:rand.uniform()))

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

  @doc "A run on a machine, see `c:Mote.Bench.Program.mote/2`. The result is `:plausible`, or `{:mean, mean}` of what is not."
  @spec mote(term, non_neg_integer, work) :: Program.stages()
  def mote(machine, depth, work) do
    root = Mote.create(machine, Actors.node(self(), work))
    [run: fn _ -> fn -> Mote.send(root, depth) end |> answer() |> judge(depth, work) end]
  end

  @doc "A run on BEAM processes."
  @spec beam(non_neg_integer, work) :: Program.stages()
  def beam(depth, work) do
    root = spawn(Processes, :node, [self(), work])
    [run: fn _ -> fn -> send(root, depth) end |> answer() |> judge(depth, work) end]
  end

  @doc "How many leaves it has."
  @spec leaves(non_neg_integer) :: pos_integer
  def leaves(depth), do: Integer.pow(2, depth)

  @doc "How many nodes."
  @spec nodes(non_neg_integer) :: pos_integer
  def nodes(depth), do: 2 * leaves(depth) - 1

  defp judge(sum, depth, {what, n}) do
    count = leaves(depth) * n
    mean = sum / count
    right = if what == :add_erfc, do: @erfc, else: 0.5
    if abs(mean - right) < @deviations * @deviation / :math.sqrt(count), do: :plausible, else: {:mean, mean}
  end
end
