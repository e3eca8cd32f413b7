defmodule Mote.Bench.Programs.Record do
  # What being recorded costs a machine: at the door, where processes send and ask, and inside, where a ring of actors runs. Then the recording of
  # the ring is run again, beside what the ring took live, and one turn is gone back at the end of it.
  #
  # Rounds with and without `record:` come in turns; each figure is of the fastest of them.
  @moduledoc false

  use Mote.Bench.Program,
    title:
      "n messages in bursts, n / 100 questions and a ring of 50 n turns, with record: and without; the ring run again",
    param: :n,
    defaults: [2_000_000],
    small: 2_000,
    metric: :percent_door,
    expected: & &1

  alias Mote.Bench.Sample
  alias Mote.Replay

  @rounds 5
  @burst 1_000
  @ring 100

  defmodule Actors do
    use Mote.Behaviour

    defactor counter(count) do
      {:add, n} -> become(counter(count + n))
      {customer, :read} -> send(customer, count)
    end

    # Each turn becomes and sends, as turns do.
    defactor member(next, turns) do
      {:next, next} ->
        become(member(next, turns))

      0 ->
        become(member(next, turns + 1))

      n ->
        send(next, n - 1)
        become(member(next, turns + 1))
    end
  end

  @impl true
  def measures(%Sample{figures: figures}), do: figures

  @impl true
  def mote(_machine, n), do: [{:all, fn _ -> all(n) end}]

  defp all(n) do
    dir = Path.join(System.tmp_dir!(), "mote_bench_record_#{System.unique_integer([:positive])}")

    try do
      {bursts, bursts_recorded} = in_turns(dir, &bursts(&1, n))
      {asks, asks_recorded} = in_turns(dir, &asks(&1, div(n, 100)))
      {ring, ring_recorded} = in_turns(dir, &ring(&1, 50 * n))
      {by_live, back_ms} = again(dir, 50 * n, ring)

      figures = [
        percent_door: percent(bursts_recorded, bursts),
        percent_ask: percent(asks_recorded, asks),
        ns_per_message: 1_000 * bursts / n,
        ns_per_ask: 100_000 * asks / n,
        percent_inside: percent(ring_recorded, ring),
        by_live: by_live,
        back_ms: back_ms
      ]

      {:figures, figures, n}
    after
      File.rm_rf!(dir)
    end
  end

  defp percent(recorded, plain), do: 100 * (recorded / plain - 1)

  # The least microseconds without a recording, and with one.
  defp in_turns(dir, act) do
    rounds =
      for _ <- 1..@rounds do
        plain = with_machine([], act)
        # The last one stays, to be run again.
        File.rm_rf!(dir)
        {plain, with_machine([record: dir], act)}
      end

    {plain, recorded} = Enum.unzip(rounds)
    {Enum.min(plain), Enum.min(recorded)}
  end

  defp with_machine(opts, act) do
    {:ok, machine} = Mote.start_link(opts)
    us = act.(machine)
    Mote.stop(machine)
    us
  end

  defp bursts(machine, n) do
    counter = Mote.create(machine, Actors.counter(0))
    messages = List.duplicate({:add, 1}, min(n, @burst))

    {us, ^n} =
      :timer.tc(fn ->
        for _ <- 1..div(n, length(messages)), do: :ok = Mote.send_many(counter, messages)
        Mote.ask!(counter, :read, :infinity)
      end)

    us
  end

  defp asks(machine, n) do
    counter = Mote.create(machine, Actors.counter(0))
    {us, _} = :timer.tc(fn -> for _ <- 1..n, do: Mote.ask!(counter, :read) end)
    us
  end

  defp ring(machine, turns) do
    first = Mote.create(machine, Actors.member(nil, 0))

    last = Enum.reduce(2..@ring, first, fn _, next -> Mote.create(machine, Actors.member(next, 0)) end)

    Mote.send(first, {:next, last})
    # Until there is native code.
    Mote.send(first, 1_000)
    Mote.drain(machine)

    {us, :ok} =
      :timer.tc(fn ->
        Mote.send(first, turns - 1)
        Mote.drain(machine, :infinity)
      end)

    us
  end

  # The speed of the fastest replay beside the live one, and the milliseconds that a step back takes at the end.
  defp again(dir, turns, live) do
    {us, back} = 1..@rounds |> Enum.map(fn _ -> replay(dir, turns) end) |> Enum.min()
    {live / us, back / 1_000}
  end

  defp replay(dir, turns) do
    {:ok, replay} = Replay.open(dir)
    {:ok, %{turn: begun}} = Replay.forward(replay, 1_000)
    {us, {:ok, %{turn: last}}} = :timer.tc(fn -> Replay.forward(replay, :end) end)
    true = last >= turns
    # The last image may be near: so from before it as well.
    backs = for turns <- [1, 2_000, 1], do: fn -> Replay.back(replay, turns) end |> :timer.tc() |> elem(0)
    Replay.close(replay)
    {us * turns / (last - begun), Enum.max(backs)}
  end
end
