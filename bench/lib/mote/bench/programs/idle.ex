defmodule Mote.Bench.Programs.Idle do
  # What an actor costs that does nothing: n of them are built, each holding the address of the one before, and the
  # growth of the process's memory is divided by n. Then one message travels through all of them, which also
  # proves that they were there. Every run is in a fresh node, for the sake of the memory.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n idle actors, each holding the address of the next; then a message through all",
    param: :n,
    defaults: [1_000_000, 10_000_000],
    small: 5_000,
    metric: :bytes_per_actor,
    expected: &{:through, &1},
    processes: & &1,
    fresh: true,
    settle: 200,
    plot: [sizes: [100_000, 1_000_000], full: [100_000, 1_000_000, 10_000_000], kind: :bars]

  alias Mote.Bench.Sample

  defmodule Actors do
    use Mote.Behaviour

    @batch 1_000

    # `{customer, head, n}`: n more holders in front of the head. A batch a turn, since turns are bounded.
    defactor builder do
      {customer, head, 0} ->
        send customer, head

      {customer, head, n} ->
        batch = min(n, @batch)
        head = Enum.reduce(1..batch, head, fn _index, next -> create(holder(next)) end)
        send self(), {customer, head, n - batch}
    end

    defactor holder(next) do
      message -> send next, message
    end
  end

  defmodule Processes do
    # Hibernating is how a process says that it will be idle: its heap shrinks to what is alive in it, which takes
    # a third of the memory of one that only waits.

    @spec build(pid, pid, non_neg_integer) :: term
    def build(customer, head, 0), do: send(customer, head)
    def build(customer, next, n), do: build(customer, spawn(__MODULE__, :holder, [next]), n - 1)

    @spec holder(pid) :: no_return
    def holder(next), do: :erlang.hibernate(__MODULE__, :forward, [next])

    @spec forward(pid) :: term
    def forward(next) do
      receive do
        message -> send(next, message)
      end
    end
  end

  @impl true
  def measures_fresh(%Sample{param: n} = sample) do
    build = Sample.stage(sample, :build)
    travel = Sample.stage(sample, :travel)

    [
      bytes_per_actor: Sample.per(build.rss, sample.before, n),
      peak_rss_bytes: sample.peak,
      ns_per_actor: build.ns / n,
      ns_per_message: travel.ns / n
    ]
  end

  @impl true
  def mote(machine, n) do
    builder = Mote.create(machine, Actors.builder())
    me = self()

    [
      build: asking(builder, {me, me, n}),
      travel: fn head -> answer(fn -> Mote.send(head, {:through, n}) end) end
    ]
  end

  @impl true
  def beam(n) do
    me = self()

    [
      build: fn _ -> answer(fn -> spawn(Processes, :build, [me, me, n]) end) end,
      travel: fn head -> answer(fn -> send(head, {:through, n}) end) end
    ]
  end
end
