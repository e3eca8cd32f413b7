defmodule Mote.Bench.Programs.Hot do
  # The worst case for threads: everybody sends to the same actor, which becomes with every message. Each producer
  # sends one message a turn and then itself the rest, so that all of them are on their way at any time.
  @moduledoc false

  @producers 1_000

  use Mote.Bench.Program,
    title: "1,000 producers send n messages each to one counter, one a turn",
    param: :n,
    defaults: [1_000],
    small: 3,
    metric: :ns_per_message,
    count: &(@producers * &1),
    expected: :done,
    processes: @producers + 1

  defmodule Actors do
    use Mote.Behaviour

    @producers 1_000

    defactor starter(counter) do
      n ->
        for _ <- 1..@producers do
          producer = create producer(counter)
          send producer, n
        end
    end

    defactor producer(counter) do
      1 ->
        send counter, :tick

      n ->
        send counter, :tick
        send self(), n - 1
    end

    defactor counter(left, customer) do
      :tick when left > 1 -> become counter(left - 1, customer)
      :tick -> send customer, :done
    end
  end

  defmodule Processes do
    # Off-heap as in `counting`: the counter's queue gets long.

    @options [message_queue_data: :off_heap]

    @spec start(pos_integer, pos_integer, pos_integer, pid) :: term
    def start(producers, n, left, customer) do
      counter = :erlang.spawn_opt(__MODULE__, :counter, [left, customer], @options)
      for _ <- 1..producers, do: spawn(__MODULE__, :produce, [counter, n])
    end

    @spec produce(pid, non_neg_integer) :: :ok
    def produce(_counter, 0), do: :ok

    def produce(counter, n) do
      send(counter, :tick)
      produce(counter, n - 1)
    end

    @spec counter(non_neg_integer, pid) :: term
    def counter(0, customer), do: send(customer, :done)

    def counter(left, customer) do
      receive do
        :tick -> counter(left - 1, customer)
      end
    end
  end

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(count(n), self()))
    starter = Mote.create(machine, Actors.starter(counter))
    [run: asking(starter, n)]
  end

  @impl true
  def beam(n) do
    me = self()
    [run: fn _ -> answer(fn -> Processes.start(@producers, n, count(n), me) end) end]
  end
end
