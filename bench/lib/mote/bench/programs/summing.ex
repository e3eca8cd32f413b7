defmodule Mote.Bench.Programs.Summing do
  # The tree of the erfc bomb, the time eater and its variant: two children for each node but the leaves, and on the way up
  # what these have sent is added.
  @moduledoc false

  defmodule Actors do
    use Mote.Behaviour

    defactor collect(parent) do
      first -> become second(parent, first)
    end

    defactor second(parent, first) do
      sum -> send parent, first + sum
    end
  end

  # What a node does that is no leaf: `child` is the behaviour of its children.
  defmacro branch(child, depth, parent) do
    quote do
      left = create unquote(child)
      right = create unquote(child)
      send left, unquote(depth) - 1
      send right, unquote(depth) - 1
      become unquote(__MODULE__).Actors.collect(unquote(parent))
    end
  end

  # The same of processes, compiled into the module that uses it: `leaf(parent, n)` is its own, and what a leaf does.
  defmacro __using__([]) do
    quote do
      @spec node(pid, pos_integer) :: term
      def node(parent, n) do
        receive do
          0 ->
            leaf(parent, n)

          depth ->
            left = spawn(__MODULE__, :node, [self(), n])
            right = spawn(__MODULE__, :node, [self(), n])
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
    end
  end
end
