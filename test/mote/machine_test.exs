defmodule Mote.MachineTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  import ExUnit.CaptureLog

  alias Mote.{Actors, Error, Machine}

  describe "start_link" do
    test "gives a process that answers for the machine" do
      assert {:ok, pid} = Mote.start_link()
      assert Mote.sponsors(pid) == [:main]
      assert Mote.stop(pid) == :ok
      refute Process.alive?(pid)
    end

    test "by name" do
      registry = start_supervised!({Registry, keys: :unique, name: Mote.MachineTest.Registry})
      assert is_pid(registry)

      names = [
        Mote.MachineTest.Named,
        {:global, {:mote, 1}},
        {:via, Registry, {Mote.MachineTest.Registry, "one"}}
      ]

      for name <- names do
        pid = start_supervised!({Mote, name: name})
        assert Mote.info(pid).name == name
        assert Mote.info(name).name == name
        assert Mote.ask!(Mote.create(name, Actors.echo()), name) == name
        assert {:error, {:already_started, ^pid}} = Mote.start_link(name: name)
      end
    end

    test "by the machine of an address" do
      {:ok, machine} = Mote.start_link()
      address = Mote.create(machine, Mote.Actors.echo())
      assert Mote.machine(address.machine) == Mote.machine(machine)
      assert Mote.drain(address.machine) == :ok
      assert Mote.ask!(Mote.create(address.machine, Mote.Actors.echo()), 1) == 1
      assert_raise ArgumentError, ~r/expected a machine/, fn -> Mote.drain(make_ref()) end
      Mote.stop(machine)
      assert catch_error(Mote.info(address.machine)).reason == :machine_down
    end

    test "with sponsors and fuel" do
      pid = start_supervised!({Mote, sponsors: [alone: [threads: 1]], fuel: 10})
      assert Mote.sponsors(pid) == [:alone]
    end

    test "several machines know nothing of each other" do
      one = start_supervised!({Mote, id: 1})
      two = start_supervised!({Mote, id: 2})
      counter = Mote.create(one, Actors.counter(1))
      assert Mote.info(one).references == 1
      assert Mote.info(two).references == 0
      :ok = stop_supervised(2)
      assert Mote.ask!(counter, :read) == 1
    end
  end

  describe "stop" do
    test "leaves alone what is no machine" do
      {:ok, other} = Agent.start_link(fn -> 1 end, name: Mote.MachineTest.Other)

      for what <- [
            Mote.MachineTest.Other,
            other,
            Mote.MachineTest.Nobody,
            {:global, :nobody},
            %Machine{pid: other, name: nil}
          ] do
        assert catch_exit(Mote.stop(what)) == {:noproc, {Mote, :stop, [what, :normal, :infinity]}}
      end

      assert Agent.get(other, & &1) == 1
    end

    test "takes a pid, a name and what stands for the machine" do
      {:ok, _} = Mote.start_link(name: Mote.MachineTest.Stopped)
      assert Mote.stop(Mote.MachineTest.Stopped) == :ok
      {:ok, pid} = Mote.start_link()
      assert Mote.stop(Mote.machine(pid)) == :ok
      assert {:noproc, _} = catch_exit(Mote.stop(pid))
    end
  end

  test "a message to the machine itself is no message to anybody, and is logged" do
    machine = start_supervised!({Mote, name: Mote.MachineTest.Told})

    log =
      capture_log(fn ->
        assert Mote.send(machine, {:add, 1}) == :ok
        # After it: this goes through its process.
        assert GenServer.call(machine, :native)
      end)

    assert log =~ "[warning] machine Mote.MachineTest.Told (#{inspect(machine)}) got an unexpected message"
    assert log =~ "actors are sent to by their address: {:add, 1}"
    # Other tests log meanwhile.
    refute capture_log(fn -> Mote.MachineTest.ends(machine) end) =~ inspect(machine)
    assert Mote.sponsors(machine) == [:main]
  end

  # A process that is linked to the machine ends normally.
  def ends(machine) do
    {pid, ref} = spawn_monitor(fn -> Process.link(machine) end)
    assert_receive {:DOWN, ^ref, _, ^pid, :normal}
    GenServer.call(machine, :native)
  end

  test "a machine that was started in the place of another does not know its actors" do
    start_supervised!({Mote, name: Mote.MachineTest.Again})
    echo = Mote.create(Mote.MachineTest.Again, Actors.echo())
    ref = Mote.monitor(echo)
    Process.exit(Process.whereis(Mote.MachineTest.Again), :kill)
    assert_receive {:DOWN, ^ref, :process, old, :killed}
    eventually(fn -> Process.whereis(Mote.MachineTest.Again) not in [nil, old] end)
    assert Mote.sponsors(Mote.MachineTest.Again) == [:main]
    error = catch_error(eventually(fn -> Mote.send(echo, 1) != :ok end))
    assert %Error{reason: :machine_down} = error

    assert Exception.message(error) =~
             "has ended; one that was started in its place has new actors: create the actor again"

    assert {:error, %Error{reason: :machine_down}} = Mote.ask(echo, 1)
    new = Mote.create(Mote.MachineTest.Again, Actors.echo())
    assert Mote.ask!(new, 1) == 1
  end

  describe "child_spec" do
    test "takes no others" do
      assert_raise ArgumentError, ~r/unknown option :foo; the options of a machine are :name, /, fn ->
        Mote.child_spec(name: :x, foo: 1)
      end
    end

    test "takes what supervisors take" do
      drain = [shutdown: [drain: 5_000]]

      assert Mote.child_spec([]) == %{
               id: Mote,
               start: {Mote, :start_link, [drain]},
               type: :worker,
               shutdown: 10_000
             }

      assert Mote.child_spec(name: :a_machine, restart: :temporary, shutdown: 100, fuel: 5) ==
               %{
                 id: :a_machine,
                 restart: :temporary,
                 shutdown: 100,
                 start: {Mote, :start_link, [[shutdown: [drain: 50], name: :a_machine, fuel: 5]]},
                 type: :worker
               }

      assert %{id: :other} = Mote.child_spec(name: :a_machine, id: :other)
    end

    test "says what is no list of options" do
      for other <- [:a_machine, [:name], %{name: :a_machine}] do
        assert_raise ArgumentError,
                     ~r/as in {Mote, name: MyApp.Mote}, got: #{Regex.escape(inspect(other))}/,
                     fn ->
                       Mote.child_spec(other)
                     end
      end
    end
  end

  describe "the owner" do
    test "ends with a fault, and its supervisor starts a fresh machine" do
      start_supervised!({Mote, name: Mote.MachineTest.Faulty})
      pid = Process.whereis(Mote.MachineTest.Faulty)
      echo = Mote.create(pid, Actors.echo())
      monitor = Process.monitor(pid)

      log =
        capture_log(fn ->
          # What the native side sends when a thread has met a panic.
          send(pid, {:mote_fault, :main, {Actors, :echo}, "atom", "index out of bounds"})
          assert_receive {:DOWN, ^monitor, _, _, {:fault, fault}}

          assert fault == %{
                   sponsor: :main,
                   behaviour: {Actors, :echo},
                   message_kind: "atom",
                   text: "index out of bounds"
                 }
        end)

      assert log =~ "index out of bounds"
      assert {:error, %Error{reason: :machine_down}} = Mote.ask(echo, 1)
      fresh = eventually(fn -> Process.whereis(Mote.MachineTest.Faulty) end)
      assert fresh != pid
      assert Mote.ask!(Mote.create(fresh, Actors.echo()), 1) == 1
    end

    test "ignores what is not for it, and ends with what it is linked to" do
      {:ok, pid} = Mote.start_link()
      send(pid, :who_knows)
      spawn(fn -> Process.link(pid) end)
      assert Mote.info(pid)

      Process.flag(:trap_exit, true)

      capture_log(fn ->
        spawn(fn -> Process.link(pid) && exit(:because) end)
        assert_receive {:EXIT, ^pid, :because}
      end)

      refute Process.alive?(pid)
    end
  end

  describe "aborted turns" do
    test "are logged with what they were about" do
      machine = start_supervised!({Mote, name: Mote.MachineTest.Log})
      failing = Mote.create(machine, Actors.failing(:too_late))

      log =
        capture_log([metadata: [:mote_behaviour, :mote_reason]], fn ->
          Mote.send(failing, {:what, self(), failing})
          eventually(fn -> Mote.info(machine).counters.aborts_explicit == 1 end)
          :sys.get_state(machine)
        end)

      assert log =~ "Mote.Actors.failing aborted a turn of machine Mote.MachineTest.Log"
      assert log =~ "{:abort, {:too_late}}"
      assert log =~ "message: {:what, #{inspect(self())}, #Mote.Address<"
      assert log =~ "mote_behaviour=failing"
    end

    test "are shown in part when they are large" do
      machine = start_supervised!(Mote)
      failing = Mote.create(machine, Actors.failing(Enum.to_list(1..100_000)))
      deep = Enum.reduce(1..100_000, [], fn _, inner -> {inner, %{1 => 2}} end)
      test = self()
      handler = fn {:mote_aborted, _} = message -> send(test, message) end
      :sys.install(machine, {fn nil, event, _ -> intercept(event, handler) end, nil})

      capture_log(fn ->
        for message <- [
              Enum.to_list(1..100_000),
              deep,
              :binary.copy("x", 100_000),
              List.to_tuple(Enum.to_list(1..9_999))
            ] do
          Mote.send(failing, message)
          assert_receive {:mote_aborted, {:main, Actors, :failing, {:abort, {reason}}, shown}}
          assert :erts_debug.flat_size({reason, shown}) < 2_000
        end
      end)

      :sys.remove(machine, fn _, _, _ -> :ok end)
    end

    defmodule Asking do
      use Mote.Behaviour
      defactor front(back), do: ({customer, question} -> send(back, {create(text(customer)), question}))
      defactor back(count), do: ({customer, :ratio} -> send(customer, 1 / count))
      defactor text(customer), do: (answer -> send(customer, "it is #{answer}"))
    end

    test "are told of without keeping the actors in the message" do
      # Nothing else happens in the machine's process.
      machine = start_supervised!({Mote, telemetry: [level: :none]})
      front = Mote.create(machine, Asking.front(Mote.create(machine, Asking.back(0))))

      log =
        capture_log(fn ->
          assert {:error, %Mote.Error{reason: :broken_promise}} = Mote.ask(front, :ratio, 60_000)
        end)

      assert log =~ "Asking.back aborted a turn"
    end

    test "in masses are counted, and some of them logged" do
      machine = start_supervised!(Mote)
      failing = Mote.create(machine, Actors.failing(:again))

      log =
        capture_log(fn ->
          for n <- 1..5_000, do: Mote.send(failing, n)
          eventually(fn -> Mote.info(machine).counters.aborts_explicit == 5_000 end)
          :sys.get_state(machine)
        end)

      lines = log |> String.split("aborted a turn") |> length() |> Kernel.-(1)
      # Ten, and some more for each second that it takes.
      assert lines in 10..50
    end

    defp intercept({:in, {:mote_aborted, _} = message}, handler), do: handler.(message) && nil
    defp intercept(_event, _handler), do: nil
  end

  test "a machine by any name that does not run" do
    for machine <- [self(), Mote.MachineTest.Nobody, {:global, :nobody}] do
      error = assert_raise Error, fn -> Mote.info(machine) end
      assert error.reason == :machine_down
      assert Exception.message(error) =~ inspect(machine)
      assert {:error, %Error{reason: :machine_down}} = Machine.fetch(machine)
    end
  end
end
