defmodule Mote.Bench.Programs.Savina.ForkJoinThroughput do
  # Fork join, throughput, of the Savina suite (`fjthrput`: 60 actors, 10,000 messages to each): a source sends to all in turn;
  # every message costs its receiver a sine. Each actor reports after its last message.
  @moduledoc false

  @actors 60

  use Mote.Bench.Program,
    title: "n messages to each of 60 actors, each of which computes a sine for every one",
    param: :n,
    defaults: [10_000],
    small: 5,
    metric: :ns_per_message,
    count: &(&1 * @actors),
    expected: @actors,
    processes: @actors + 1

  defmodule Actors do
    use Mote.Behaviour

    # The number is how many rounds are left.
    defactor source(workers) do
      0 ->
        become sink()

      left ->
        for worker <- workers, do: send(worker, :work)
        send self(), left - 1
    end

    defactor worker(left, angle, customer) do
      :work when left > 1 -> become left: left - 1, angle: angle + :math.sin(angle)
      :work -> send customer, if(angle + :math.sin(angle) > 0, do: 1, else: 0)
    end
  end

  defmodule Processes do
    @spec start(pos_integer, pid) :: pid
    def start(actors, customer) do
      spawn(fn ->
        source = self()

        receive do
          n ->
            workers = for _ <- 1..actors, do: spawn(fn -> work(n, 1.0, source) end)
            rounds(workers, n)
            send(customer, Enum.sum(for _ <- 1..actors, do: receive(do: ({:done, number} -> number))))
        end
      end)
    end

    defp rounds(_workers, 0), do: :ok

    defp rounds(workers, left) do
      for worker <- workers, do: send(worker, :work)
      rounds(workers, left - 1)
    end

    defp work(0, angle, customer), do: send(customer, {:done, if(angle > 0, do: 1, else: 0)})

    defp work(left, angle, customer) do
      receive do
        :work -> work(left - 1, angle + :math.sin(angle), customer)
      end
    end
  end

  @impl true
  def mote(machine, n) do
    adder = Mote.create(machine, Mote.Library.gather(self(), @actors))
    workers = for _ <- 1..@actors, do: Mote.create(machine, Actors.worker(n, 1.0, adder))
    source = Mote.create(machine, Actors.source(workers))
    [run: asking(source, n, &Enum.sum/1)]
  end

  @impl true
  def beam(n), do: [run: asking(Processes.start(@actors, self()), n)]
end
