defmodule EpidemicTest do
  use ExUnit.Case, async: true

  doctest Epidemic
  doctest Epidemic.Dice
  doctest Epidemic.Network
  doctest Epidemic.Picture

  alias Epidemic.{Network, Person}

  test "a run depends on its seed alone" do
    opts = [people: 5_000, days: 120, app: 0.5]
    runs = for threads <- [1, 2, 3], do: Epidemic.run([threads: threads, seed: 3] ++ opts)
    assert [run] = Enum.uniq(runs)
    assert Epidemic.run([seed: 4] ++ opts) != run
  end

  test "as many are infected in the end as theory says" do
    for {odds, contacts} <- [{0.05, 10}, {0.03, 8}] do
      run = Epidemic.run(people: 20_000, days: 400, near: 0, far: contacts, odds: odds)
      last = List.last(run.days)
      assert last.incubating + last.infectious == 0
      assert_in_delta last.recovered / 20_000, Epidemic.final_size(contacts, odds, 7), 0.015
    end
  end

  test "below the threshold it ends by itself" do
    # Whoever is infected infects (contacts - 1) x t others: less than one.
    last = List.last(Epidemic.run(people: 20_000, days: 200, near: 0, far: 4, odds: 0.03).days)
    assert last.recovered < 1_000 and last.infectious == 0
  end

  test "everybody is somewhere on every day" do
    for day <- Epidemic.run(people: 3_000, days: 60).days do
      assert day.healthy + day.incubating + day.infectious + day.recovered == 3_000
    end
  end

  test "the app helps" do
    infected = fn app -> List.last(Epidemic.run(people: 20_000, days: 250, app: app).days).recovered end
    assert infected.(0.8) < 0.9 * infected.(0.0)
  end

  test "contacts are mutual, and nobody is a contact of their own" do
    for people <- [10, 998, 1_024], i <- 0..(people - 1), j <- Network.contacts(i, {people, 2, 3, 9}) do
      assert j in 0..(people - 1) and j != i
      assert i in Network.contacts(j, {people, 2, 3, 9})
    end
  end

  test "who is at home is not infected, and stays as long as the last warning says" do
    {:ok, machine} = Mote.start_link(clock: :manual)
    rules = {self(), 0, 8, 7, 0}
    with_app = Mote.create(machine, Person.healthy(rules, {}, 1, true, 0, -1))
    without = Mote.create(machine, Person.healthy(rules, {}, 1, false, 0, -1))
    state = fn person -> person |> Mote.info() |> Map.fetch!(:behaviour) |> Map.fetch!(:captures) end

    # Two warnings on one day are one, and the first day at home is the next one.
    for person <- [with_app, without], _ <- 1..2, do: Mote.send(person, :warned)
    :ok = Mote.drain(machine)
    assert state.(with_app) == {rules, {}, 1, true, 1, 14}
    assert state.(without) == {rules, {}, 1, false, 0, -1}
    assert_received :stays_home
    refute_received :stays_home

    # One that comes at home makes it longer.
    Mote.advance(machine, 3)
    Mote.send(with_app, :warned)
    Mote.send(with_app, :met)
    :ok = Mote.drain(machine)
    assert state.(with_app) == {rules, {}, 1, true, 1, 17}
    refute_received :infected

    Mote.advance(machine, 15)
    Mote.send(with_app, :met)
    :ok = Mote.drain(machine)
    assert_received :infected
    Mote.stop(machine)
  end
end
