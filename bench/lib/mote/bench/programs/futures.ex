defmodule Mote.Bench.Programs.Futures do
  # What a future costs: n of them for next to no work, started in batches and touched.
  #
  # From Elixir they are `Mote.Future`s, beside tasks on the BEAM. Inside the machine a future is what an actor does for
  # one: it creates an actor, sends it a request and takes the answer.
  @moduledoc false

  @batch 1_000

  use Mote.Bench.Program,
    title: "n futures that do next to nothing, started a thousand at a time",
    param: :n,
    defaults: [100_000],
    small: 100,
    metric: :ns_per_future,
    expected: :done,
    processes: @batch

  alias Mote.Bench.Sample
  alias Mote.Future

  defmodule Actors do
    use Mote.Behaviour

    @batch 1_000

    defpure next(n) do
      n + 1
    end

    defactor work do
      {customer, n} -> send customer, next(n)
    end

    # `{customer, left}`
    defactor idle do
      {customer, 0} ->
        send customer, :done

      {customer, left} ->
        batch = min(left, @batch)

        for n <- 1..batch do
          future = create work()
          send future, {self(), n}
        end

        become busy(customer, left - batch, batch)
    end

    defactor busy(customer, left, open) do
      _answer when open == 1 ->
        send self(), {customer, left}
        become idle()

      _answer ->
        become busy(customer, left, open - 1)
    end
  end

  @impl true
  def measures(%Sample{param: n} = sample) do
    inside = Sample.stage(sample, :inside)

    [ns_per_future: Sample.stage(sample, :outside).ns / n] ++
      if(inside, do: [ns_per_future_inside: inside.ns / n], else: [])
  end

  @impl true
  def mote(machine, n) do
    me = self()
    actor = Mote.create(machine, Actors.idle())
    start = fn n -> Future.future(&Actors.next/1, [n], machine: machine) end

    [
      outside: fn _ -> batches(n, start, &Future.touch/1) end,
      inside: fn :done -> answer(fn -> Mote.send(actor, {me, n}) end) end
    ]
  end

  @impl true
  def beam(n) do
    start = fn n -> Task.async(fn -> Actors.next(n) end) end
    [outside: fn _ -> batches(n, start, &Task.await/1) end]
  end

  defp batches(0, _start, _touch), do: :done

  defp batches(left, start, touch) do
    batch = min(left, @batch)
    futures = Enum.map(1..batch, start)
    last = batch + 1
    ^last = futures |> Enum.map(touch) |> List.last()
    batches(left - batch, start, touch)
  end
end
