defmodule Mote.Bench.Programs.Ask do
  # A question and its answer, n times one after the other: `Mote.ask/3` of an actor, and `GenServer.call/3` of a
  # process. Both sides wait for each other all the time, so it is about the ways in and out, and about waking.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n questions to one actor, each when the one before is answered",
    param: :n,
    defaults: [100_000],
    small: 100,
    metric: :ns_per_round_trip,
    expected: & &1,
    processes: 2

  defmodule Actors do
    use Mote.Behaviour

    defactor echo do
      {customer, request} -> send customer, request
    end
  end

  defmodule Server do
    use GenServer

    @impl true
    def init(nil), do: {:ok, nil}

    @impl true
    def handle_call(request, _from, state), do: {:reply, request, state}
  end

  @impl true
  def mote(machine, n) do
    echo = Mote.create(machine, Actors.echo())
    [run: fn _ -> repeat(n, 0, fn n -> Mote.ask(echo, n) |> elem(1) end) end]
  end

  @impl true
  def beam(n) do
    {:ok, server} = GenServer.start_link(Server, nil)
    [run: fn _ -> repeat(n, 0, &GenServer.call(server, &1)) end]
  end

  # The last answer.
  defp repeat(0, last, _ask), do: last

  defp repeat(left, last, ask) do
    answer = ask.(last + 1)
    repeat(left - 1, answer, ask)
  end
end
