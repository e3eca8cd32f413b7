defmodule Mote.Bench.Programs.Savina.Fibonacci do
  # Fibonacci of the Savina suite (`fib`: 25): an actor for each call of the double recursion. (`fib` is the same as calls of a
  # function within a turn.)
  @moduledoc false

  use Mote.Bench.Program,
    title: "the n-th Fibonacci number by double recursion, an actor for each call",
    param: :n,
    defaults: [25],
    small: 8,
    metric: :ns_per_actor,
    count: &(2 * expected(&1) - 1),
    expected: fn n -> 1..n |> Enum.reduce({0, 1}, fn _, {a, b} -> {b, a + b} end) |> elem(0) end,
    processes: &count/1

  defmodule Actors do
    use Mote.Behaviour

    defactor fib(customer) do
      n when n <= 2 ->
        send customer, 1

      n ->
        for less <- 1..2, do: send(create(fib(self())), n - less)
        become gather(customer, 2, 0, fn number, sum -> number + sum end)
    end
  end

  defmodule Processes do
    @spec fib(pid) :: term
    def fib(customer) do
      receive do
        {:fib, n} when n <= 2 ->
          send(customer, 1)

        {:fib, n} ->
          for less <- 1..2, do: send(spawn(__MODULE__, :fib, [self()]), {:fib, n - less})
          send(customer, value() + value())
      end
    end

    defp value do
      receive do
        number -> number
      end
    end
  end

  @impl true
  def mote(machine, n), do: [run: asking(Mote.create(machine, Actors.fib(self())), n)]

  @impl true
  def beam(n), do: [run: asking(spawn(Processes, :fib, [self()]), {:fib, n})]
end
