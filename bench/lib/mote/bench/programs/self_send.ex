defmodule Mote.Bench.Programs.SelfSend do
  # What one send and one turn cost: an actor counts down from n by messages to itself. That is done 1,000 times, each
  # under a clock of its own, so there is not only a middle but also a spread.
  @moduledoc false

  @times 1_000

  use Mote.Bench.Program,
    title: "an actor counts down from n by messages to itself, 1,000 times",
    param: :n,
    defaults: [10_000],
    small: 5,
    metric: :ns_per_message,
    count: &(&1 * @times),
    expected: :done,
    processes: 1,
    # Every one of the 1,000 is a value.
    measures: & &1.figures,
    plot: [kind: :histogram]

  alias Mote.Bench.Measure

  defmodule Actors do
    use Mote.Behaviour

    defactor counter(customer) do
      0 -> send customer, :done
      n -> send self(), n - 1
    end
  end

  defmodule Processes do
    @spec counter(pid) :: term
    def counter(customer) do
      receive do
        :stop ->
          :ok

        0 ->
          send(customer, :done)
          counter(customer)

        n ->
          send(self(), n - 1)
          counter(customer)
      end
    end
  end

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(self()))
    [run: fn _ -> times(n, fn -> answer(fn -> Mote.send(counter, n) end) end) end]
  end

  @impl true
  def beam(n) do
    counter = spawn(Processes, :counter, [self()])

    [
      run: fn _ -> times(n, fn -> answer(fn -> send(counter, n) end) end) end,
      stop: fn done ->
        send(counter, :stop)
        done
      end
    ]
  end

  defp times(n, run) do
    times =
      for _ <- 1..@times do
        start = System.monotonic_time(:nanosecond)
        :done = run.()
        (System.monotonic_time(:nanosecond) - start) / n
      end

    p99 = times |> Enum.sort() |> Enum.at(div(@times * 99, 100))
    median = Measure.median(times)
    mad = times |> Enum.map(&abs(&1 - median)) |> Measure.median()
    figures = Enum.map(times, &{:ns_per_message, &1}) ++ [ns_per_message_p99: p99, ns_per_message_mad: mad]
    {:figures, figures, :done}
  end
end
