defmodule Mote.LifecycleTest do
  # Not async: it counts threads and memory of the whole process.
  use ExUnit.Case, async: false
  import Mote.Eventually

  alias Mote.{Actors, Error, OtherBEAM, Resident}
  alias Mote.Machine.{Janitor, Table}

  # A machine that has work for ever, on all of its threads.
  defp busy(machine) do
    [busy | _] = all = for _ <- 1..16, do: Mote.create(machine, Actors.busy(0))
    for one <- all, do: Mote.send(one, :go)
    busy
  end

  describe "the threads of a machine end" do
    setup do
      if OtherBEAM.threads() == nil, do: flunk("cannot see threads on this system")
      eventually(fn -> OtherBEAM.threads() == [] end)
      :ok
    end

    test "when it is stopped, idle or busy" do
      {:ok, idle} = Mote.start_link()
      machine = start_unlinked()
      busy(machine)
      eventually(fn -> length(OtherBEAM.threads()) == 5 end)
      :ok = Mote.stop(idle)
      assert length(OtherBEAM.threads()) == 4
      :ok = Mote.stop(machine, :shutdown)
      assert OtherBEAM.threads() == []
    end

    test "when the process that started it ends, also normally" do
      for reason <- [:normal, :shutdown] do
        test = self()

        starter =
          spawn(fn ->
            {:ok, machine} = Mote.start_link()
            send(test, {:started, machine})
            receive do: (:end -> exit(reason))
          end)

        assert_receive {:started, machine}
        ref = Mote.monitor(machine)
        send(starter, :end)
        assert_receive {:DOWN, ^ref, :process, ^machine, ^reason}
      end

      assert OtherBEAM.threads() == []
    end

    test "when its process is killed, and what it held is freed" do
      for work <- [&Mote.create(&1, Actors.echo()), &busy/1] do
        pid = start_unlinked()
        address = work.(pid)
        assert {:ok, _} = Table.fetch(pid)
        Process.exit(pid, :kill)
        eventually(fn -> OtherBEAM.threads() == [] end)
        eventually(fn -> Table.fetch(pid) == :error end)
        assert {:error, %Error{reason: :machine_down}} = Mote.ask(address, :read)
      end
    end

    test "when its process is killed while it has no janitor" do
      pid = start_unlinked()
      busy(pid)
      janitor = Process.whereis(Janitor)
      Process.exit(janitor, :kill)
      Process.exit(pid, :kill)
      eventually(fn -> OtherBEAM.threads() == [] end)
      # The next janitor finds what was left.
      eventually(fn -> Table.fetch(pid) == :error end)
      eventually(fn -> Process.whereis(Janitor) not in [nil, janitor] end)
    end

    test "when its supervisor gives up on it" do
      child = {Mote, shutdown: 1, sponsors: [main: [threads: 4]]}
      {:ok, supervisor} = Supervisor.start_link([child], strategy: :one_for_one)
      [{_, pid, _, _}] = Supervisor.which_children(supervisor)
      busy(pid)
      Supervisor.stop(supervisor)
      eventually(fn -> OtherBEAM.threads() == [] end)
      eventually(fn -> Table.fetch(pid) == :error end)
    end
  end

  test "a supervisor starts a fresh machine for one that was killed" do
    start_supervised!({Mote, name: Mote.LifecycleTest.Fresh, sponsors: [main: [threads: 4]]})
    pid = Process.whereis(Mote.LifecycleTest.Fresh)
    old = busy(pid)
    Process.exit(pid, :kill)
    eventually(fn -> Process.whereis(Mote.LifecycleTest.Fresh) not in [nil, pid] end)
    assert Mote.ask!(Mote.create(Mote.LifecycleTest.Fresh, Actors.echo()), 1) == 1
    assert {:error, %Error{reason: :machine_down}} = Mote.ask(old, :read)
  end

  test "machines that come and go leave no memory behind" do
    list = Enum.to_list(1..200_000)

    cycle = fn ->
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 4]])
      keeper = Mote.create(machine, Actors.keeper(list))
      refs = for _ <- 1..1_000, do: make_ref()
      Mote.ask!(keeper, {:swap, {list, refs, keeper}})
      :ok = Mote.stop(machine)
      :erlang.garbage_collect()
    end

    for _ <- 1..10, do: cycle.()
    before = Resident.megabytes()
    for _ <- 1..40, do: cycle.()
    # 40 machines with 10 MB each would be 400.
    assert Resident.megabytes() - before < 100
  end

  test "a process may die while its call is on a dirty scheduler" do
    machine = start_supervised!(Mote)
    echo = Mote.create(machine, Actors.echo())
    list = Enum.to_list(1..1_000_000)

    for pause <- [0, 1, 3, 10, 30] do
      pid = spawn(fn -> Mote.ask(echo, list) end)
      Process.sleep(pause)
      Process.exit(pid, :kill)
    end

    assert Mote.ask!(echo, :fine, 30_000) == :fine
  end

  test "machines end while others send to them" do
    for _ <- 1..20 do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 4]])
      echo = Mote.create(machine, Actors.echo())

      senders =
        for _ <- 1..4 do
          Task.async(fn -> Enum.find_value(Stream.cycle([1]), fn _ -> ended(echo) end) end)
        end

      Process.sleep(2)
      :ok = Mote.stop(machine)
      for sender <- senders, do: assert(Task.await(sender, 60_000) == :machine_down)
    end

    refute_receive _, 10
  end

  defp ended(echo) do
    Mote.send(echo, {self(), :nothing})

    receive do
      :nothing -> nil
    after
      0 -> nil
    end

    case Mote.ask(echo, {:some, "thing"}) do
      {:ok, {:some, "thing"}} -> nil
      {:error, %Error{reason: reason}} -> reason
    end
  rescue
    error in Error -> error.reason
  end

  defp start_unlinked do
    {:ok, pid} = Mote.start_link(sponsors: [main: [threads: 4]])
    Process.unlink(pid)
    pid
  end
end
