defmodule Mote.Bench.Programs.Savina.ForkJoinCreate do
  # Fork join, creation, of the Savina suite (`fjcreate`: 40,000 actors): each of n actors is created, gets one message,
  # computes a sine and ends. Here each reports, too, so that the last one can be waited for.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n actors are created, get one message each, compute a sine and report",
    param: :n,
    defaults: [40_000],
    small: 50,
    metric: :ns_per_actor,
    expected: & &1,
    processes: &(&1 + 1)

  defmodule Actors do
    use Mote.Behaviour

    @batch 1_000

    defactor starter(customer) do
      n ->
        adder = create gather(customer, n, 0, fn number, sum -> number + sum end)
        send create(source(adder)), n
    end

    # A turn is bounded, so it creates a batch, and leaves the rest to the next one.
    defactor source(adder) do
      0 ->
        become sink()

      left ->
        batch = min(left, @batch)
        for _ <- 1..batch, do: send(create(worker(adder)), 0.5)
        send self(), left - batch
    end

    defactor worker(adder) do
      angle -> send adder, if(:math.sin(angle) > 0, do: 1, else: 0)
    end
  end

  defmodule Processes do
    @spec start(pid) :: pid
    def start(customer) do
      spawn(fn ->
        me = self()

        receive do
          n ->
            for _ <- 1..n, do: send(spawn(__MODULE__, :work, [me]), {:angle, 0.5})
            send(customer, join(n, 0))
        end
      end)
    end

    @spec work(pid) :: term
    def work(customer) do
      receive do
        {:angle, angle} -> send(customer, if(:math.sin(angle) > 0, do: 1, else: 0))
      end
    end

    defp join(0, sum), do: sum

    defp join(left, sum) do
      receive do
        number -> join(left - 1, sum + number)
      end
    end
  end

  @impl true
  def mote(machine, n), do: [run: asking(Mote.create(machine, Actors.starter(self())), n)]

  @impl true
  def beam(n), do: [run: asking(Processes.start(self()), n)]
end
