defmodule Mote.Bench.Programs.Counting do
  # One producer, one counter: n messages in one direction. An actor's turn is bounded, so the producer sends a
  # batch and then itself the rest; a process just loops, and the scheduler interrupts it. Where threads are many,
  # the question for the count may overtake some of what is to be counted: so it says how much that is.
  @moduledoc false

  use Mote.Bench.Program,
    title: "one producer sends n messages to one counter",
    param: :n,
    defaults: [5_000_000],
    small: 1_000,
    metric: :ns_per_message,
    expected: & &1,
    processes: 2

  defmodule Actors do
    use Mote.Behaviour

    @batch 1_000

    # `{total, left}`
    defactor producer(counter, customer) do
      {total, 0} ->
        send counter, {customer, total}

      {total, left} ->
        batch = min(left, @batch)
        for _ <- 1..batch, do: send(counter, :tick)
        send self(), {total, left - batch}
    end

    defactor counter(count) do
      :tick -> become counter(count + 1)
      {customer, total} when total == count -> send customer, count
      {customer, total} -> become asked(customer, total, count)
    end

    defactor asked(customer, total, count) do
      :tick when count + 1 < total -> become asked(customer, total, count + 1)
      :tick -> send customer, count + 1
    end
  end

  defmodule Processes do
    # The counter's queue gets long: off the heap it is not copied by the collector, which halves the time.

    @options [message_queue_data: :off_heap]

    @spec start() :: pid
    def start do
      spawn(fn ->
        counter = :erlang.spawn_opt(__MODULE__, :counter, [0], @options)

        receive do
          {customer, n} -> produce(counter, customer, n)
        end
      end)
    end

    defp produce(counter, customer, 0), do: send(counter, {customer, :read})

    defp produce(counter, customer, n) do
      send(counter, :tick)
      produce(counter, customer, n - 1)
    end

    @spec counter(non_neg_integer) :: term
    def counter(count) do
      receive do
        :tick -> counter(count + 1)
        {customer, :read} -> send(customer, count)
      end
    end
  end

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(0))
    producer = Mote.create(machine, Actors.producer(counter, self()))
    [run: asking(producer, {n, n})]
  end

  @impl true
  def beam(n), do: [run: asking(Processes.start(), {self(), n})]
end
