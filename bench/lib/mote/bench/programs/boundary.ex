defmodule Mote.Bench.Programs.Boundary do
  # What one small message costs on each way into a machine and out of it. Into: the loop that sends, in the caller.
  # Out: from the first send of an actor, a thousand a turn, to when the process has had the last one; `pid_each` is one a
  # turn, `pid_alone` one that is asked for when the last has come, so it goes both ways, as a question does. On the BEAM
  # side a process stands for the actor, and there is one way in and one out.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n small messages on each way into a machine and out of it, then n / 10 questions",
    param: :n,
    defaults: [200_000],
    small: 100,
    metric: :ns_per_send,
    expected: & &1,
    processes: 1

  alias Mote.{Bench.Sample, Outbox}

  @turn 1_000

  defmodule Actors do
    use Mote.Behaviour

    defactor counter(count) do
      {customer, :read} -> send customer, count
      {:add, n} -> become counter(count + n)
    end

    defactor teller() do
      {to, from, last} ->
        upto = min(from + 999, last)
        for n <- from..upto, do: send(to, {:number, n})
        if upto < last, do: send(self(), {to, upto + 1, last})

      {:each, to, n, last} ->
        send to, {:number, n}
        if n < last, do: send(self(), {:each, to, n + 1, last})
    end
  end

  defmodule Processes do
    use GenServer

    @impl true
    def init(nil), do: {:ok, 0}

    @impl true
    def handle_call(:read, _from, count), do: {:reply, count, count}

    @impl true
    def handle_info({:add, n}, count), do: {:noreply, count + n}

    def handle_info({to, first, last}, count) do
      for n <- first..last, do: send(to, {:number, n})
      {:noreply, count}
    end
  end

  @impl true
  def measures(%Sample{stages: stages, param: n}) do
    for %{name: name, ns: ns} <- stages, name not in [:arrive, :check] do
      {:"ns_per_#{name}", ns / if(name in [:ask, :ask_all, :pid_alone], do: questions(n), else: n)}
    end
  end

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(0))
    teller = Mote.create(machine, Actors.teller())
    outbox = Outbox.open(machine, capacity: n)
    messages = List.duplicate({:add, 1}, n)
    arrive = {:arrive, fn _ -> Mote.drain(machine, :infinity) end}

    [
      {:send, fn _ -> repeat(n, fn -> Mote.send(counter, {:add, 1}) end) end},
      arrive,
      {:send_many, fn _ -> :ok = Mote.send_many(counter, messages) end},
      arrive,
      {:cast_stream, fn _ -> {:ok, ^n} = Mote.cast_stream(counter, messages) end},
      arrive,
      {:pid, fn _ -> Mote.send(teller, {self(), 1, n}) && receive_all(n) end},
      {:pid_off_heap, fn _ -> off_heap(fn -> Mote.send(teller, {self(), 1, n}) && receive_all(n) end) end},
      {:pid_each, fn _ -> Mote.send(teller, {:each, self(), 1, n}) && receive_all(n) end},
      {:pid_alone,
       fn _ -> repeat(questions(n), fn -> Mote.send(teller, {self(), 1, 1}) && receive_all(1) end) end},
      {:outbox, fn _ -> Mote.send(teller, {outbox, 1, n}) && take_all(outbox, n) end},
      {:outbox_stream,
       fn _ ->
         Mote.send(teller, {outbox, 1, n}) && outbox |> Outbox.stream() |> Stream.take(n) |> Stream.run()
       end},
      {:ask, fn _ -> repeat(questions(n), fn -> Mote.ask(counter, :read) end) end},
      {:ask_all, fn _ -> counter |> List.duplicate(questions(n)) |> Mote.ask_all(:read) end},
      {:check, fn _ -> div(Mote.ask!(counter, :read), 3) end}
    ]
  end

  @impl true
  def beam(n) do
    {:ok, server} = GenServer.start_link(Processes, nil)

    [
      send: fn _ -> repeat(n, fn -> send(server, {:add, 1}) end) end,
      arrive: fn _ -> GenServer.call(server, :read, :infinity) end,
      pid: fn _ -> told(server, n) end,
      pid_off_heap: fn _ -> off_heap(fn -> told(server, n) end) end,
      pid_alone: fn _ -> repeat(questions(n), fn -> told(server, 1) end) end,
      ask: fn _ -> repeat(questions(n), fn -> GenServer.call(server, :read) end) end,
      check: fn _ -> GenServer.call(server, :read) end
    ]
  end

  defp told(server, n) do
    send(server, {self(), 1, n})
    receive_all(n)
  end

  defp questions(n), do: div(n, 10)

  # What waits is not on the heap of the process then, and is not moved by its collections.
  defp off_heap(fun) do
    before = Process.flag(:message_queue_data, :off_heap)
    result = fun.()
    Process.flag(:message_queue_data, before)
    result
  end

  defp receive_all(0), do: :ok
  defp receive_all(n), do: receive(do: ({:number, _} -> receive_all(n - 1)))

  defp take_all(_outbox, 0), do: :ok

  defp take_all(outbox, left) do
    case Outbox.take(outbox, @turn) do
      [] -> receive(do: ({:mote_outbox, ^outbox} -> take_all(outbox, left)))
      messages -> take_all(outbox, left - length(messages))
    end
  end
end
