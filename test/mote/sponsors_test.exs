defmodule Mote.SponsorsTest do
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.Eventually

  alias Mote.{Actors, Error, Generators, Reference, Travellers}

  @moduletag capture_log: true

  # Some actors are busy for good: nothing waits for them when their machine ends.
  defp start(sponsors, opts \\ []),
    do: start_supervised!({Mote, [sponsors: sponsors, id: make_ref(), shutdown: [drain: 0]] ++ opts})

  # Turns that were run in a sponsor, once nothing is left to do.
  defp turns(machine, sponsor) do
    :ok = Mote.drain(machine, 30_000)
    Enum.sum(for thread <- Mote.info(machine).sponsors[sponsor].threads, do: thread.turns)
  end

  describe "a machine's sponsors" do
    test "are started with it, in this order" do
      cores = System.schedulers_online()
      machine = start(single: [threads: 1], multi: [threads: :cores], four: [threads: 4, pin: true])
      assert Mote.sponsors(machine) == [:single, :multi, :four]
      sponsors = Mote.info(machine).sponsors

      assert for({name, sponsor} <- sponsors, do: {name, length(sponsor.threads)}) |> Enum.sort() ==
               [four: 4, multi: cores, single: 1]
    end

    test "can be bound to cores" do
      [core | _] = cores = Mote.Native.cores()
      assert Enum.all?(cores, &is_integer/1)
      machine = start(bound: [threads: 2, pin: [core]], free: [threads: 2])
      tree = Mote.create(machine, Travellers.tree(nil))
      Mote.send(tree, 10, sponsor: :bound)
      assert turns(machine, :bound) == 2_047
    end

    if File.exists?("/proc/self/task") do
      test "run on the cores that they are bound to" do
        [core | _] = cores = Mote.Native.cores()

        assert {:ok, _} =
                 Mote.start_link(name: P, sponsors: [one: [pin: [core]], all: [threads: 3, pin: true]])

        eventually(fn -> allowed("P-one") == [to_string(core)] end)

        eventually(fn ->
          allowed("P-all") == for(n <- 0..2, do: to_string(Enum.at(cores, rem(n, length(cores)))))
        end)

        {:ok, _} = Mote.start_link(name: Any)
        [_, all] = Regex.run(~r/^Cpus_allowed_list:\t(.*)$/m, File.read!("/proc/self/status"))
        eventually(fn -> allowed("Any-main") == [all] end)
      end

      # The cores that the system lets threads of that name run on, as it writes them, in the order of the threads.
      defp allowed(name) do
        for task <- Enum.sort_by(File.ls!("/proc/self/task"), &String.to_integer/1),
            {:ok, status} <- [File.read("/proc/self/task/#{task}/status")],
            String.starts_with?(status, "Name:\tmote-" <> name) do
          [_, cores] = Regex.run(~r/^Cpus_allowed_list:\t(.*)$/m, status)
          cores
        end
      end
    end

    test "are added and removed" do
      machine = start(first: [])
      assert Mote.add_sponsor(machine, :second, threads: 3) == :ok
      assert Mote.sponsors(machine) == [:first, :second]
      assert {:error, error} = Mote.add_sponsor(machine, :second)
      assert %Error{reason: :sponsor_exists, context: %{sponsor: :second}} = error
      assert Exception.message(error) =~ "has a sponsor :second already"
      assert Mote.remove_sponsor(machine, :second) == :ok
      assert Mote.sponsors(machine) == [:first]
      assert {:error, error} = Mote.remove_sponsor(machine, :second)

      assert error.reason == :unknown_sponsor and
               Exception.message(error) =~ "no sponsor :second, only :first:"

      assert {:error, error} = Mote.remove_sponsor(machine, :first)
      assert error.reason == :first_sponsor and Exception.message(error) =~ ":first is the machine's first"
      # Names come and go as often as one likes.
      for n <- 1..50 do
        assert Mote.add_sponsor(machine, :second, threads: rem(n, 3) + 1) == :ok
        assert Mote.ask!(Mote.create(machine, Actors.echo()), n, sponsor: :second) == n
        assert Mote.remove_sponsor(machine, :second) == :ok
      end
    end

    test "that are unknown" do
      machine = start(one: [])
      echo = Mote.create(machine, Actors.echo())

      for call <- [
            fn -> Mote.create(machine, Actors.echo(), sponsor: :two) end,
            fn -> Mote.send(echo, 1, sponsor: :two) end,
            fn -> Mote.send(Mote.on(:two, echo), 1) end,
            fn -> Mote.ask!(echo, 1, sponsor: :two) end,
            fn -> Mote.ask!(Mote.on(:two, echo), 1) end
          ] do
        error = assert_raise Error, call
        assert error.reason == :unknown_sponsor
        assert Exception.message(error) =~ "the machine has no sponsor :two"
      end

      # Within the machine it is as good as no address.
      Mote.send(Mote.create(machine, Travellers.crossing(:two, echo)), {self(), 1})
      :ok = Mote.drain(machine, 60_000)
      assert Mote.info(machine).counters.dropped == 1
      refute_received _
    end
  end

  describe "a cascade" do
    setup do
      %{machine: start(one: [threads: 1], two: [threads: 1], many: [threads: 3])}
    end

    test "stays in the sponsor that it was sent by", %{machine: machine} do
      runner = Mote.create(machine, Travellers.runner())
      Mote.send(runner, {self(), 999}, sponsor: :two)
      assert_receive :arrived
      assert {turns(machine, :one), turns(machine, :two), turns(machine, :many)} == {0, 1_000, 0}
      # The first sponsor is the one that nobody has to name.
      assert Mote.ask!(runner, 9) == :arrived
      assert {turns(machine, :one), turns(machine, :two)} == {10, 1_000}
      assert Mote.ask!(runner, 9, sponsor: :two, timeout: 60_000) == :arrived
      assert turns(machine, :two) == 1_010
    end

    test "moves with sendx", %{machine: machine} do
      runner = Mote.create(machine, Travellers.runner())
      crossing = Mote.create(machine, Travellers.crossing(:many, runner))
      Mote.send(crossing, {self(), 99}, sponsor: :two)
      assert_receive :arrived
      assert {turns(machine, :one), turns(machine, :two), turns(machine, :many)} == {0, 1, 100}
      assert Mote.info(machine).counters.sendx == 1
    end

    test "comes home with on", %{machine: machine} do
      runner = Mote.create(machine, Travellers.runner())
      traveller = Mote.create(machine, Travellers.traveller(:one, :two, 0))
      for _ <- 1..10, do: Mote.send(traveller, {:go, runner, 4})
      assert {turns(machine, :one), turns(machine, :two)} == {20, 50}
      assert Mote.ask!(traveller, :arrived?) == 10
    end

    test "comes home with on from Elixir", %{machine: machine} do
      counter = Mote.create(machine, Actors.counter(0))
      home = Mote.on(:one, counter)
      assert %Mote.Address{sponsor: :one} = home
      forward = Mote.create(machine, Actors.forward(home))
      for n <- 1..10, do: Mote.send(forward, {:add, n}, sponsor: :two)
      assert {turns(machine, :one), turns(machine, :two)} == {10, 10}
      # The reference knows where it belongs, whatever the sender says.
      Mote.send(home, {:add, 100}, sponsor: :two)
      assert Mote.ask!(home, :read, sponsor: :two) == 155
      assert {turns(machine, :one), turns(machine, :two)} == {12, 10}
      assert Mote.on(:one, self()) == self()
      outbox = Mote.Outbox.open(machine)
      assert Mote.on(:one, outbox) == outbox
    end

    test "of a pinned actor runs where it is pinned", %{machine: machine} do
      runner = Mote.create(machine, Travellers.runner(), sponsor: :two)
      for sponsor <- [:one, :two, :many], do: Mote.send(runner, {self(), 9}, sponsor: sponsor)
      Mote.send(Mote.create(machine, Travellers.crossing(:many, runner)), {self(), 9})
      for _ <- 1..4, do: assert_receive(:arrived)
      assert {turns(machine, :one), turns(machine, :two), turns(machine, :many)} == {1, 40, 0}
    end

    test "of an actor that an actor has pinned", %{machine: machine} do
      pinner = Mote.create(machine, Travellers.pinner())
      runner = Mote.ask!(pinner, :two)
      assert Mote.ask!(runner, 9) == :arrived
      assert {turns(machine, :one), turns(machine, :two)} == {1, 10}
      # A sponsor that there is not pins to none.
      assert Mote.ask!(Mote.ask!(pinner, :nowhere), 9) == :arrived
      assert turns(machine, :one) == 12
    end

    test "of one actor that everybody sends to", %{machine: machine} do
      counter = Mote.create(machine, Actors.counter(0))

      [:one, :two, :many]
      |> Enum.map(fn sponsor ->
        Task.async(fn -> for _ <- 1..20_000, do: Mote.send(counter, {:add, 1}, sponsor: sponsor) end)
      end)
      |> Task.await_many(60_000)

      :ok = Mote.drain(machine, 60_000)
      assert Mote.ask!(counter, :read) == 60_000
      assert Mote.info(machine).counters.becomes == 60_000
    end
  end

  describe "sponsors that come and go" do
    test "lose nothing" do
      machine = start(home: [threads: 2])
      tokens = 3_000
      stops = for _ <- 1..40, do: Mote.create(machine, Travellers.stop(nil, nil, self()))

      for stop <- stops do
        Mote.send(stop, {:wire, Enum.random(stops), Enum.random(stops)})
      end

      :ok = Mote.drain(machine, 60_000)
      coming_and_going = Task.async(fn -> come_and_go(machine, 0) end)
      for token <- 1..tokens, do: send_somewhere(machine, Enum.random(stops), {200, token})
      arrived = for _ <- 1..tokens, do: assert_receive({:token, token}, 60_000) && token
      send(coming_and_going.pid, :enough)
      assert Task.await(coming_and_going, 60_000) > 0
      assert Enum.sort(arrived) == Enum.to_list(1..tokens)
      :ok = Mote.drain(machine, 60_000)
      assert %{dropped: 0, turns: turns} = Mote.info(machine).counters
      assert turns == tokens * 201 + 40
      refute_received _
    end

    defp come_and_go(machine, rounds) do
      for name <- [:a, :b], do: :ok = Mote.add_sponsor(machine, name, threads: Enum.random(1..3))
      Process.sleep(Enum.random(0..5))
      for name <- [:b, :a], do: :ok = Mote.remove_sponsor(machine, name)

      receive do
        :enough -> rounds + 1
      after
        0 -> come_and_go(machine, rounds + 1)
      end
    end

    defp send_somewhere(machine, target, message) do
      Mote.send(target, message, sponsor: machine |> Mote.sponsors() |> Enum.random())
    rescue
      error in Error ->
        assert error.reason == :unknown_sponsor
        send_somewhere(machine, target, message)
    end

    test "leave their pinned actors and their timers to the first one" do
      machine = start(first: [])
      :ok = Mote.add_sponsor(machine, :second)
      runner = Mote.create(machine, Travellers.runner(), sponsor: :second)
      home = Mote.on(:second, Mote.create(machine, Actors.echo()))
      twice = Mote.create(machine, Travellers.twice(50))
      Mote.send(twice, {self(), 1}, sponsor: :second)
      assert_receive {:now, 1}
      :ok = Mote.remove_sponsor(machine, :second)
      assert_receive {:later, 1}
      assert Mote.ask!(runner, 9) == :arrived
      assert {:error, %Error{reason: :unknown_sponsor}} = Mote.ask(home, 1)
      # A new sponsor of the old name is another one; the pinned actor stays.
      before = turns(machine, :first)
      :ok = Mote.add_sponsor(machine, :second)
      assert Mote.ask!(runner, 9) == :arrived
      assert {turns(machine, :first) - before, turns(machine, :second)} == {10, 0}
      assert Mote.ask!(home, 1) == 1
    end

    test "give up long turns, which run once more in the first one" do
      machine = start([first: [], second: []], fuel: 1_000_000_000_000_000)
      spinner = Mote.create(machine, Travellers.spinner(self()))

      # The last one would take days.
      for n <- [0, 100_000_000, 1_000_000_000_000_000], do: Mote.send(spinner, n, sponsor: :second)
      assert_receive {:done, 0}, 30_000
      removed = Task.async(fn -> Mote.remove_sponsor(machine, :second) end)
      assert Task.yield(removed, 30_000) == {:ok, :ok}
      assert_receive {:done, 100_000_000}, 60_000
      refute_received {:done, _}
      assert Mote.sponsors(machine) == [:first]
    end

    test "are counted on" do
      machine = start(first: [])
      :ok = Mote.add_sponsor(machine, :second)
      assert Mote.ask!(Mote.create(machine, Travellers.runner()), 99, sponsor: :second) == :arrived
      :ok = Mote.remove_sponsor(machine, :second)
      assert Mote.info(machine).counters.turns == 100
    end

    test "many at a time" do
      machine = start(first: [])
      names = for n <- 1..20, do: :"sponsor#{n}"
      answers = names |> Task.async_stream(&Mote.add_sponsor(machine, &1, threads: 2)) |> Enum.to_list()
      assert Enum.uniq(answers) == [ok: :ok]
      assert Enum.sort(Mote.sponsors(machine)) == Enum.sort([:first | names])
      answers = names |> Task.async_stream(&Mote.remove_sponsor(machine, &1)) |> Enum.to_list()
      assert Enum.uniq(answers) == [ok: :ok]
      assert Mote.sponsors(machine) == [:first]
    end
  end

  describe "confluent programs" do
    for threads <- [1, 2, 4] do
      property "do as the reference on #{threads} threads" do
        machine = start(main: [threads: unquote(threads)], other: [threads: unquote(threads)])

        check all(graph <- graph(), max_runs: 40) do
          assert run(graph, machine) == reference(graph)
        end
      end
    end

    # A program takes longer to compile than to run.
    @tag skip: Generators.unfit()
    property "of one chain do as the reference on 1, 2 and 4 threads" do
      machines = for threads <- [1, 2, 4], do: start(main: [threads: threads])

      check all(program <- Generators.program(), max_runs: 40) do
        Generators.with_module(program, fn module ->
          if chain?(program, module), do: assert_agree(program, module, machines)
        end)
      end
    end

    defp assert_agree(program, module, machines) do
      reference = Generators.run_reference(program, module, turn: &Mote.Interpret.turn/3)

      for machine <- machines,
          Generators.comparable?(reference),
          ran = Generators.run_machine(program, module, machine, length(reference.outside)),
          not ran.limited do
        assert ran.outside == reference.outside
        keys = [:turns, :sends, :creates, :becomes, :ignored, :dropped]
        assert Map.take(ran.counters, keys) == Map.take(reference.counters, keys)
      end
    end

    # Links between nodes, and what they start with. A value goes over links at most as many times as it has hops.
    defp graph do
      bind(integer(1..6), fn n ->
        link = {member_of([nil, nil, :main, :other]), integer(0..(n - 1)), integer(1..1_000)}
        links = list_of(list_of(tuple(link), max_length: 3), length: n)
        starts = list_of(tuple({integer(0..(n - 1)), integer(0..5), integer(0..1_000)}), max_length: 20)
        tuple({links, starts})
      end)
    end

    defp run({links, starts}, machine) do
      nodes = for _ <- links, do: Mote.create(machine, Travellers.node([], 0))
      for {node, links} <- Enum.zip(nodes, links), do: Mote.send(node, {:wire, wire(links, nodes)})
      :ok = Mote.drain(machine, 60_000)
      for {node, hops, value} <- starts, do: Mote.send(Enum.at(nodes, node), {:add, hops, value})
      :ok = Mote.drain(machine, 30_000)
      for node <- nodes, do: Mote.ask!(node, :sum)
    end

    defp reference({links, starts}) do
      {nodes, ref} =
        Enum.map_reduce(links, Reference.new(), fn _, ref -> Reference.create(ref, Travellers.node([], 0)) end)

      wires = for {node, links} <- Enum.zip(nodes, links), do: {node, {:wire, wire(links, nodes)}}
      adds = for {node, hops, value} <- starts, do: {Enum.at(nodes, node), {:add, hops, value}}
      send = fn {node, message}, ref -> Reference.send(ref, node, message) end
      ref = Enum.reduce(wires ++ adds, ref, send) |> Reference.run()
      for node <- nodes, do: Reference.state(ref, node).captures |> elem(1)
    end

    defp wire(links, nodes) do
      for {sponsor, node, weight} <- links, do: {sponsor, Enum.at(nodes, node), weight}
    end

    # Whether there is never more than one event to choose from.
    defp chain?(program, module) do
      {actors, ref} =
        program
        |> Generators.behaviours(module)
        |> Enum.map_reduce(Reference.new(), &Reference.create(&2, &1))

      {starter, ref} = Reference.create(ref, Generators.Starter.starter())
      ref = Reference.send(ref, starter, Generators.start(program, actors))

      ref
      |> Stream.iterate(&Reference.run(&1, 1))
      |> Enum.find_value(fn ref ->
        case Reference.pending(ref) do
          0 -> {:chain, true}
          1 -> nil
          _ -> {:chain, false}
        end
      end)
      |> elem(1)
    end
  end

  describe "counters" do
    test "are those that are documented" do
      {:docs_v1, _, _, _, %{"en" => doc}, _, _} = Code.fetch_docs(Mote.Counters)
      documented = Regex.scan(~r/^  \* `(\w+)` - /m, doc) |> Enum.map(fn [_, name] -> name end)
      machine = start(main: [threads: 2])
      info = Mote.info(machine)
      names = info.counters |> Map.keys() |> Enum.map(&to_string/1)
      assert Enum.sort(documented) == Enum.sort(names)
      assert [thread, thread] = for(t <- info.sponsors.main.threads, do: Map.keys(t))
      assert thread == Map.keys(info.counters)
    end

    test "of time go on while a thread is busy" do
      machine = start(main: [threads: 2])
      Mote.send(Mote.create(machine, Actors.busy(0)), :go)
      busy = fn -> Mote.info(machine).counters.busy_ns end
      before = busy.()
      eventually(fn -> busy.() - before > 50_000_000 end)
    end

    test "of the machine are the sums of its threads'" do
      machine = start(one: [], many: [threads: 3])
      tree = Mote.create(machine, Travellers.tree(self()))
      Mote.send(tree, 12, sponsor: :many)
      :ok = Mote.drain(machine, 60_000)
      info = Mote.info(machine)
      threads = for {_, sponsor} <- info.sponsors, thread <- sponsor.threads, do: thread

      for key <- [:turns, :sends, :creates, :foreign_in, :foreign_out] do
        assert info.counters[key] == Enum.sum(for thread <- threads, do: thread[key])
      end

      assert %{turns: 8_191, creates: 8_190, foreign_in: 1, foreign_out: 4_096} = info.counters
      for {_, sponsor} <- info.sponsors, do: assert(%{inbox: 0, queued: 0} = sponsor)
      assert info.inbox == 0
    end
  end
end
