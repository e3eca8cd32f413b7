defmodule Mote.Dashboard.DataTest do
  use ExUnit.Case, async: true

  alias Mote.{Actors, Holders}
  alias Mote.Dashboard.Data

  defmodule Waiter do
    use Mote.Behaviour

    defactor waiter(), beam: true do
      test -> Mote.Dashboard.DataTest.wait(test)
    end
  end

  def wait(test) do
    Kernel.send(test, {:here, self()})
    receive do: (:go -> :ok)
  end

  # The terms themselves, to see what is handed out.
  defp keep(terms), do: terms

  test "a snapshot says what the machine has done" do
    machine =
      start_supervised!(
        {Mote,
         sponsors: [b: [threads: 2], a: [threads: 1], io: [beam: true], net: [io: true]], memory: 64_000_000}
      )

    {:ok, socket} = Mote.Net.udp(machine)
    counter = Mote.create(machine, Actors.counter(0), sponsor: :a)
    for n <- 1..10, do: Mote.send(counter, {:add, n})
    :ok = Mote.drain(machine, 60_000)

    assert %{state: :running, clock: :system, name: name, pid: name, counters: counters} =
             data = Data.snapshot(machine)

    assert name == inspect(machine)
    assert data.memory.limit == 64_000_000
    # In the order of the machine; only what has an order of turns is stepped through.
    assert [
             %{name: :b, steps: false, threads: [_, _], sockets: nil},
             %{name: :a, label: ":a", steps: true, threads: [%{turns: 10}]},
             %{name: :io, steps: false, beam: true},
             %{name: :net, sockets: 1}
           ] = data.sponsors

    assert %{turns: 10, becomes: 10, aborts: 0} = counters
    assert data.references == 2
    # Held until here.
    assert {Mote.info(counter).sponsor, Mote.info(socket).sponsor} == {:a, :net}
    :ok = Mote.pause(machine)
    assert %{state: :paused} = Data.snapshot(machine)
    :ok = Mote.stop(machine)
    assert %{state: :stopped, why: _} = Data.snapshot(machine)
  end

  test "what was done in a second is told of the same sponsor only" do
    thread = %{turns: 100, sends: 50, creates: 0, aborts: 0, busy_ns: 1_000_000_000}
    sponsor = %{name: :a, label: ":a", started: 7, waiting: 3, threads: [thread, thread]}
    before = %{at: 1_000, sponsors: [sponsor]}
    later = %{thread | turns: 300, sends: 51, busy_ns: 2_000_000_000}
    now = %{at: 3_000, sponsors: [%{sponsor | threads: [later, thread]}]}

    assert Data.rates(now, before) == [
             %{label: ":a", threads: 2, waiting: 3, turns: 100, sends: 0.5, creates: 0, aborts: 0, busy: 0.25}
           ]

    another = %{at: 1_000, sponsors: [%{sponsor | started: 6}]}

    for earlier <- [nil, another, %{at: 1_000, state: :stopped, why: ""}],
        do: assert([%{turns: nil, busy: nil, waiting: 3}] = Data.rates(now, earlier))

    assert Data.rates(%{at: 1, state: :stopped, why: ""}, before) == []
  end

  test "turns of a seeded machine have an order in every sponsor" do
    machine =
      start_supervised!({Mote, schedule: {:seeded, 1}, sponsors: [main: [threads: 4]], clock: :manual})

    assert %{clock: :manual, sponsors: [%{steps: true}]} = Data.snapshot(machine)
  end

  @tag :capture_log
  test "aborted turns are one number" do
    machine = start_supervised!(Mote)
    failing = Mote.create(machine, Actors.failing(:reason))
    for _ <- 1..3, do: Mote.send(failing, :go)
    :ok = Mote.drain(machine, 60_000)
    assert %{counters: %{aborts: 3}, sponsors: [%{threads: [%{aborts: 3}]}]} = Data.snapshot(machine)
  end

  test "a snapshot is no larger with more actors, and walks over none of them" do
    machine = start_supervised!(Mote)
    size = fn -> machine |> Data.snapshot() |> Mote.Dashboard.JSON.encode() |> IO.iodata_length() end
    before = size.()
    # Not a word about these, nor a pause for them.
    _actors = Mote.create_many(machine, Actors.counter(0), 20_000)
    # Nothing is left that the machine would collect by itself.
    Mote.gc(machine)
    pauses = Enum.sum(Map.values(Mote.info(machine).gc.pauses))
    assert_in_delta size.(), before, 100
    for _ <- 1..10, do: Data.snapshot(machine)
    assert Enum.sum(Map.values(Mote.info(machine).gc.pauses)) == pauses
  end

  test "the actors of one behaviour are found among others" do
    machine = start_supervised!(Mote)
    holders = for n <- 1..30, do: Mote.create(machine, Holders.holder(Enum.to_list(1..n)))
    counters = Mote.create_many(machine, Actors.counter(0), 3)
    of = {Actors, :counter, 1}

    assert %{omitted: 0, behaviours: [%{id: {Holders, :holder, 1}, actors: 30}, %{id: ^of, actors: 3}]} =
             Data.behaviours(machine, 0, &keep/1)

    assert %{behaviour: "Mote.Actors.counter/1", partial: false, actors: actors} =
             Data.top(machine, :bytes, 0, of, &keep/1)

    assert Enum.sort(for(actor <- actors, do: actor.id)) == Enum.sort(counters)

    assert %{behaviour: nil, actors: [%{id: first, figure: bytes} | _] = all} =
             Data.top(machine, :bytes, 0, nil, &keep/1)

    assert length(all) == 25
    assert first == List.last(holders)
    assert bytes == Mote.info(first).bytes
  end

  test "actors of a behaviour that do nothing are shown after those that do" do
    machine = start_supervised!(Mote)
    idle = Mote.create_many(machine, Actors.counter(0), 30)
    of = {Actors, :counter, 1}

    for by <- [:turns, :queued, :running] do
      assert %{partial: false, actors: shown} = Data.top(machine, by, 0, of, &keep/1)
      assert length(shown) == 25
      assert Enum.all?(shown, &(&1.figure == 0 and &1.id in idle))
    end

    # Without a behaviour only those that do something.
    assert %{actors: []} = Data.top(machine, :queued, 0, nil, &keep/1)
  end

  test "a sink is an actor without a state" do
    machine = start_supervised!(Mote)
    gone = Mote.create(machine, Actors.keeper(nil))
    assert %{captures: ["nil"], behaviour: "Mote.Actors.keeper/1"} = Data.actor(gone, &keep/1)
    assert Data.label(:sink) == "sink"
  end

  test "a turn that blocks is named" do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 1], io: [beam: true, timeout: :infinity]]})
    waiter = Mote.create(machine, Waiter.waiter(), sponsor: :io)
    Mote.send(waiter, self())
    assert_receive {:here, turn}
    assert %{actors: [%{id: ^waiter, behaviour: label}]} = Data.top(machine, :running, 0, nil, &keep/1)
    assert label == "Mote.Dashboard.DataTest.Waiter.waiter/0"
    assert [_, %{name: :io, running: 1, longest: %{behaviour: name}}] = Data.snapshot(machine).sponsors
    assert label == name <> "/0"
    send(turn, :go)
  end
end
