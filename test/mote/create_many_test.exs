defmodule Mote.CreateManyTest do
  use ExUnit.Case, async: true

  alias Mote.{Actors, Error, Tally}

  @moduletag capture_log: true

  setup do
    %{machine: start_supervised!({Mote, sponsors: [main: [], other: []]})}
  end

  defp values(actors), do: actors |> Mote.ask_all(:get) |> Enum.map(fn {:ok, value} -> value end)

  test "gives an address for each behaviour, in order", %{machine: machine} do
    assert Mote.create_many(machine, []) == []
    actors = Mote.create_many(machine, for(n <- 1..1_200, do: Actors.keeper(n)))
    assert values(actors) == Enum.to_list(1..1_200)
    assert Enum.uniq(actors) == actors
  end

  test "of several kinds, and of large captures", %{machine: machine} do
    large = Enum.to_list(1..10_000)
    long = :binary.copy("a", 10_000)

    behaviours = [
      Actors.keeper(1),
      Actors.pair(2, 3),
      Actors.keeper(large),
      Actors.keeper(long),
      Actors.keeper({self(), make_ref()}),
      Tally.tally(5),
      Actors.keeper(6)
    ]

    actors = Mote.create_many(machine, behaviours)
    [one, pair, list, text, _, tally, six] = actors
    assert values([one, pair, list, text, six]) == [1, {2, 3}, large, long, 6]
    assert Mote.ask(tally, 1) == {:ok, 6}
  end

  test "gives so many of one behaviour", %{machine: machine} do
    assert_raise ArgumentError, ~r/how many actors of .*create_many\(machine, behaviour, n\)/, fn ->
      Mote.create_many(machine, Actors.keeper(:a))
    end

    assert Mote.create_many(machine, Actors.keeper(:a), 0) == []
    actors = Mote.create_many(machine, Actors.keeper(:a), 1_001)
    assert length(Enum.uniq(actors)) == 1_001
    assert actors |> values() |> Enum.uniq() == [:a]
  end

  test "pins to a sponsor", %{machine: machine} do
    of_list = Mote.create_many(machine, [Actors.keeper(1), Actors.keeper(2)], sponsor: :other)
    copies = Mote.create_many(machine, Actors.keeper(1), 2, sponsor: :other)
    assert for(actor <- of_list ++ copies, do: Mote.info(actor).pinned) == [:other, :other, :other, :other]

    assert_raise Error, ~r/nowhere/, fn ->
      Mote.create_many(machine, [Actors.keeper(1)], sponsor: :nowhere)
    end
  end

  test "actors that nobody refers to any more are collected", %{machine: machine} do
    Mote.create_many(machine, Actors.keeper(1), 5_000)
    Mote.Eventually.collect(machine, 0)
    assert Mote.info(machine).gc.live_actors < 5_000
  end

  # Another process creates them.
  test "of a great many the caller gets all, or what went wrong", %{machine: machine} do
    many = 20_000
    actors = Mote.create_many(machine, for(n <- 1..many, do: Actors.keeper(n)))
    assert values(actors) == Enum.to_list(1..many)
    assert machine |> Mote.create_many(Actors.keeper(:a), many) |> Enum.uniq() |> length() == many
    assert Process.info(self(), :message_queue_len) == {:message_queue_len, 0}

    wrong = List.duplicate(Actors.keeper(1), many) ++ [:a]
    assert_raise ArgumentError, ~r/one of them is: :a/, fn -> Mote.create_many(machine, wrong) end

    assert_raise Error, ~r/nowhere/, fn ->
      Mote.create_many(machine, Actors.keeper(1), many, sponsor: :nowhere)
    end

    :ok = Mote.stop(machine)
    error = assert_raise Error, fn -> Mote.create_many(machine, Actors.keeper(1), many) end
    assert error.reason == :machine_down
  end

  test "creates none when one cannot be created" do
    machine = start_supervised!({Mote, memory: 16 * 1024 * 1024}, id: :small)
    behaviours = for n <- 1..100, do: Actors.keeper(List.duplicate(n, 100_000))
    error = assert_raise Error, fn -> Mote.create_many(machine, behaviours) end
    assert error.reason == :no_memory
    Mote.Eventually.collect(machine, 0)
    assert [_] = Mote.create_many(machine, [Actors.keeper(1)])
  end

  test "says what is wrong", %{machine: machine} do
    for wrong <- [[1], [Actors.keeper(1), :a], [Actors.keeper(1) | :tail], :none] do
      assert_raise ArgumentError, fn -> Mote.create_many(machine, wrong) end
    end

    for wrong <- [-1, :many, 1.0] do
      assert_raise ArgumentError, fn -> Mote.create_many(machine, Actors.keeper(1), wrong) end
    end

    assert_raise ArgumentError, fn -> Mote.create_many(machine, [Actors.keeper(1)], unknown: 1) end
    stale = %{Actors.keeper(1) | version: 1}
    assert_raise Error, fn -> Mote.create_many(machine, [Actors.keeper(1), stale]) end
    Mote.stop(machine)
    assert_raise Error, fn -> Mote.create_many(machine, [Actors.keeper(1)]) end
  end
end
