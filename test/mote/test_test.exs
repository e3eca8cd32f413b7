defmodule Mote.TestTest.Scene do
  use Mote.Behaviour, errors: :undefined

  defactor log(entries) do
    {customer, :entries} -> send customer, entries
    entry -> become log([entry | entries])
  end

  defactor worker(name, log) do
    0 ->
      send log, {name, :done}

    n ->
      send log, {name, n}
      send self(), n - 1
  end

  @doc "Takes when it has seen that there is enough: by then another may have taken."
  defactor customer(account, amount) do
    :go -> send account, {self(), :balance}
    balance when balance >= amount -> send account, {:take, amount}
    _ -> abort(:poor)
  end

  defactor account(balance) do
    {customer, :balance} -> send customer, balance
    {:take, amount} -> become account(balance - amount)
  end

  defactor tree(log) do
    0 ->
      send log, :leaf

    depth ->
      send create(tree(log)), depth - 1
      send create(tree(log)), depth - 1
  end

  @doc "Litters, so many times."
  defactor grinder() do
    0 ->
      create grinder()

    n ->
      create worker({:some, :litter, n}, self())
      send self(), n - 1
  end

  defactor dice(log) do
    _ -> send log, :rand.uniform(1_000_000)
  end

  defactor later(log) do
    n ->
      send_after(n, log, n)
      sendx :one, log, {:now, n}
  end
end

