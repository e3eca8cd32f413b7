defmodule Mote.ProveTest do
  # `Mote.Test.prove/3`: what it finds, what it says of what it has not seen, and programs of others.
  # That it sees all orders: prove_reduction_test.exs.
  use ExUnit.Case, async: true

  # Turns abort, and the machines say so.
  @moduletag :capture_log

  alias Mote.{Library, Outbox}
  alias Mote.Proven.{Bank, Commit, Philosophers}
  alias Mote.Test.Failure

  doctest Failure

  defmodule Actors do
    use Mote.Behaviour

    defactor log(said) do
      {customer, :said} -> send customer, {:said, said}
      {:say, what} -> become log([what | said])
    end

    defactor says(log, what) do
      :go ->
        send log, {:say, what}

      {:go, then} ->
        send log, {:say, what}
        send log, {:say, then}
    end

    defactor echo() do
      {customer, what} -> send customer, what
    end

    defactor twice() do
      {customer, what} ->
        send customer, what
        send customer, what
    end

    defactor keeps() do
      {customer, :keep} -> become kept(customer)
    end

    defactor kept(customer) do
      :give -> send customer, :given
    end

    defactor strict() do
      :fail -> abort :no
      {:lose, to} -> send to, :lost
    end

    # Closed, until something opens it.
    defactor door() do
      :knock -> stash()
      :open -> become open_door()
    end

    defactor open_door() do
      :knock -> :ok
    end

    defactor ping(n) do
      {:ping, other} ->
        send other, {:ping, self()}
        become ping(n)
    end

    defactor counts(n) do
      :once ->
        become counts(n + 1)

      :count ->
        send self(), :count
        become counts(n + 1)
    end

    defactor later() do
      :later -> send_after 10, self(), :now
      {:later, other} -> send_after 10, other, :now
      :now -> :ok
    end

    # Sets a timer again and again, and counts if `step` is not 0.
    defactor ticks(n, step) do
      :tick ->
        send_after 5, self(), :tick
        become ticks(n + step, step)
    end

    # Tells the log that somebody has gone.
    defactor watches(log) do
      {:end_of, process} -> monitor(process, :gone)
      :gone -> send log, {:say, :gone}
    end

    # Has the customer wait.
    defactor serves(log, customer) do
      {from, :request} when customer == nil -> become serves(log, from)
    end

    # Says what it is told to, later.
    defactor sets(log) do
      {:set, timers} -> for {delay, what} <- timers, do: send_after(delay, log, {:say, what})
    end

    # Locks up when its time is over. `sure: true` looks whether the time is still the one that counts.
    defactor lock(number, timer, sure, log) do
      :open ->
        if timer, do: cancel_timer(timer)
        become lock(number + 1, send_after(10, self(), {:close, number + 1}), sure, log)

      {:close, n} ->
        if not sure or n == number do
          send log, {:say, {:closed, number}}
          become lock(number, nil, sure, log)
        end
    end

    # Tells the log what its function makes of what comes, and takes another function.
    defactor applies(log, f) do
      {:apply, x} -> send log, {:say, if(f == nil, do: x, else: f.(x))}
      {:add, n} when f == nil -> become applies(log, fn x -> x + n end)
      {:add, n} -> become applies(log, fn x -> f.(x) + n end)
    end

    defactor forwards(to) do
      message -> send to, message
    end

    defactor dice(log) do
      :throw -> send log, {:say, :rand.uniform(6)}
    end

    defactor clock(log) do
      :look -> send log, {:say, System.monotonic_time(:nanosecond)}
    end
  end

  defp yes(_), do: true

  defp said(log) do
    {:said, said} = Mote.ask!(log, :said)
    Enum.reverse(said)
  end

  # What a log may have been told when nothing waits any more.
  defp all_said(graph, opts \\ []) do
    test = self()
    ref = make_ref()
    result = Mote.Test.prove(graph, &send(test, {ref, said(&1)}), opts)
    {result, ref |> received() |> Enum.sort()}
  end

  defp received(ref) do
    receive do
      {^ref, seen} -> [seen | received(ref)]
    after
      0 -> []
    end
  end

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

    test "actors that are alike count once, unless somebody outside tells them apart" do
      graph = fn hold ->
        fn machine ->
          log = Mote.create(machine, Actors.log([]))
          held = for _ <- 1..4, do: tap(Mote.create(machine, Actors.ping(0)), &Mote.send(&1, {:ping, log}))
          if hold, do: held
        end
      end

      {:proved, alike} = Mote.Test.prove(graph.(false), &yes/1, allow: [:ignored])
      {:proved, told} = Mote.Test.prove(graph.(true), &yes/1, allow: [:ignored])
      assert {alike.states, alike.ends} == {9, 1}
      assert told.states > alike.states
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

  describe "what is to be true always" do
    # A turn of each that matters: between them, one has it and the other has it too.
    defmodule Tokens do
      use Mote.Behaviour

      defactor holds(n) do
        {:give, other} ->
          send other, :take
          become holds(n - 1)

        :take ->
          become holds(n + 1)
      end
    end

    defp tokens(machine) do
      [a, b] = actors = for n <- [1, 0], do: Mote.create(machine, Tokens.holds(n))
      Mote.send(a, {:give, b})
      actors
    end

    test "is looked at after each turn, over all actors that are named" do
      test = self()
      ref = make_ref()
      look = {& &1, &send(test, {ref, for({:holds, n} <- &1, do: n)})}
      assert {:proved, _} = Mote.Test.prove(&tokens/1, &yes/1, always: look)
      assert Enum.sort(received(ref)) == [[0, 0], [0, 1], [1, 0]]
    end

    test "fails where it is not, by the fewest turns" do
      never_lost = {& &1, fn states -> Enum.sum(for {:holds, n} <- states, do: n) == 1 end}
      assert {:failed, failure} = Mote.Test.prove(&tokens/1, &yes/1, always: never_lost)
      assert {failure.kind, length(failure.turns)} == {:always, 1}
      never_two = {& &1, fn states -> Enum.sum(for {:holds, n} <- states, do: n) <= 1 end}
      assert {:proved, _} = Mote.Test.prove(&tokens/1, &yes/1, always: never_two)
      # Also by none.
      assert {:failed, failure} = Mote.Test.prove(&tokens/1, &yes/1, always: {& &1, fn _ -> false end})
      assert {failure.kind, failure.turns} == {:always, []}
    end

    test "sees what two become in every order, though nobody else does" do
      graph = fn machine ->
        actors = for _ <- 1..2, do: Mote.create(machine, Actors.counts(0))
        for actor <- actors, do: Mote.send(actor, :once)
        actors
      end

      for {unseen, n} <- [{[1, 0], 1}, {[0, 1], 1}, {[1, 1], 2}] do
        look = {& &1, fn states -> for({:counts, n} <- states, do: n) != unseen end}
        assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, always: look)
        assert length(failure.turns) == n
      end
    end

    test "mistakes" do
      assert_raise ArgumentError, ~r/:always/, fn -> Mote.Test.prove(&tokens/1, &yes/1, always: &yes/1) end

      assert_raise ArgumentError, ~r/list of addresses/, fn ->
        Mote.Test.prove(&tokens/1, &yes/1, always: {&hd/1, &yes/1})
      end

      other = Mote.create(start_supervised!(Mote), Tokens.holds(0))

      assert_raise ArgumentError, ~r/actors of the machine/, fn ->
        Mote.Test.prove(&tokens/1, &yes/1, always: {fn _ -> [other] end, &yes/1})
      end
    end
  end

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

  describe "what is to come" do
    test "is looked for at ends and in circles" do
      graph = fn machine ->
        [a, b] = for _ <- 1..2, do: Mote.create(machine, Actors.ping(0))
        counter = Mote.create(machine, Actors.counts(0))
        Mote.send(a, {:ping, b})
        Mote.send(counter, :once)
        {a, counter}
      end

      counted = fn n -> {fn {_, counter} -> [counter] end, &match?([{:counts, ^n}], &1)} end
      # Round in circles, but the counter's turn comes.
      assert {:proved, %{orders: :infinite}} = Mote.Test.prove(graph, &yes/1, eventually: counted.(1))
      assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, eventually: counted.(2))
      assert {failure.kind, failure.turns} == {:eventually, []}
      # Unless its message gets lost.
      loses = fn {_, counter} -> [counter] end
      assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, eventually: counted.(1), loses: loses)
      assert {:eventually, {:order, [{:lost, 1}]}} = {failure.kind, failure.schedule}
      assert failure.turns == []
    end

    test "may be over" do
      graph = fn machine ->
        counter = Mote.create(machine, Actors.counts(0))
        for _ <- 1..2, do: Mote.send(counter, :once)
        counter
      end

      for {n, result} <- [{0, :proved}, {1, :proved}, {2, :proved}, {3, :failed}] do
        found = Mote.Test.prove(graph, &yes/1, eventually: {&[&1], &match?([{:counts, ^n}], &1)})
        assert elem(found, 0) == result
      end
    end
  end

  describe "what is left out is said:" do
    defp bounded(behaviour, messages, opts \\ []) do
      graph = fn machine ->
        actor = Mote.create(machine, behaviour.(Mote.create(machine, Actors.log([]))))
        for message <- messages, do: Mote.send(actor, message)
      end

      Mote.Test.prove(graph, &yes/1, opts)
    end

    test "states, depth, memory" do
      counts = fn _log -> Actors.counts(0) end
      assert {:bounded, [:states], %{states: states}} = bounded(counts, [:count], states: 100)
      assert states in 100..101
      assert {:bounded, [:depth], %{turns: 50, ends: 0}} = bounded(counts, [:count], depth: 50)
      assert {:bounded, [:memory], _} = bounded(counts, [:count], bytes: 50_000)
    end

    test "time" do
      counts = fn _log -> Actors.counts(0) end

      assert {:bounded, [:timeout], _} =
               bounded(counts, [:count], timeout: 1, depth: 0xFFFFFFF, states: 0xFFFFFFF)
    end

    test "timers for the outside, random numbers, times" do
      assert {:bounded, [:timers], _} = bounded(fn _ -> Actors.later() end, [{:later, self()}])
      assert {:bounded, [:random], _} = bounded(&Actors.dice/1, [:throw])
      assert {:bounded, [:clock], _} = bounded(&Actors.clock/1, [:look])
      # Which none of them sees.
      assert {:proved, _} = bounded(fn _ -> Actors.later() end, [:now])
    end

    test "timers that are set again and again, where that has no last state" do
      ticks = fn machine -> Mote.send(Mote.create(machine, Actors.ticks(0, 1)), :tick) end
      assert {:bounded, [:states, :timers], _} = Mote.Test.prove(ticks, &yes/1, states: 100)
      assert {:bounded, [:depth, :timers], _} = Mote.Test.prove(ticks, &yes/1, depth: 100)
      still = fn machine -> Mote.send(Mote.create(machine, Actors.ticks(0, 0)), :tick) end
      assert {:bounded, [:ends], %{ends: 0}} = Mote.Test.prove(still, &yes/1)
    end

    test "situations that are too large" do
      assert {:bounded, [:size], _} =
               bounded(fn _ -> Actors.door() end, List.duplicate(:knock, 1_001), allow: [:stashed])
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
