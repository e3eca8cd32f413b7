defmodule Mote.ProveTimersTest do
  # What `Mote.Test.prove/3` varies besides orders: when timers fire, and what goes wrong.
  use ExUnit.Case, async: true

  import Mote.Proven.Said

  # Turns abort, and the machines say so.
  @moduletag :capture_log

  alias Mote.Library
  alias Mote.Proven.Said.Actors
  alias Mote.Test.Failure

  describe "timers" do
    defp all_set(timers, opts \\ []) do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for some <- timers, do: Mote.send(Mote.create(machine, Actors.sets(log)), {:set, some})
        log
      end

      {{:proved, _}, said} = all_said(graph, opts)
      Enum.uniq(said)
    end

    test "fire in the order that one clock allows" do
      # By one turn.
      assert all_set([[{10, :a}, {20, :b}]]) == [[:a, :b]]
      assert all_set([[{20, :a}, {10, :b}]]) == [[:b, :a]]
      assert all_set([[{10, :a}, {10, :b}]]) == [[:a, :b]]
      # By two, which may have any time between them.
      assert all_set([[{10, :a}], [{20, :b}]]) == [[:a, :b], [:b, :a]]
      # Of three by two turns, two have their order.
      assert [[:a, :b, :c], [:a, :c, :b], [:c, :a, :b]] = all_set([[{10, :a}, {20, :b}], [{10, :c}]])
    end

    test "of the outside are armed when nothing has run" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for {delay, what} <- [{20, :a}, {10, :b}], do: Mote.send_after(log, {:say, what}, delay)
        Mote.send(log, {:say, :c})
        log
      end

      assert {{:proved, _}, said} = all_said(graph)
      assert Enum.uniq(said) == [[:b, :a, :c], [:b, :c, :a], [:c, :b, :a]]
    end

    test "that wait for the end of a process fire at any time, or never, and all of them" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for _ <- 1..2, do: Mote.send(Mote.create(machine, Actors.watches(log)), {:end_of, self()})
        log
      end

      assert {{:proved, _}, said} = all_said(graph)
      assert Enum.uniq(said) == [[], [:gone, :gone]]
      # Which is not waited for: it may never come.
      gone = {&[&1], &match?([{:log, [:gone | _]}], &1)}
      assert {:failed, %Failure{kind: :eventually}} = Mote.Test.prove(graph, &yes/1, eventually: gone)
      # A machine does so again, also for what is armed when the process has ended.
      never = {&[&1], &match?([{:log, []}], &1)}
      assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, always: never)
      assert length(failure.turns) == 3

      both = {&[&1], &(not match?([{:log, [_, _]}], &1))}
      assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, always: both)
      assert length(failure.turns) == 6
    end

    test "a customer that has ended is owed no answer, and hears none" do
      test = self()

      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        Mote.send(Mote.create(machine, Actors.watches(log)), {:end_of, test})
        Mote.send(Mote.create(machine, Actors.serves(log, nil)), {test, :request})
        log
      end

      # It waits for ever, unless the customer ends.
      assert {:failed, %Failure{kind: :unanswered}} = Mote.Test.prove(graph, &yes/1)
      assert {:proved, _} = Mote.Test.prove(graph, &yes/1, allow: [:unanswered])
    end

    test "that have fired are not cancelled any more" do
      graph = fn sure ->
        fn machine ->
          log = Mote.create(machine, Actors.log([]))
          lock = Mote.create(machine, Actors.lock(0, nil, sure, log))
          for _ <- 1..2, do: Mote.send(Mote.create(machine, Library.fwd(lock)), :open)
          log
        end
      end

      # Opened twice, it closes for the second time only when that is over.
      closes_once? = &(said(&1) in [[{:closed, 2}], [{:closed, 1}, {:closed, 2}]])
      assert {:proved, _} = Mote.Test.prove(graph.(true), closes_once?)
      assert {:failed, failure} = Mote.Test.prove(graph.(false), closes_once?)
      # The first timer fires, and the lock is opened before it hears of it.
      assert {:order, steps} = failure.schedule
      assert Enum.count(steps, &match?({:fires, _}, &1)) == 2
      assert Enum.count(failure.turns, &(&1.behaviour.name == :lock and &1.message == :open)) == 2

      # A machine repeats it.
      {:ok, machine} =
        Mote.start_link(schedule: failure.schedule, clock: :manual, sponsors: [main: [threads: 4]])

      :ok = Mote.pause(machine)
      log = graph.(false).(machine)
      turns = for _ <- failure.turns, do: elem(Mote.step(machine), 1)
      assert Enum.map(turns, & &1.message) == Enum.map(failure.turns, & &1.message)
      :ok = Mote.resume(machine)
      assert said(log) == [{:closed, 2}, {:closed, 2}]
    end
  end

  describe "what goes wrong:" do
    # Who has said what, where the one in between is at fault.
    defp said_with(fault) do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        between = Mote.create(machine, Library.fwd(log))
        for n <- [:a, :b], do: Mote.send(Mote.create(machine, Actors.says(between, n)), :go)
        {log, between}
      end

      test = self()
      ref = make_ref()
      look = fn {log, _} -> send(test, {ref, said(log)}) end
      {:proved, _} = Mote.Test.prove(graph, look, [{fault, fn {_, between} -> [between] end}])
      ref |> received() |> Enum.map(&Enum.sort/1) |> Enum.uniq() |> Enum.sort()
    end

    test "messages get lost, or come twice, and turns are aborted" do
      assert said_with(:loses) == [[], [:a], [:a, :b], [:b]]
      assert said_with(:aborts) == said_with(:loses)
      assert said_with(:doubles) == [[:a, :a, :b], [:a, :a, :b, :b], [:a, :b], [:a, :b, :b]]
    end

    test "a machine does so again" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for n <- [:a, :b], do: Mote.send(log, {:say, n})
        log
      end

      for {steps, said} <- [
            {[{:lost, 0}], [:b]},
            {[{:aborted, 0}, {:twice, 0}, 0], [:b, :b]},
            {[{:lost, 0}, {:lost, 0}], []}
          ] do
        {:ok, machine} = Mote.start_link(schedule: {:order, steps}, sponsors: [main: [threads: 4]])
        :ok = Mote.pause(machine)
        log = graph.(machine)
        :ok = Mote.resume(machine)
        :ok = Mote.drain(machine, 5_000)
        assert said(log) == said
      end
    end
  end
end
