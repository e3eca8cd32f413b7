defmodule Mote.Bench.Programs.Counting do
  # One producer, one counter: n messages in one direction. An actor's turn is bounded, so the producer sends a
  # batch and then itself the rest; a process just loops, and the scheduler interrupts it.
  @moduledoc false

  use Mote.Bench.Program,
    title: "one producer sends n messages to one counter",
    param: :n,
    defaults: [5_000_000],
    small: 1_000,
    metric: :ns_per_message

  defmodule Actors do
    @moduledoc false
    use Mote.Behaviour

    @batch 1_000

    defactor producer(counter, customer) do
      0 ->
        send counter, {customer, :read}

      n ->
        batch = min(n, @batch)
        for _ <- 1..batch, do: send(counter, :tick)
        send self(), n - batch
    end

    defactor counter(count) do
      :tick -> become counter(count + 1)
      {customer, :read} -> send customer, count
    end
  end

  defmodule Processes do
    # The counter's queue gets long: off the heap it is not copied by the collector, which halves the time.
    @moduledoc false

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
  def count(n), do: n

  @impl true
  def expected(n), do: n

  @impl true
  def processes(_n), do: 2

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(0))
    producer = Mote.create(machine, Actors.producer(counter, self()))
    [run: fn _ -> answer(fn -> Mote.send(producer, n) end) end]
  end

  @impl true
  def beam(n) do
    producer = Processes.start()
    me = self()
    [run: fn _ -> answer(fn -> send(producer, {me, n}) end) end]
  end
end
