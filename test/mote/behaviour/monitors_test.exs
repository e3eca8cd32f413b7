defmodule Mote.Behaviour.MonitorsTest do
  # Actors that learn that a process has ended: in the machine, by interpreter and native code, in plain Elixir, in beam turns.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Eventually

  alias Mote.{FarRig, Reference, TwoNodes, Turn}
  alias Mote.Behaviour.MonitorsTest.Monitoring

  defmodule Monitoring do
    use Mote.Behaviour

    # Tells `to` everything that comes of monitors, and answers with what demonitor takes.
    defactor watching(to, monitors) do
      {customer, {:watch, name, process}} ->
        monitor = monitor(process, {:ended, name})
        send customer, monitor
        become watching(to, Map.put(monitors, name, monitor))

      {customer, {:unwatch, name}} ->
        send customer, demonitor(Map.get(monitors, name))
        become watching(to, Map.delete(monitors, name))

      {customer, {:both, process}} ->
        send customer, demonitor(monitor(process, :never))

      {:aborting, process} ->
        monitor(process, :never)
        abort(:on_purpose)

      {:unwatching, name} ->
        demonitor(Map.get(monitors, name))
        abort(:on_purpose)

      {:for, target, process, message} ->
        monitor(process, target, message)

      {:many, process, n} ->
        for i <- 1..n, do: monitor(process, i)

      message ->
        send to, {:heard, message}
    end

    # Nobody has its address but the monitor.
    defactor making(to) do
      process -> send create(watching(to, %{})), {:for, create(heir(to)), process, :left}
    end

    defactor heir(to) do
      message -> send to, {:heir, message}
    end

    defactor wrong() do
      {customer, value} -> send customer, monitor(value, :never)
    end

    # One after the other, of a process that lives.
    defactor changing() do
      {customer, {_process, 0}} ->
        send customer, :done

      {customer, {process, n}} ->
        demonitor(monitor(process, :never))
        send self(), {customer, {process, n - 1}}
    end
  end

  defmodule Lenient do
    use Mote.Behaviour, errors: :undefined

    defactor wrong() do
      {customer, value} -> send customer, monitor(value, :never)
    end
  end

  defmodule Beam do
    use Mote.Behaviour

    defactor watching(to, monitor), beam: true do
      {:watch, process} ->
        become watching(to, monitor(process, {:ended, process}))

      {:unwatch, process} ->
        send to, {:heard, {process, demonitor(monitor)}}

      {:abort, process} ->
        monitor(process, :never) && abort(:on_purpose)

      {:for, target, process} ->
        monitor(process, target, :ended)

      {customer, :wrong} ->
        send customer,
             (try do
                monitor(:me, :never)
              rescue
                e in ArgumentError -> Exception.message(e)
              end)

      message ->
        send to, {:heard, message}
    end
  end

  defp start(opts \\ []), do: start_supervised!({Mote, [id: make_ref()] ++ opts})

  defp process, do: spawn(fn -> receive do: (:end -> :ok) end)

  defp gone(process) do
    ref = Process.monitor(process)
    send(process, :end)
    assert_receive {:DOWN, ^ref, _, _, _}, 30_000
  end

  defp watching(machine, opts \\ []), do: Mote.create(machine, Monitoring.watching(self(), %{}), opts)

  # What the machine's watcher monitors.
  defp monitored(machine) do
    [watcher] = Mote.Processes.linked(machine, Mote.Machine.Watcher)
    {:monitors, monitors} = Process.info(watcher, :monitors)
    for {:process, pid} <- monitors, do: pid
  end

  for tier <- [:native, :interp] do
    describe "in a machine (#{tier})" do
      @tier tier

      test "the message comes when the process ends, once, to the actor that asked or to another target" do
        machine = start(tier: @tier)
        watching = watching(machine)
        one = process()
        monitor = Mote.ask!(watching, {:watch, :one, one})
        assert is_struct(monitor, Mote.Timer)
        Mote.send(watching, {:for, self(), one, :told})
        Mote.send(watching, {:for, watching, one, :third})
        :ok = Mote.drain(machine)
        refute_received {:heard, _}
        gone(one)
        assert_receive {:heard, {:ended, :one}}, 30_000
        assert_receive :told, 30_000
        assert_receive {:heard, :third}, 30_000
        :ok = Mote.drain(machine)
        refute_received _
        assert Mote.ask!(watching, {:unwatch, :one}) == :ok
        eventually(fn -> Mote.info(machine).counters.timers == 0 and monitored(machine) == [] end)
      end

      test "also for a process that has ended before" do
        machine = start(tier: @tier)
        one = process()
        gone(one)
        Mote.ask!(watching(machine), {:watch, :one, one})
        assert_receive {:heard, {:ended, :one}}, 30_000
      end

      test "demonitor ends it, also in the same turn" do
        machine = start(tier: @tier)
        watching = watching(machine)
        [one, two] = [process(), process()]
        Mote.ask!(watching, {:watch, :one, one})
        assert Mote.ask!(watching, {:unwatch, :one}) == :ok
        assert Mote.ask!(watching, {:unwatch, :one}) == :undefined
        assert Mote.ask!(watching, {:both, one}) == :ok
        # Anybody who has the monitor may, as with a timer.
        assert is_integer(Mote.cancel_timer(Mote.ask!(watching, {:watch, :two, one})))
        Mote.ask!(watching, {:watch, :other, two})
        gone(one)
        gone(two)
        assert_receive {:heard, {:ended, :other}}, 30_000
        :ok = Mote.drain(machine)
        refute_received _
      end

      test "a turn that aborts neither begins nor ends one" do
        machine = start(tier: @tier)
        watching = watching(machine)
        [one, two] = [process(), process()]
        Mote.send(watching, {:aborting, one})
        Mote.ask!(watching, {:watch, :two, two})
        Mote.send(watching, {:unwatching, :two})
        :ok = Mote.drain(machine)
        assert Mote.info(machine).counters.timers == 1
        gone(one)
        gone(two)
        assert_receive {:heard, {:ended, :two}}, 30_000
        :ok = Mote.drain(machine)
        refute_received _
      end

      test "what is no pid raises, and is :undefined where errors are" do
        machine = start(tier: @tier)

        for value <- [1, :name, {:a}, %{}] do
          assert {:error, error} = Mote.ask(Mote.create(machine, Monitoring.wrong()), value)
          assert error.message =~ "expected a pid to monitor, got: #{inspect(value)}"
          assert Mote.ask!(Mote.create(machine, Lenient.wrong()), value) == :undefined
        end

        assert Mote.info(machine).counters.timers == 0
      end
    end
  end

  test "what the process has sent before comes before" do
    machine = start()
    watching = watching(machine)

    for n <- 1..200 do
      one =
        spawn(fn ->
          receive do: (:go -> :ok)
          Mote.send_many(watching, Enum.to_list(1..20))
        end)

      Mote.ask!(watching, {:watch, n, one})
      send(one, :go)
      for i <- 1..20, do: assert_receive({:heard, ^i}, 30_000)
      assert_receive {:heard, {:ended, ^n}}, 30_000
    end
  end

  test "an actor that only a monitor reaches is kept, and collected afterwards" do
    machine = start()
    one = process()
    Mote.send(Mote.create(machine, Monitoring.making(self())), one)
    :ok = Mote.drain(machine)
    collect(machine, 0)
    assert Mote.info(machine).gc.live_actors == 1
    gone(one)
    assert_receive {:heir, :left}, 30_000
    :ok = Mote.drain(machine)
    Mote.gc(machine)
    assert Mote.info(machine).gc.live_actors == 0
  end

  test "each process is monitored once, however many wait for its end, and what waits is charged" do
    machine = start()
    watching = watching(machine)
    one = process()
    before = Mote.info(machine).memory.charged
    Mote.send(watching, {:many, one, 50_000})
    :ok = Mote.drain(machine, 60_000)
    assert Mote.info(machine).counters.timers == 50_000
    assert Mote.info(machine).memory.charged - before > 50_000 * 64
    eventually(fn -> monitored(machine) == [one] end)
    gone(one)
    for n <- 1..50_000, do: assert_receive({:heard, ^n}, 60_000)
    eventually(fn -> Mote.info(machine).counters.timers == 0 end)
    eventually(fn -> monitored(machine) == [] end)
  end

  test "a turn that arms more than there is memory for is aborted" do
    machine = start(memory: 16 * 1024 * 1024)
    watching = watching(machine)
    one = process()
    Mote.send(watching, {:many, one, 400_000})
    :ok = Mote.drain(machine, 60_000)
    assert Mote.info(machine).counters.aborts_no_memory == 1
    assert Mote.info(machine).counters.timers == 0
    Mote.ask!(watching, {:watch, :one, one})
    gone(one)
    assert_receive {:heard, {:ended, :one}}, 30_000
  end

  # Invariant 2 of native/mote_nif/src/held/watches.rs.
  test "what was cancelled is forgotten though the process lives" do
    machine = start()
    processes = for _ <- 1..40, do: process()
    change = &Mote.ask!(Mote.create(machine, Monitoring.changing()), {&1, 1_000}, 60_000)
    Enum.each(processes, change)

    # Forty thousand of them, of which at most some thousands are still known, of the last processes. What was noted while the watcher
    # swept counts for the next time.
    eventually(fn ->
      processes |> List.last() |> change.()
      length(monitored(machine)) <= 10
    end)

    Enum.each(processes, &gone/1)
    eventually(fn -> monitored(machine) == [] end)
  end

  test "the watcher ends with its machine" do
    {:ok, machine} = Mote.start_link()
    one = process()
    Mote.ask!(watching(machine), {:watch, :one, one})
    eventually(fn -> monitored(machine) == [one] end)
    Mote.stop(machine)
    eventually(fn -> Process.info(one, :monitored_by) == {:monitored_by, []} end)
  end

  test "monitors of a removed sponsor go on" do
    machine = start(sponsors: [main: [], other: []])
    watching = watching(machine, sponsor: :other)
    one = process()
    Mote.ask!(watching, {:watch, :one, one})
    Mote.ask!(watching, {:watch, :two, one})
    :ok = Mote.remove_sponsor(machine, :other)
    assert Mote.ask!(watching, {:unwatch, :two}) == :ok
    gone(one)
    assert_receive {:heard, {:ended, :one}}, 30_000
    refute_received _
  end

  describe "in beam turns" do
    test "they are as in any other" do
      machine = start(sponsors: [main: [], io: [beam: true]])
      watching = Mote.create(machine, Beam.watching(self(), nil), sponsor: :io)
      [one, two, three] = for _ <- 1..3, do: process()
      Mote.send(watching, {:watch, one})
      Mote.send(watching, {:abort, three})
      Mote.send(watching, {:for, self(), three})
      :ok = Mote.drain(machine)
      gone(one)
      assert_receive {:heard, {:ended, ^one}}, 30_000
      gone(three)
      assert_receive :ended, 30_000
      Mote.send(watching, {:watch, two})
      Mote.send(watching, {:unwatch, two})
      assert_receive {:heard, {^two, :ok}}, 30_000
      gone(two)
      assert Mote.ask!(watching, :wrong) == "expected a pid to monitor, got: :me"
      :ok = Mote.drain(machine)
      refute_received _
    end

    test "the language's own behaviours too" do
      machine = start(sponsors: [main: [], io: [beam: true]])
      watching = watching(machine, sponsor: :io)
      one = process()
      Mote.ask!(watching, {:watch, :one, one})
      Mote.ask!(watching, {:watch, :two, one})
      assert Mote.ask!(watching, {:unwatch, :two}) == :ok
      gone(one)
      assert_receive {:heard, {:ended, :one}}, 30_000
      :ok = Mote.drain(machine)
      refute_received _
    end
  end

  describe "in plain Elixir" do
    test "a turn shows them" do
      one = process()
      turn = Mote.Behaviour.turn(Monitoring.watching(self(), %{}), {:for, :a, one, :b})
      assert [{:monitor, ref, ^one, :a, :b}] = turn.effects
      assert [{^ref, ^one, :a, :b}] = turn.timers
      turn = Mote.Behaviour.turn(Monitoring.watching(self(), %{}), {self(), {:both, one}})
      assert [{:monitor, ref, ^one, _, :never}, {:cancel_timer, ref}, {:send, _, :ok}] = turn.effects

      assert %Turn{outcome: {:abort, {:abort, :on_purpose}}, effects: []} =
               Mote.Behaviour.turn(Monitoring.watching(self(), %{}), {:aborting, one})
    end

    test "the simulator lets processes end" do
      [one, two] = [process(), process()]
      ref = Reference.new()
      {watching, ref} = Reference.create(ref, Monitoring.watching(Reference.customer(:out), %{}))
      ref = Reference.send(ref, watching, {Reference.customer(:in), {:watch, 1, one}})
      ref = Reference.send(ref, watching, {Reference.customer(:in), {:watch, 2, two}})
      ref = Reference.send(ref, watching, {Reference.customer(:in), {:unwatch, 1}})
      ref = ref |> Reference.run() |> Reference.advance(1_000_000)
      ref = ref |> Reference.down(one) |> Reference.down(two) |> Reference.down(two) |> Reference.run()
      assert for({:out, message} <- Reference.outside(ref), do: message) == [{:heard, {:ended, 2}}]
    end
  end

  test "a trace shows them" do
    machine = start()
    one = process()
    watching = watching(machine)
    Mote.trace(machine)
    Mote.send(watching, {:for, self(), one, :message})
    assert_receive {:mote_trace, _, turn}, 30_000
    assert turn.timers == [{one, self(), :message}]
    assert Mote.Trace.format(turn) =~ "monitor #{inspect(one)}, #{inspect(self())}, :message"
  end

  # The same with a model: which monitors are there when a process ends.
  property "whatever is monitored and demonitored, what is left at the end of a process comes, once" do
    check all steps <-
                list_of(tuple({member_of([:watch, :unwatch, :end]), integer(0..3), integer(0..9)}),
                  max_length: 40
                ),
              max_runs: 40 do
      machine = start(sponsors: [main: [threads: 2]])
      watching = watching(machine)
      processes = for _ <- 0..3, do: process()

      heard = fn names -> for name <- names, do: assert_receive({:heard, {:ended, ^name}}, 30_000) end

      # What is to come has come before the next step, so that the model knows what is left.
      left =
        Enum.reduce(steps, %{}, fn
          {:watch, which, name}, left when not is_map_key(left, name) ->
            process = Enum.at(processes, which)
            alive? = Process.alive?(process)
            Mote.ask!(watching, {:watch, name, process})
            if not alive?, do: heard.([name])
            if alive?, do: Map.put(left, name, which), else: left

          {:unwatch, _, name}, left ->
            Mote.ask!(watching, {:unwatch, name})
            Map.delete(left, name)

          {:end, which, _}, left ->
            process = Enum.at(processes, which)
            if Process.alive?(process), do: gone(process)
            {ended, left} = Enum.split_with(left, fn {_, of} -> of == which end)
            heard.(for {name, _} <- ended, do: name)
            Map.new(left)

          _watched_already, left ->
            left
        end)

      :ok = Mote.drain(machine)
      refute_received {:heard, _}
      assert Mote.info(machine).counters.timers == map_size(left)
      for one <- processes, do: Process.exit(one, :kill)
      heard.(Map.keys(left))
    end
  end

  describe "processes of other nodes" do
    @describetag skip: TwoNodes.missing()

    test "end, and are lost with their node" do
      {:ok, nodes} = TwoNodes.start()
      Process.flag(:trap_exit, true)
      # The machine is on one of the two: the node of the tests has no part in it.
      :ok = FarRig.at(nodes.home, :machine, [Home])
      {listener, address} = FarRig.at(nodes.home, :listening, [Home])
      [one, two] = for _ <- 1..2, do: :peer.call(nodes.away, TwoNodes, :listener, [], 60_000)

      for {process, message} <- [{one, 1}, {two, 2}],
          do: :ok = FarRig.at(nodes.home, :watch, [Home, process, address, message])

      :peer.call(nodes.away, Process, :exit, [one, :kill], 60_000)
      assert FarRig.heard(nodes.home, listener, 1) == [1]
      TwoNodes.kill(nodes.away)
      assert FarRig.heard(nodes.home, listener, 2) == [1, 2]
      :peer.stop(nodes.home)
    end
  end
end
