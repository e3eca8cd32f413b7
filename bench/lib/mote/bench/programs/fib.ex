defmodule Mote.Bench.Programs.Fib do
  # Calls of functions and arithmetic of integers within one turn: the doubly recursive Fibonacci numbers. A turn has
  # fuel for n = 32.
  @moduledoc false

  use Mote.Bench.Program,
    title: "the n-th Fibonacci number by double recursion, in one turn",
    param: :n,
    defaults: [27],
    small: 12,
    metric: :ns_per_call,
    count: &(2 * expected(&1 + 1) - 1),
    expected: fn n -> 1..n |> Enum.reduce({0, 1}, fn _, {a, b} -> {b, a + b} end) |> elem(0) end,
    processes: 1,
    rust: [rust: "fib"]

  defmodule Actors do
    use Mote.Behaviour

    defpure fib(n) when n < 2, do: n
    defpure fib(n), do: fib(n - 1) + fib(n - 2)

    defactor worker(customer) do
      n -> send customer, fib(n)
    end
  end

  defmodule Processes do
    @spec worker(pid) :: term
    def worker(customer) do
      receive do
        n -> send(customer, fib(n))
      end
    end

    defp fib(n) when n < 2, do: n
    defp fib(n), do: fib(n - 1) + fib(n - 2)
  end

  @impl true
  def mote(machine, n), do: [run: asking(Mote.create(machine, Actors.worker(self())), n)]

  @impl true
  def beam(n), do: [run: asking(spawn(Processes, :worker, [self()]), n)]

  @impl true
  def rust(fib, _n), do: trunc(fib)
end