defmodule Mote.TestTest do
  use ExUnit.Case, async: true

  import Mote.Eventually
  import ExUnit.CaptureLog

  alias Mote.{Actors, Error, Holders, Test}
  alias Mote.Test.Failure
  alias Mote.TestTest.Scene

  doctest Mote.Test

  @sponsors [one: [threads: 1], many: [threads: 3]]

  defp machine(schedule, opts \\ []) do
    id = make_ref()
    # Some actors are busy for good.
    more = [sponsors: @sponsors, shutdown: [drain: 0]]
    start_supervised!({Mote, [id: id, schedule: schedule] ++ more ++ opts})
  end

  # Which entries come in which order when three work at the same time.
  defp order(schedule, sponsor \\ :many, gc \\ []) do
    machine = machine(schedule, gc: gc)
    log = Mote.create(machine, Scene.log([]))
    :ok = Mote.pause(machine)

    for name <- [:a, :b, :c] do
      Mote.send(Mote.create(machine, Scene.worker(name, log)), 5, sponsor: sponsor)
    end

    :ok = Mote.resume(machine)
    :ok = Mote.drain(machine)
    Enum.reverse(Mote.ask!(log, :entries))
  end

  describe "a seeded machine" do
    test "takes the same turns in the same order, again and again" do
      for seed <- 1..10 do
        order = order({:seeded, seed})
        assert length(order) == 18
        assert for(_ <- 1..3, do: order({:seeded, seed})) == [order, order, order]
        # Whatever the collector does.
        assert order({:seeded, seed}, :many, min: 1, factor: 0) == order
      end
    end

    test "takes others with other seeds" do
      orders = for seed <- 1..20, uniq: true, do: order({:seeded, seed})
      assert length(orders) > 15
      # All of them do the same.
      assert orders |> Enum.map(&Enum.sort/1) |> Enum.uniq() |> length() == 1
    end

    test "without choices is first in, first out, and in a sponsor of one thread but for when messages enter" do
      order = order({:seeded, 1, 0}, :one)
      assert order == for(n <- [5, 4, 3, 2, 1, :done], name <- [:a, :b, :c], do: {name, n})
      for seed <- 1..2, do: assert(order({:seeded, seed, 0}, :many) == order)

      for seed <- 1..20, order = order({:seeded, seed}, :one) do
        assert for({name, 5} <- order, do: name) == [:a, :b, :c]
        for name <- [:a, :b, :c], do: assert(for({^name, n} <- order, do: n) == [5, 4, 3, 2, 1, :done])
      end
    end

    test "lets messages in at any time that came together, one after the other, and plays the same again" do
      firsts = fn schedule, send ->
        machine = machine(schedule)
        log = Mote.create(machine, Scene.log([]))
        workers = for name <- [:a, :b, :c], do: Mote.create(machine, Scene.worker(name, log))
        send.(machine, for(worker <- workers, do: {worker, 5}))
        :ok = Mote.drain(machine)
        order = Enum.reverse(Mote.ask!(log, :entries))
        {Enum.find_index(order, &(&1 == {:b, 5})), order, Mote.Test.choices(machine)}
      end

      paused = fn machine, messages ->
        :ok = Mote.pause(machine)
        for {worker, message} <- messages, do: Mote.send(worker, message)
        :ok = Mote.resume(machine)
      end

      # By one call they come together as well.
      for send <- [paused, fn _machine, messages -> Mote.send_many(messages) end] do
        played = for seed <- 1..30, do: firsts.({:seeded, seed}, send)
        # Before the second one enters, nothing, something, or all has happened that follows from the first.
        assert Enum.uniq(for({first, _, _} <- played, do: first)) |> length() >= 4

        for {{_, order, choices} = run, seed} <- Enum.zip(played, 1..30) do
          assert firsts.({:seeded, seed}, send) == run
          assert {_, ^order, ^choices} = firsts.({:seeded, seed, choices}, send)
        end
      end
    end

    test "is stepped through as it runs" do
      for seed <- 1..10 do
        machine = machine({:seeded, seed})
        log = Mote.create(machine, Scene.log([]))
        :ok = Mote.pause(machine)

        for name <- [:a, :b, :c],
            do: Mote.send(Mote.create(machine, Scene.worker(name, log)), 5, sponsor: :many)

        steps = Stream.repeatedly(fn -> Mote.step(machine, sponsor: :many) end)
        messages = for {:ok, turn} <- Enum.take_while(steps, &(&1 != :idle)), do: turn.message
        stepped = for {_, _} = entry <- messages, do: entry
        assert stepped == order({:seeded, seed})
      end
    end

    test "lets messages in one by one, when nothing else is left to do" do
      orders =
        for seed <- 1..5 do
          machine = machine({:seeded, seed})
          log = Mote.create(machine, Scene.log([]))

          for name <- [:a, :b], sponsor <- [:many, :one] do
            Mote.send(Mote.create(machine, Scene.worker({name, sponsor}, log)), 3, sponsor: sponsor)
            # However long it takes.
            if name == :a, do: Process.sleep(rem(seed, 3))
          end

          :ok = Mote.drain(machine)
          for {name, :done} <- Enum.reverse(Mote.ask!(log, :entries)), do: name
        end

      assert Enum.uniq(orders) == [[{:a, :many}, {:a, :one}, {:b, :many}, {:b, :one}]]
    end

    test "has its random numbers from the seed" do
      numbers = fn seed ->
        machine = machine({:seeded, seed})
        log = Mote.create(machine, Scene.log([]))
        dice = Mote.create(machine, Scene.dice(log))
        for _ <- 1..5, do: Mote.send(dice, :roll)
        :ok = Mote.drain(machine)
        Mote.ask!(log, :entries)
      end

      assert numbers.(7) == numbers.(7)
      assert numbers.(7) != numbers.(8)
    end

    test "does what any machine does: trees, pins, sendx, timers, questions" do
      machine = machine({:seeded, 3}, clock: :manual)
      log = Mote.create(machine, Scene.log([]), sponsor: :one)
      Mote.send(Mote.create(machine, Scene.tree(log)), 8, sponsor: :many)
      :ok = Mote.drain(machine)
      assert Mote.ask!(log, :entries) == List.duplicate(:leaf, 256)
      assert %{pinned: :one, sponsor: :one} = Mote.info(log)
      log = Mote.create(machine, Scene.log([]))
      later = Mote.create(machine, Scene.later(log))
      for n <- [30, 10, 20], do: Mote.send(later, n, sponsor: :many)
      :ok = Mote.drain(machine)
      assert Mote.ask!(log, :entries) == [{:now, 20}, {:now, 10}, {:now, 30}]
      :ok = Mote.advance(machine, 100)
      assert Enum.take(Mote.ask!(log, :entries), 3) == [30, 20, 10]
      assert Mote.ask!(Mote.create(machine, Actors.echo()), :hello, sponsor: :many) == :hello
      assert Mote.info(machine).counters.sendx > 0
      assert Mote.gc(machine) == :ok
    end

    test "has timers by the system's clock as well" do
      machine = machine({:seeded, 3})
      assert Mote.ask!(Mote.create(machine, Actors.late()), 5) == :late
    end

    test "gives every sponsor its turn, also without choices and beside one that never rests" do
      machine = machine({:seeded, 1, 0})
      :ok = Mote.pause(machine)
      Mote.send(Mote.create(machine, Actors.busy(0)), :go, sponsor: :one)
      Mote.send(Mote.create(machine, Scene.tree(self())), 3, sponsor: :many)
      :ok = Mote.resume(machine)
      for _ <- 1..8, do: assert_receive(:leaf)
    end

    test "keeps what waits to enter, though nobody else does" do
      machine = machine({:seeded, 3}, gc: [min: 1, factor: 0])
      me = self()
      Mote.send(Mote.create(machine, Scene.grinder()), 30_000)

      {pid, monitor} =
        spawn_monitor(fn ->
          kept = Mote.create(machine, Actors.keeper({:kept, [1, 2, 3]}))
          Mote.send(Mote.create(machine, Actors.forward(me)), {:found, kept})
        end)

      assert_receive {:DOWN, ^monitor, _, ^pid, :normal}
      for _ <- 1..5, do: Mote.gc(machine)
      assert_receive {:found, kept}, 30_000
      assert Mote.ask!(kept, :get) == {:kept, [1, 2, 3]}
    end

    test "breaks promises" do
      machine = machine({:seeded, 3})
      silent = Mote.create(machine, Holders.silent([]))
      assert {:error, %Error{reason: :broken_promise}} = Mote.ask(silent, :who_knows)
    end

    test "adds and removes sponsors, and loses nothing" do
      machine = machine({:seeded, 5})
      :ok = Mote.add_sponsor(machine, :third, threads: 2)
      counter = Mote.create(machine, Actors.counter(0), sponsor: :third)
      :ok = Mote.pause(machine)
      for _ <- 1..10, do: Mote.send(counter, {:add, 1})
      :ok = Mote.remove_sponsor(machine, :third)
      for _ <- 1..10, do: Mote.send(counter, {:add, 1})
      :ok = Mote.add_sponsor(machine, :fourth, threads: 1)
      for _ <- 1..10, do: Mote.send(counter, {:add, 1}, sponsor: :fourth)
      :ok = Mote.resume(machine)
      assert Mote.ask!(counter, :read) == 30
      assert Mote.info(counter).pinned == :one
    end

    test "steps through sponsors of any size" do
      machine = machine({:seeded, 5})
      counters = for _ <- 1..5, do: Mote.create(machine, Actors.counter(0))
      :ok = Mote.pause(machine)
      for {counter, n} <- Enum.with_index(counters, 1), do: Mote.send(counter, {:add, n}, sponsor: :many)
      Mote.info(hd(counters))
      messages = for _ <- 1..5, {:ok, turn} = Mote.step(machine, sponsor: :many), do: turn.message
      assert Mote.step(machine, sponsor: :many) == :idle
      assert Enum.sort(messages) == for(n <- 1..5, do: {:add, n})
      # Each of those that wait could be the next, and each enters when the seed says so.
      assert Test.choices(machine) > 4
    end

    test "ends with a fault as any other, and when it is told to" do
      machine = machine({:seeded, 5})
      monitor = Process.monitor(machine)
      echo = Mote.create(machine, Actors.echo())

      log =
        capture_log(fn ->
          :ok = Mote.Native.send_trap(echo.machine, echo.key, nil)
          assert_receive {:DOWN, ^monitor, _, _, {:fault, fault}}
          assert %{sponsor: :one, behaviour: {Actors, :echo}} = fault
        end)

      assert log =~ "a fault that a test asked for"
      machine = machine({:seeded, 5})
      Mote.send(Mote.create(machine, Actors.busy(0)), :go)
      assert {:error, %Error{reason: :timeout}} = Mote.drain(machine, 20)
      assert Mote.stop(machine) == :ok
    end

    test "is asked for by a seed" do
      for schedule <- [:random, {:seeded, -1}, {:seeded, 1, -1}, {:seeded, "1"}, {:seeded, 1, 2, 3}] do
        assert_raise ArgumentError, ~r/expected :schedule to be/, fn ->
          Mote.start_link(schedule: schedule)
        end
      end

      assert_raise ArgumentError, ~r/got: {:seeded, -1}$/, fn -> Mote.start_link(schedule: {:seeded, -1}) end

      machine = start_supervised!(Mote)
      assert_raise ArgumentError, ~r/was not started with schedule:/, fn -> Test.choices(machine) end
      :ok = stop_supervised(Mote)
      assert %Error{reason: :machine_down} = catch_error(Test.choices(machine))
    end
  end

  describe "explore" do
    defp bank(machine) do
      account = Mote.create(machine, Scene.account(100))
      for _ <- 1..2, do: Mote.send(Mote.create(machine, Scene.customer(account, 80)), :go)
      account
    end

    defp solvent?(account), do: Mote.ask!(account, :balance) >= 0

    test "finds the order in which it goes wrong, the least of it, and has it again" do
      failure =
        assert_raise Failure, fn ->
          Test.explore(&bank/1, &solvent?/1, seeds: 50, sponsors: [main: [threads: 2]])
        end

      assert %Failure{schedule: {:seeded, _, _}, more: 0} = failure
      # Both ask, both are answered, both take: nothing in it could be left out.
      assert length(failure.turns) == 8
      text = Exception.message(failure)
      assert text =~ "the property does not hold"
      assert text =~ "schedule: #{inspect(failure.schedule)}"

      assert text =~
               "    8  #{inspect(List.last(failure.turns).actor)} main Mote.TestTest.Scene.account(20) <- {:take, 80}\n         become Mote.TestTest.Scene.account(-60)"

      machine = start_supervised!({Mote, schedule: failure.schedule, sponsors: [main: [threads: 2]]})
      :ok = Mote.pause(machine)
      trace = Mote.trace(machine)
      account = bank(machine)
      :ok = Mote.resume(machine)
      :ok = Mote.drain(machine)
      ref = trace.ref

      again =
        for _ <- failure.turns do
          assert_receive {:mote_trace, ^ref, turn}
          {turn.behaviour, turn.outcome, turn.become}
        end

      behaviours = for turn <- failure.turns, do: {name(turn.behaviour), turn.outcome, turn.become}
      assert for({behaviour, outcome, become} <- again, do: {name(behaviour), outcome, become}) == behaviours
      refute solvent?(account)
    end

    defp name(behaviour), do: behaviour.name

    test "makes no more choices than it takes to fail" do
      last = fn machine ->
        log = Mote.create(machine, Scene.log([]))
        for n <- 1..3, do: Mote.send(Mote.create(machine, Scene.worker(n, log)), 0, sponsor: :many)
        log
      end

      in_order? = &(Mote.ask!(&1, :entries) == for(n <- [3, 2, 1], do: {n, :done}))
      sponsors = [one: [threads: 1], many: [threads: 4]]
      failure = assert_raise Failure, fn -> Test.explore(last, in_order?, seeds: 30, sponsors: sponsors) end
      assert {:seeded, seed, choices} = failure.schedule
      # Those of when the three enter, and two of which is next.
      assert failure.kind == :property and choices in 1..12

      for turn <- failure.turns,
          do: assert(Exception.message(failure) =~ "  #{inspect(turn.actor)} #{turn.sponsor} ")

      # One choice less, and it holds.
      Test.explore(last, in_order?, seeds: [seed], sponsors: [one: [threads: 1], many: [threads: 1]])
      machine = machine({:seeded, seed, choices - 1})
      :ok = Mote.pause(machine)
      log = last.(machine)
      :ok = Mote.resume(machine)
      :ok = Mote.drain(machine)
      assert in_order?.(log)
    end

    test "is content with what holds in every order" do
      counted = fn machine ->
        counter = Mote.create(machine, Actors.counter(0))
        for n <- 1..5, do: Mote.send(counter, {:add, n})
        counter
      end

      assert Test.explore(counted, &(Mote.ask!(&1, :read) == 15), seeds: 20) == :ok
      assert Test.explore(counted, &assert(Mote.ask!(&1, :read) == 15), seeds: [7, 9]) == :ok
    end

    test "shows what an assertion said" do
      failure =
        assert_raise Failure, fn ->
          Test.explore(fn _ -> 1 end, fn n -> assert n == 2 end, seeds: 1)
        end

      assert failure.turns == [] and failure.schedule == {:seeded, 0, 0}
      assert Exception.message(failure) =~ "Assertion with == failed"
    end

    test "shows with what a property exits or throws" do
      graph = &Mote.create(&1, Actors.echo())

      for {leave, text} <- [{&exit/1, "** (exit) :gone"}, {&throw/1, "** (throw) :gone"}] do
        failure = assert_raise Failure, fn -> Test.explore(graph, fn _ -> leave.(:gone) end, seeds: [3]) end
        assert failure.kind == :property and failure.why =~ text
        assert Exception.message(failure) =~ "seed 3"
      end
    end

    test "leaves nothing in the mailbox of a test that traps exits" do
      Process.flag(:trap_exit, true)
      graph = &Mote.create(&1, Actors.echo())
      assert Test.explore(graph, fn _ -> true end, seeds: 3) == :ok
      assert_raise Failure, fn -> Test.explore(graph, fn _ -> false end, seeds: 3) end
      assert Process.info(self(), :messages) == {:messages, []}
      assert Process.info(self(), :links) == {:links, []}
    end

    test "ends with what does not come to rest" do
      busy = fn machine -> Mote.send(Mote.create(machine, Actors.busy(0)), :go) end

      # On a busy host there may be few turns in that time.
      eventually(fn ->
        failure = assert_raise Failure, fn -> Test.explore(busy, fn _ -> true end, seeds: 1, timeout: 300) end
        assert failure.kind == :timeout and failure.why =~ "do not come to rest"
        length(failure.turns) > 60 and Exception.message(failure) =~ ~r/and \d+ more turns$/
      end)
    end

    test "says what cannot be meant" do
      run = fn opts -> Test.explore(fn _ -> 1 end, fn _ -> true end, opts) end
      assert_raise ArgumentError, ~r/give it :seeds/, fn -> run.(schedule: {:seeded, 1}) end
      assert_raise ArgumentError, ~r/expected :seeds to be/, fn -> run.(seeds: 0) end
      assert_raise ArgumentError, ~r/expected at least one seed, got: \[\]/, fn -> run.(seeds: []) end

      assert_raise ArgumentError, ~r/each of :seeds to be an integer from 0 to 2\^64 - 1, got: -7/, fn ->
        run.(seeds: [-7])
      end

      assert_raise ArgumentError, ~r/unknown option :threads/, fn -> run.(threads: 2) end
      assert_raise ArgumentError, ~r/explore\/3 are :seeds, :timeout, :name,/, fn -> run.(runs: 2) end
      assert_raise ArgumentError, ~r/keyword list, got: 5/, fn -> run.(5) end
      assert_raise ArgumentError, ~r/two functions of one argument/, fn -> Test.explore(1, 2) end
    end
  end
end
