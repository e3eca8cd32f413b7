defmodule EventsTest do
  use ExUnit.Case, async: true

  doctest Events.Dice
  doctest Events.Phold
  doctest Events.PholdProcesses
  doctest Events.Queues

  alias Events.{Dice, Phold, PholdProcesses, Queues}

  test "PHOLD has an event for each entity and unit of time, and depends on its seed alone" do
    opts = [entities: 500, first: 2, seconds: 100]
    %{events: events} = run = Phold.run(opts)
    assert_in_delta events / (500 * 2 * 100), 1.0, 0.02
    assert run == Phold.run(opts)
    assert run != Phold.run([seed: 2] ++ opts)
  end

  test "processes have as many events" do
    opts = [entities: 100, seconds: 100]
    assert_in_delta PholdProcesses.timed(opts).events / Phold.run(opts).events, 1.0, 0.05
  end

  test "customers of one line stay for as long as theory says" do
    for load <- [0.5, 0.8] do
      [line] = Queues.run(Queues.single(load), copies: 100, seconds: 5_000)
      assert_in_delta line.theory, 1_000 / (1 - load), 0.001
      assert_in_delta line.mean / line.theory, 1.0, 0.05
    end
  end

  test "customers of a network stay for as long as theory says, and all come through" do
    network = Queues.jackson()
    stations = Queues.run(network, copies: 100, seconds: 5_000)

    for {station, arrivals} <- Enum.zip(stations, network.arrivals) do
      assert_in_delta station.mean / station.theory, 1.0, 0.05
      assert_in_delta station.customers / (arrivals * 100 * 4_500_000), 1.0, 0.02
    end
  end

  test "a network depends on its seed alone" do
    opts = [copies: 10, seconds: 500]
    assert Queues.run(Queues.jackson(), opts) == Queues.run(Queues.jackson(), opts)
    assert Queues.run(Queues.jackson(), opts) != Queues.run(Queues.jackson(), [seed: 2] ++ opts)
  end

  test "times are exponential: as many are longer than any of them as after it" do
    {times, _dice} = Enum.map_reduce(1..100_000, 5, &{Dice.exponential(&2, 1_000 + 0 * &1), Dice.next(&2)})
    longer = fn time -> Enum.count(times, &(&1 > time)) / 100_000 end
    for time <- [500, 1_000, 3_000], do: assert_in_delta(longer.(time), :math.exp(-time / 1_000), 0.01)
  end

  test "the picture is a histogram of the times that customers stayed" do
    assert Events.Picture.text(Queues.single(0.5), copies: 5, seconds: 200) =~
             ~r/station 0.*measured.*theory/s
  end
end
