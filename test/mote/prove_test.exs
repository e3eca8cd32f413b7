defmodule Mote.ProveTest do
  # `Mote.Test.prove/3`: the orders that it sees, what it says of those that fail, and programs of others.
  # That it sees all orders: prove_reduction_test.exs.
  use ExUnit.Case, async: true

  import Mote.Proven.Said

  # Turns abort, and the machines say so.
  @moduletag :capture_log

  alias Mote.{Library, Outbox}
  alias Mote.Proven.{Bank, Commit, Philosophers}
  alias Mote.Proven.Said.Actors
  alias Mote.Test.Failure

  doctest Failure

  describe "orders" do
    test "all of those of different senders, and no other" do
      senders = fn n ->
        fn machine ->
          log = Mote.create(machine, Actors.log([]))
          for i <- 1..n, do: Mote.send(Mote.create(machine, Library.label(log, :say)), i)
          log
        end
      end

      {{:proved, counts}, found} = all_said(senders.(4))
      assert length(found) == 24
      assert Enum.sort(hd(found)) == [1, 2, 3, 4]
      assert %{ends: 24, orders: orders} = counts
      assert orders >= 24
    end

    test "of actors that hold functions, which differ by what they have captured" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        applies = Mote.create(machine, Actors.applies(log, nil))

        for message <- [{:add, 1}, {:add, 10}, {:apply, 0}],
            do: Mote.send(Mote.create(machine, Actors.forwards(applies)), message)

        log
      end

      {{:proved, %{states: states}}, found} = all_said(graph)
      assert found |> Enum.uniq() |> Enum.sort() == [[0], [1], [10], [11]]
      assert states > 8
    end

    test "messages of one to one keep theirs, unless they need not" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for message <- [:a, :b, :c], do: Mote.send(log, {:say, message})
        log
      end

      assert {{:proved, %{orders: 1, states: 4, turns: 3}}, [[:a, :b, :c]]} = all_said(graph)
      assert {{:proved, %{orders: 6}}, found} = all_said(graph, order: :none)
      assert length(found) == 6
    end

    test "what comes by one that never becomes has none" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        says = Mote.create(machine, Library.label(log, :say))
        for message <- [:a, :b], do: Mote.send(says, message)
        log
      end

      assert {{:proved, _}, [[:a, :b], [:b, :a]]} = all_said(graph)
    end

    defp alike(hold, before \\ fn -> :ok end) do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        held = for _ <- 1..4, do: tap(Mote.create(machine, Actors.ping(0)), &Mote.send(&1, {:ping, log}))
        before.()
        if hold, do: held
      end

      {:proved, counts} = Mote.Test.prove(graph, &yes/1, allow: [:ignored])
      {counts.states, counts.ends}
    end

    test "actors that are alike count once, unless somebody outside tells them apart" do
      assert {9, 1} = alike(false)
      assert {states, _ends} = alike(true)
      assert states > 9
    end

    test "nobody holds what was collected, though a scheduler is late to let go of it" do
      # Where the heap is large, another thread collects it. Then it is the first scheduler that lets go, and that one does something else.
      large = Enum.to_list(1..200_000)
      :erlang.process_flag(:scheduler, System.schedulers_online())
      busy = :erlang.spawn_opt(&busy/0, [:link, {:scheduler, 1}])

      before = fn ->
        send(busy, {:now, self()})
        assert_receive :now, 60_000
      end

      for _ <- 1..10, do: assert({9, 1} = alike(false, before))
      assert length(large) == 200_000
    end

    # No scheduler stops within a multiplication.
    defp busy(number \\ Bitwise.bsl(1, 500_000) - 1) do
      receive do
        {:now, who} -> send(who, :now)
      end

      _ = rem(number * number, 7)
      busy(number)
    end

    test "those that go on for ever have no end, and are seen to the last state" do
      graph = fn machine ->
        [a, b] = for _ <- 1..2, do: Mote.create(machine, Actors.ping(0))
        Mote.send(a, {:ping, b})
      end

      assert {:bounded, [:ends], %{ends: 0, states: 2}} = Mote.Test.prove(graph, &yes/1)
    end

    test "nothing is put off for ever by others who go round in circles" do
      for first <- [:circle, :counter] do
        graph = fn machine ->
          circle = fn ->
            [a, b] = for _ <- 1..2, do: Mote.create(machine, Actors.ping(0))
            Mote.send(a, {:ping, b})
            [a, b]
          end

          # What is chosen first depends on who was seen first.
          before = if first == :circle, do: circle.()
          counter = Mote.create(machine, Actors.counts(0))
          Mote.send(counter, :once)
          {counter, before || circle.()}
        end

        never = {fn {counter, _} -> [counter] end, &match?([{:counts, 0}], &1)}
        assert {:failed, %Failure{turns: [_]}} = Mote.Test.prove(graph, &yes/1, always: never)
      end
    end

    test "the number of threads makes no difference" do
      for graph <- [&Commit.transaction(&1, 4, 4), &Philosophers.table(&1, 4, 3)] do
        [one | others] =
          for threads <- [1, 2, 5] do
            {:proved, counts} = Mote.Test.prove(graph, &yes/1, threads: threads)
            Map.delete(counts, :bytes)
          end

        # Enough for several to look at.
        assert one.states > 1_000
        assert others == [one, one]
      end

      [one | others] =
        for threads <- [1, 2, 5] do
          {:failed, failure} =
            Mote.Test.prove(&Commit.transaction(&1, 5, 4), &yes/1, threads: threads, allow: [:ignored])

          {failure.schedule, Enum.map(failure.turns, & &1.behaviour.name)}
        end

      assert others == [one, one]
    end

    test "what processes and outboxes hear comes in every order" do
      test = self()
      ref = make_ref()

      graph = fn machine ->
        out = Outbox.open(machine)
        for n <- 1..3, do: Mote.send(Mote.create(machine, Actors.echo()), {out, n})
        out
      end

      assert {:proved, %{ends: 6}} = Mote.Test.prove(graph, &send(test, {ref, Outbox.take(&1)}))

      assert ref |> received() |> Enum.sort() ==
               for(a <- 1..3, b <- 1..3, c <- 1..3, a != b and b != c and a != c, do: [a, b, c])
    end
  end

  describe "a failure" do
    test "is an order that a machine repeats, turn by turn" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for n <- 1..3, do: Mote.send(Mote.create(machine, Actors.says(log, n)), :go)
        log
      end

      assert {:failed, %Failure{kind: :property} = failure} = Mote.Test.prove(graph, &(said(&1) != [3, 1, 2]))
      assert length(failure.turns) == 6
      assert Exception.message(failure) =~ "the 6 turns up to here:"
      assert Enum.map(failure.turns, & &1.number) == [1, 2, 3, 4, 5, 6]
      # So a test shows it that has matched for something else.
      assert inspect({:failed, failure}) =~
               ~r/\A{:failed, #Mote.Test.Failure<\n +the property does not hold\n.*>}\z/s

      # Each line but the participants is a turn or what has become of its actor.
      chart = String.split(Failure.to_mermaid(failure), "\n")
      assert Enum.count(chart, &(&1 =~ ~r/^  outside->>a\d: :go$/)) == 3
      assert Enum.count(chart, &(&1 =~ ~r/^  a\d->>a\d: {:say, \d}$/)) == 3
      assert List.last(chart) =~ "log[[2, 1, 3]]"
      {:ok, machine} = Mote.start_link(schedule: failure.schedule, sponsors: [main: [threads: 4]])
      :ok = Mote.pause(machine)
      log = graph.(machine)
      turns = for _ <- 1..6, do: elem(Mote.step(machine), 1)
      assert Enum.map(turns, & &1.message) == Enum.map(failure.turns, & &1.message)
      assert :idle = Mote.step(machine)
      :ok = Mote.resume(machine)
      assert said(log) == [3, 1, 2]
    end

    test "says up to where everything could still go well" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for n <- 1..2, do: Mote.send(Mote.create(machine, Actors.says(log, n)), :go)
        log
      end

      # When both are told to go, the last turn that decides is the first of the log's.
      {:failed, failure} = Mote.Test.prove(graph, &(said(&1) == [1, 2]))
      assert failure.instead.number in 1..3

      assert Exception.message(failure) =~
               "it goes well if, in place of turn #{failure.instead.number}, this one comes:"

      # Nothing can.
      {:failed, failure} = Mote.Test.prove(graph, fn _ -> false end)
      assert failure.instead == nil
    end

    test "is none for questions that are answered" do
      graph = fn machine -> for n <- 1..2, do: Mote.async(Mote.create(machine, Actors.echo()), n) end
      assert {:proved, _} = Mote.Test.prove(graph, &(Mote.await_many(&1) == [1, 2]))
    end

    test "tells what the property raised" do
      graph = &Mote.create(&1, Actors.log([]))
      assert {:failed, failure} = Mote.Test.prove(graph, fn _ -> flunk("not like that") end)
      assert failure.why =~ "not like that"
    end

    test "is the shortest, also where it comes before the end" do
      graph = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for n <- 1..3, do: Mote.send(Mote.create(machine, Actors.says(log, n)), {:go, n})
        Mote.send(Mote.create(machine, Library.fwd(Mote.create(machine, Actors.strict()))), :fail)
        log
      end

      assert {:failed, %Failure{kind: :aborted, turns: [_, turn]}} = Mote.Test.prove(graph, &yes/1)
      assert turn.message == :fail
      assert {:abort, _} = turn.outcome
    end

    for {flaw, behaviour, message} <- [
          {:aborted, :strict, :fail},
          {:ignored, :strict, :unknown},
          {:dropped, :strict, {:lose, :nowhere}},
          {:stashed, :door, :knock}
        ] do
      test "is found without being asked for: #{flaw}" do
        graph = fn machine ->
          actor = Mote.create(machine, apply(Actors, unquote(behaviour), []))
          Mote.send(actor, unquote(Macro.escape(message)))
        end

        assert {:failed, %Failure{kind: unquote(flaw), turns: [_]}} = Mote.Test.prove(graph, &yes/1)
        assert {:proved, %{ends: 1}} = Mote.Test.prove(graph, &yes/1, allow: [unquote(flaw)])
      end
    end

    test "is a customer that is not answered, or too often" do
      graph = fn behaviour, message ->
        fn machine -> Mote.send(Mote.create(machine, behaviour), {Outbox.open(machine), message}) end
      end

      for {behaviour, message, flaw, allowed} <- [
            {Actors.echo(), 1, nil, []},
            {Actors.twice(), 1, :answered_again, []},
            {Actors.twice(), 1, nil, [:answered_again]},
            {Actors.keeps(), :keep, :unanswered, []},
            {Actors.keeps(), :keep, nil, [:unanswered]}
          ] do
        case Mote.Test.prove(graph.(behaviour, message), &yes/1, allow: allowed) do
          {:proved, _} -> assert flaw == nil
          {:failed, failure} -> assert failure.kind == flaw
        end
      end
    end

    test "is none where an actor has become a sink" do
      graph = fn machine -> Mote.send(Mote.create(machine, Library.sink()), :anything) end
      assert {:proved, _} = Mote.Test.prove(graph, &yes/1)
    end
  end

  test "the graph has to be the same each time" do
    {:ok, agent} = Agent.start_link(fn -> 0 end)

    graph = fn machine ->
      n = Agent.get_and_update(agent, &{&1, &1 + 1})
      for _ <- 0..n, do: Mote.send(Mote.create(machine, Actors.door()), :open)
    end

    assert_raise ArgumentError, ~r/begin with the same actors and messages each time/, fn ->
      Mote.Test.prove(graph, &yes/1)
    end
  end

  test "mistakes of the caller" do
    graph = fn _ -> nil end

    for {opts, text} <- [
          {[:fast], "a keyword list"},
          {[sponsors: [main: []]], "takes no :sponsors"},
          {[schedule: {:seeded, 1}], "takes no :schedule"},
          {[clock: :system], "takes no :clock"},
          {[allow: [:anything]], "expected :allow"},
          {[allow: :aborted], "expected :allow"},
          {[order: :some], "expected :order"},
          {[states: 0], "expected :states"},
          {[timeout: :infinity], "expected :timeout"},
          {[threads: 0], "expected :threads"},
          {[eventually: &yes/1], "expected :eventually"},
          {[loses: []], "expected :loses"},
          {[aborts: fn _, _ -> [] end], "expected :aborts"},
          {[doubles: fn _ -> :all end], "function of :doubles"},
          {[orders: 5], ":orders"}
        ] do
      error = assert_raise ArgumentError, fn -> Mote.Test.prove(graph, &yes/1, opts) end
      assert error.message =~ text
    end

    assert_raise ArgumentError, ~r/two functions/, fn -> Mote.Test.prove(graph, :property) end
    assert_raise ArgumentError, ~r/:schedule/, fn -> Mote.start_link(schedule: {:order, [-1]}) end
    assert_raise ArgumentError, ~r/:schedule/, fn -> Mote.start_link(schedule: {:order, [1 | 2]}) end
    assert_raise ArgumentError, ~r/:schedule/, fn -> Mote.start_link(schedule: {:order, [{:gone, 1}]}) end
  end

  describe "programs:" do
    # The cashier reads a balance, and takes the money when it knows that there is enough: guides/gatekeepers.md.
    defp bank(gate) do
      fn machine ->
        [a, b] = accounts = for _ <- 1..2, do: Mote.create(machine, Bank.account(100))
        cashier = gate.(machine, Mote.create(machine, Bank.cashier()))

        # Each by somebody else: so they come in any order.
        for {amount, from, to} <- [{60, a, b}, {60, a, b}, {10, b, a}],
            do:
              Mote.send(
                Mote.create(machine, Library.fwd(cashier)),
                {Outbox.open(machine), {amount, from, to}}
              )

        accounts
      end
    end

    defp solvent?(accounts) do
      balances = for account <- accounts, do: Mote.ask!(account, :balance)
      Enum.sum(balances) == 200 and Enum.all?(balances, &(&1 >= 0))
    end

    test "the bank of the guide, with a gatekeeper and without" do
      gate = fn machine, cashier -> Mote.create(machine, Library.serializer(cashier)) end
      assert {:proved, %{ends: ends}} = Mote.Test.prove(bank(gate), &solvent?/1)
      assert ends > 1

      assert {:failed, %Failure{kind: :property}} =
               Mote.Test.prove(bank(fn _, cashier -> cashier end), &solvent?/1)
    end

    test "dining philosophers starve, unless a waiter keeps one of them from the table" do
      for n <- 2..4 do
        assert {:failed, %Failure{kind: :stashed} = failure} =
                 Mote.Test.prove(&Philosophers.table(&1, n, nil), &yes/1)

        # Each sits down, takes one fork, gets it, asks for the other, and waits.
        assert length(failure.turns) == 4 * n

        assert {:proved, %{ends: 1}} =
                 Mote.Test.prove(&Philosophers.table(&1, n, n - 1), &yes/1, states: 100_000)
      end
    end

    test "two-phase commit is consistent, unless the manager decides too early" do
      for n <- 2..3 do
        assert {:proved, _} = Mote.Test.prove(&Commit.transaction(&1, n, n), &yes/1)

        assert {:failed, %Failure{kind: :aborted} = failure} =
                 Mote.Test.prove(&Commit.transaction(&1, n, n - 1), &yes/1)

        # One aborts by itself, the others prepare, the manager hears of it, and commits.
        assert List.last(failure.turns).message == :commit
        assert length(failure.turns) == 2 + 2 * (n - 1) + 1
      end
    end
  end
end
