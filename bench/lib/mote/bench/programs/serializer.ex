defmodule Mote.Bench.Programs.Serializer do
  # n round trips to a service through a serializer, and n without one, in turns of a tenth each: what a round trip takes,
  # in ns and in sends. A send is half of a round trip without the serializer: two sends, each with its turn.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n round trips through a serializer, in ns and in sends of the same service without one",
    param: :n,
    defaults: [1_000_000],
    small: 100,
    metric: :ns_per_round_trip,
    expected: :done,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]]

  @parts 10

  defmodule Actors do
    use Mote.Behaviour

    defactor client(service, customer) do
      0 -> send customer, :done
      n -> send service, {self(), n}
    end

    defactor service do
      {customer, n} -> send customer, n - 1
    end
  end

  @impl true
  def mote(machine, n) do
    service = Mote.create(machine, Actors.service())
    gate = Mote.create(machine, Mote.Library.serializer(service))
    through = Mote.create(machine, Actors.client(gate, self()))
    beside = Mote.create(machine, Actors.client(service, self()))
    part = max(div(n, @parts), 1)

    [
      run: fn _ ->
        times = for _ <- 1..@parts, do: {time(through, part), time(beside, part)}
        {through, beside} = Enum.unzip(times)
        round_trip = Enum.sum(through) / (@parts * part)
        send = Enum.sum(beside) / (@parts * part) / 2

        figures = [
          ns_per_round_trip: round_trip,
          ns_per_send: send,
          ratio_round_trip_vs_send: round_trip / send
        ]

        {:figures, figures, :done}
      end
    ]
  end

  defp time(client, n) do
    start = System.monotonic_time(:nanosecond)
    :done = answer(fn -> Mote.send(client, n) end)
    System.monotonic_time(:nanosecond) - start
  end
end
