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
    rust: [rust: "fib"]

  defmodule Actors do
    @moduledoc false
    use Mote.Behaviour

    defpure fib(n) when n < 2, do: n
    defpure fib(n), do: fib(n - 1) + fib(n - 2)

    defactor worker(customer) do
      n -> send customer, fib(n)
    end
  end

  defmodule Processes do
    @moduledoc false

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
  def count(n), do: 2 * expected(n + 1) - 1

  @impl true
  def expected(n), do: 1..n |> Enum.reduce({0, 1}, fn _, {a, b} -> {b, a + b} end) |> elem(0)

  @impl true
  def processes(_n), do: 1

  @impl true
  def mote(machine, n) do
    worker = Mote.create(machine, Actors.worker(self()))
    [run: fn _ -> answer(fn -> Mote.send(worker, n) end) end]
  end

  @impl true
  def beam(n) do
    worker = spawn(Processes, :worker, [self()])
    [run: fn _ -> answer(fn -> send(worker, n) end) end]
  end

  @impl true
  def rust(fib, _n), do: trunc(fib)
end
