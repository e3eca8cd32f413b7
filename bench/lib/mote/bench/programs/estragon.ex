defmodule Mote.Bench.Programs.Estragon do
  # Waiting for Godot: n actors that wait for one message, and what each of them costs meanwhile. Then Godot arrives: one
  # message to each, and each says so. Every run is in a fresh node, for the sake of the memory.
  #
  # In contrast to `idle` somebody knows all of them: the list of their addresses is part of the memory.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n actors wait for one message; memory meanwhile; then it comes for all of them",
    param: :n,
    defaults: [1_000, 100_000, 1_000_000],
    small: 2_500,
    metric: :bytes_per_actor,
    expected: &{:met, &1},
    processes: &(&1 + 1),
    fresh: true,
    settle: 200,
    plot: [
      sizes: [1_000, 10_000, 100_000],
      full: [1, 1_000, 2_500, 10_000, 100_000, 900_000, 1_000_000, 10_000_000]
    ]

  alias Mote.Bench.Sample

  defmodule Actors do
    use Mote.Behaviour

    # Turns are bounded: this many actors are made, or notified, in one.
    @batch 1_000

    defactor waiting(road) do
      :godot ->
        send road, :met
        become sink()
    end

    # Knows all of them, in lists of a batch each. `{:gather, customer, n}`: n more are to wait; `{:godot, customer}`: he
    # comes.
    defactor road(batches) do
      {:gather, customer, 0} ->
        send customer, :waiting

      {:gather, customer, n} ->
        batch = min(n, @batch)

        waiting =
          for _ <- 1..batch, reduce: [] do
            waiting -> [create(waiting(self())) | waiting]
          end

        become road([waiting | batches])
        send self(), {:gather, customer, n - batch}

      {:godot, customer} ->
        send self(), {:arrives, batches}
        become meeting(customer, 0, 0)
    end

    # Those whom he has still to meet are in the message. Nobody holds those whom he has met.
    defactor meeting(customer, told, met) do
      {:arrives, [batch | batches]} ->
        for person <- batch, do: send(person, :godot)
        become meeting(customer, told + length(batch), met)
        send self(), {:arrives, batches}

      {:arrives, []} when met == told ->
        send customer, {:met, met}

      {:arrives, []} ->
        become parting(customer, told - met, told)

      :met ->
        become meeting(customer, told, met + 1)
    end

    defactor parting(customer, open, told) do
      :met when open > 1 -> become parting(customer, open - 1, told)
      :met -> send customer, {:met, told}
    end
  end

  defmodule Processes do
    # Hibernating is how a process says that it will wait: see `idle`.

    @spec road(pid, pos_integer) :: term
    def road(customer, n) do
      road = self()
      people = for _ <- 1..n, do: spawn(__MODULE__, :waiting, [road])
      send(customer, {:waiting, road})

      receive do
        :godot -> for person <- people, do: send(person, :godot)
      end

      for _ <- people, do: receive(do: (:met -> :ok))
      send(customer, {:met, n})
    end

    @spec waiting(pid) :: no_return
    def waiting(road), do: :erlang.hibernate(__MODULE__, :met, [road])

    @spec met(pid) :: term
    def met(road) do
      receive do
        :godot -> send(road, :met)
      end
    end
  end

  @impl true
  def measures_fresh(%Sample{param: n} = sample) do
    gather = Sample.stage(sample, :gather)
    arrive = Sample.stage(sample, :arrive)

    [
      bytes_per_actor: Sample.per(gather.rss, sample.before, n),
      rss_bytes: gather.rss,
      peak_rss_bytes: sample.peak,
      ns_per_actor: gather.ns / n,
      ns_per_arrival: arrive.ns / n
    ]
  end

  @impl true
  def mote(machine, n) do
    road = Mote.create(machine, Actors.road([]))
    me = self()

    [
      gather: asking(road, {:gather, me, n}),
      arrive: fn :waiting -> answer(fn -> Mote.send(road, {:godot, me}) end) end
    ]
  end

  @impl true
  def beam(n) do
    me = self()

    [
      gather: fn _ -> answer(fn -> spawn(Processes, :road, [me, n]) end) end,
      arrive: fn {:waiting, road} -> answer(fn -> send(road, :godot) end) end
    ]
  end
end
