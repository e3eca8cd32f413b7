defmodule Mote.Bench.Programs.Sendx do
  # What it costs to go to another sponsor's thread and back, when that thread is looking for work anyway and when it
  # sleeps.
  #
  # Awake: n round trips one after the other; no thread waits long enough to go to sleep. Parked: single round trips
  # with a pause before each. What the way from Elixir into the machine and back costs is measured in between, by
  # the same message without the round trip, and taken off.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n round trips between two sponsors of one thread each",
    param: :n,
    defaults: [200_000],
    small: 100,
    metric: :ns_per_round_trip_awake,
    expected: :done,
    machines: [mote: [here: [threads: 1], there: [threads: 1]]]

  alias Mote.Bench.{Measure, Sample}

  @parked 100
  # Milliseconds; threads look for work for a fraction of one before they sleep.
  @pause 1

  defmodule Actors do
    use Mote.Behaviour

    defactor ping(pong, customer) do
      0 -> send customer, :done
      n -> sendx :there, pong, {self(), n}
    end

    defactor pong do
      {customer, n} -> sendx :here, customer, n - 1
    end
  end

  @impl true
  def measures(%Sample{param: n} = sample) do
    [{:ns_per_round_trip_awake, Sample.stage(sample, :awake).ns / n} | sample.figures]
  end

  @impl true
  def mote(machine, n) do
    pong = Mote.create(machine, Actors.pong())
    ping = Mote.create(machine, Actors.ping(pong, self()))
    send_ping = fn n -> answer(fn -> Mote.send(ping, n, sponsor: :here) end) end

    [
      awake: fn _ -> send_ping.(n) end,
      parked: fn :done -> parked(send_ping, min(n, @parked)) end
    ]
  end

  defp parked(send_ping, times) do
    {with_trip, without} = Enum.unzip(for _ <- 1..times, do: {pause(send_ping, 1), pause(send_ping, 0)})
    ns = Measure.median(with_trip) - Measure.median(without)
    {:figures, [ns_per_round_trip_parked: ns], :done}
  end

  defp pause(send_ping, n) do
    Process.sleep(@pause)
    start = System.monotonic_time()
    :done = send_ping.(n)
    System.convert_time_unit(System.monotonic_time() - start, :native, :nanosecond)
  end
end
