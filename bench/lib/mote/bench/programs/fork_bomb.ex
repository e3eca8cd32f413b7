defmodule Mote.Bench.Programs.ForkBomb do
  # A binary tree that grows and reports up: creating actors, and nothing else to speak of.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a binary tree: every inner node creates two, sends both, waits for both, reports up",
    param: :depth,
    defaults: [20],
    small: 6,
    metric: :ns_per_actor,
    count: &(Integer.pow(2, &1 + 1) - 1),
    expected: :done,
    processes: &count/1,
    plot: [sizes: [6, 8, 10, 12, 14, 16], full: 5..24, over: :count, x: :log2]

  defmodule Actors do
    use Mote.Behaviour

    defactor node(parent) do
      0 ->
        send parent, :done

      depth when depth > 0 ->
        left = create node(self())
        right = create node(self())
        send left, depth - 1
        send right, depth - 1
        become collect(parent, 2)
    end

    defactor collect(parent, n) do
      :done when n > 1 -> become collect(parent, n - 1)
      :done -> send parent, :done
    end
  end

  defmodule Processes do
    # A process that has reported ends. The depth travels as a message, as it does between the actors; passing it
    # as an argument of spawn is no faster. Every process gets two messages at most: queues stay on the heap.

    @spec node(pid) :: term
    def node(parent) do
      receive do
        0 ->
          send(parent, :done)

        depth ->
          left = spawn(__MODULE__, :node, [self()])
          right = spawn(__MODULE__, :node, [self()])
          send(left, depth - 1)
          send(right, depth - 1)
          collect(parent, 2)
      end
    end

    defp collect(parent, 0), do: send(parent, :done)

    defp collect(parent, n) do
      receive do
        :done -> collect(parent, n - 1)
      end
    end
  end

  @impl true
  def mote(machine, depth), do: [run: asking(Mote.create(machine, Actors.node(self())), depth)]

  @impl true
  def beam(depth), do: [run: asking(spawn(Processes, :node, [self()]), depth)]
end
