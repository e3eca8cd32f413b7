defmodule Mote.Bench.Programs.Door do
  # What a process pays at the door of a machine, call by call: asking, creating, sending to one actor and to as many as
  # there are messages; and what a small machine takes from its start to the first answer, and of memory. On the BEAM side
  # a process stands for an actor.
  #
  # The addresses that `create_many` returns are those that are sent to. A small machine has one actor, which has
  # answered; it is told to stop at the end.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n creates and sends to one and to n actors, n / 10 questions, n / 1000 small machines",
    param: :n,
    defaults: [100_000],
    small: 1_000,
    metric: :ns_per_ask,
    expected: &(2 * &1),
    processes: &(&1 + 1)

  alias Mote.Bench.{Memory, Sample}

  # Milliseconds in which a machine that has answered gives back what it does not need.
  @rest 300

  defmodule Actors do
    use Mote.Behaviour

    defactor counter(count) do
      {customer, :read} -> send customer, count
      {:add, n} -> become counter(count + n)
    end
  end

  defmodule Server do
    use GenServer

    @impl true
    def init(count), do: {:ok, count}

    @impl true
    def handle_call(:read, _from, count), do: {:reply, count, count}

    @impl true
    def handle_info({:add, n}, count), do: {:noreply, count + n}
  end

  @impl true
  def measures(%Sample{stages: stages, figures: figures, param: n}) do
    for(
      %{name: name, ns: ns} <- stages,
      name not in [:arrive, :small, :check],
      do: {:"ns_per_#{name}", ns / if(name == :ask, do: questions(n), else: n)}
    ) ++ figures
  end

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(0))
    arrive = {:arrive, &then(Mote.drain(machine, :infinity), fn :ok -> &1 end)}
    to_one = List.duplicate({counter, {:add, 1}}, n)
    behaviours = for i <- 1..n, do: Actors.counter(i)

    [
      {:ask, fn _ -> repeat(questions(n), fn -> {:ok, _} = Mote.ask(counter, :read) end) end},
      {:create, fn _ -> repeat(n, fn -> Mote.create(machine, Actors.counter(0)) end) end},
      {:create_many, fn _ -> Mote.create_many(machine, behaviours) end},
      {:create_copies, fn _ -> Mote.create_many(machine, Actors.counter(0), n) end},
      {:send, &each(&1, fn _ -> Mote.send(counter, {:add, 1}) end)},
      arrive,
      {:send_to_each, &each(&1, fn actor -> Mote.send(actor, {:add, 1}) end)},
      arrive,
      {:send_many, fn actors -> Mote.send_many(to_one) && actors end},
      arrive,
      {:send_many_to_each, fn actors -> Mote.send_many(for actor <- actors, do: {actor, {:add, 1}}) end},
      arrive,
      {:small, fn _ -> small_machines(max(div(n, 1_000), 1)) end},
      {:check, fn _ -> Mote.ask!(counter, :read) end}
    ]
  end

  @impl true
  def beam(n) do
    {:ok, server} = GenServer.start_link(Server, 0)
    me = self()

    [
      ask: fn _ -> repeat(questions(n), fn -> GenServer.call(server, :read) end) end,
      create: fn _ -> repeat(n, fn -> spawn(fn -> :ok end) end) end,
      spawned: fn _ -> for(_ <- 1..n, do: spawn(fn -> count_adds(me) end)) end,
      send: &each(&1, fn _ -> send(server, {:add, 1}) end),
      arrive: &(GenServer.call(server, :read, :infinity) && &1),
      send_to_each: &each(&1, fn process -> send(process, {:add, 1}) end),
      end: fn processes -> each(processes, &Process.exit(&1, :kill)) end,
      check: fn _ -> 2 * GenServer.call(server, :read, :infinity) end
    ]
  end

  defp count_adds(owner), do: receive(do: ({:add, _} -> count_adds(owner)))

  # From the start of a machine to the first answer, the median; and the memory of one once all have rested.
  defp small_machines(count) do
    before = Memory.rss()
    started = for _ <- 1..count, do: :timer.tc(&answering_machine/0)
    Process.sleep(@rest)
    later = Memory.rss()
    for {_, machine} <- started, do: Mote.stop(machine)
    times = started |> Enum.map(&elem(&1, 0)) |> Enum.sort()
    bytes = if before && later, do: (later - before) / count
    {:figures, [us_per_first_answer: Enum.at(times, div(count, 2)), rss_bytes_per_small_machine: bytes], :ok}
  end

  defp answering_machine do
    {:ok, machine} = Mote.start_link()
    {:ok, 1} = machine |> Mote.create(Actors.counter(1)) |> Mote.ask(:read)
    machine
  end

  defp questions(n), do: div(n, 10)

  defp each(targets, fun) do
    Enum.each(targets, fun)
    targets
  end
end
