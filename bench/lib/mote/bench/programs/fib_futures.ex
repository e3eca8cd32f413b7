defmodule Mote.Bench.Programs.FibFutures do
  # How much a future must have to do for threads to pay: calls of fib(n), each in a future of its own, all started before
  # the first is touched. 20,000 of them, or fewer where each takes so long that they would take more than fib(18) does.
  #
  # In the machine a future is an actor that is created, asked and forgotten; from Elixir it is a `Mote.Future`, beside a
  # task on the BEAM.
  @moduledoc false

  @most 20_000
  # The one that decides how long all may take.
  @standard 18

  use Mote.Bench.Program,
    title: "up to 20,000 futures, each of them fib(n)",
    param: :n,
    defaults: [16, 19, 21, 22, 23, 25, 27, 30],
    small: 3,
    metric: :us_per_call,
    count: &min(@most, div(@most * work(@standard), work(&1)) + 1),
    expected: &(count(&1) * fibonacci(&1)),
    processes: &count/1,
    plot: [
      sizes: [10, 13, 16, 19, 21, 23],
      full: [10, 13, 16, 19, 21, 22, 23, 25, 27, 30],
      metric: :ratio_mt_vs_st,
      x: :linear,
      y: :linear
    ]

  alias Mote.Bench.Sample
  alias Mote.Future

  defmodule Actors do
    use Mote.Behaviour

    defpure fib(n) when n < 2, do: n
    defpure fib(n), do: fib(n - 1) + fib(n - 2)

    defactor future do
      {customer, n} -> send customer, fib(n)
    end

    defactor caller do
      {customer, n, calls} ->
        for _ <- 1..calls do
          future = create future()
          send future, {self(), n}
        end

        become touching(customer, calls, 0)
    end

    defactor touching(customer, open, sum) do
      answer when open > 1 -> become touching(customer, open - 1, sum + answer)
      answer -> send customer, sum + answer
    end
  end

  defmodule Processes do
    @spec fib(non_neg_integer) :: non_neg_integer
    def fib(n) when n < 2, do: n
    def fib(n), do: fib(n - 1) + fib(n - 2)
  end

  # How many times fib calls itself, and once more.
  defp work(n), do: 2 * fibonacci(n + 1) - 1

  defp fibonacci(n), do: 1..n |> Enum.reduce({0, 1}, fn _, {a, b} -> {b, a + b} end) |> elem(0)

  @impl true
  def measures(%Sample{param: n} = sample) do
    for {metric, name} <- [us_per_call: :inside, us_per_call_from_elixir: :outside],
        stage = Sample.stage(sample, name),
        do: {metric, stage.ns / count(n) / 1_000}
  end

  @impl true
  def mote(machine, n) do
    calls = count(n)
    caller = Mote.create(machine, Actors.caller())
    me = self()
    start = fn n -> Future.future(&Actors.fib/1, [n], machine: machine) end

    [
      outside: fn _ -> futures(n, calls, start, &Future.touch/1) end,
      inside: fn sum -> fn -> Mote.send(caller, {me, n, calls}) end |> answer() |> same(sum) end
    ]
  end

  @impl true
  def beam(n) do
    start = fn n -> Task.async(fn -> Processes.fib(n) end) end
    [inside: fn _ -> futures(n, count(n), start, &Task.await(&1, :infinity)) end]
  end

  defp futures(n, calls, start, touch) do
    futures = for _ <- 1..calls, do: start.(n)
    for future <- futures, reduce: 0, do: (sum -> sum + touch.(future))
  end

  defp same(sum, sum), do: sum
  defp same(sum, outside), do: {:inside, sum, :outside, outside}
end
