defmodule Mote.BeamSponsorEndsTest do
  # Whatever ends, a machine, a sponsor, a worker, a turn: turns under way end with it, and leave all of their effects or none.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.Error

  defmodule Work do
    use Mote.Behaviour

    defactor work(test), beam: true do
      # Waits, with effects that are not to be seen unless it goes on.
      {customer, :wait} ->
        Kernel.send(test, {:waits, Kernel.self()})
        send customer, :waited
        send test, :effect
        receive do: (:go_on -> :ok)

      {:note, what} ->
        send test, {:note, what}

      {customer, {:effects, effects}} ->
        # What only a mistake could make of them.
        Process.put(:"$mote_effects", effects)
        send_after 0, customer, :late
    end

    defactor counter(count) do
      {:add, n} -> become counter(count + n)
      {customer, _} -> send customer, count
    end
  end

  defp machine(io \\ [], opts \\ []) do
    Process.flag(:trap_exit, true)

    {:ok, machine} =
      Mote.start_link([sponsors: [main: [], io: [beam: true, timeout: :infinity] ++ io]] ++ opts)

    machine
  end

  defp work(machine), do: Mote.create(machine, Work.work(self()), sponsor: :io)

  # A question whose turn is under way, and the process of that.
  defp waits(actor) do
    ask = Mote.async(actor, :wait)
    assert_receive {:waits, turn}, 30_000
    {ask, turn, Process.monitor(turn)}
  end

  defp pid(machine), do: Mote.Native.machine_owner(work(machine).machine)

  # The process that sees to the workers of its only beam sponsor.
  defp manager(machine) do
    eventually(fn -> machine |> pid() |> Mote.Processes.linked(Mote.Machine.Workers) |> List.first() end)
  end

  # Those that it watches, but for its keeper, which watches it.
  defp workers(manager) do
    [monitors: monitors, monitored_by: keepers] = Process.info(manager, [:monitors, :monitored_by])
    for {:process, pid} <- monitors, pid not in keepers, do: pid
  end

  describe "drain" do
    test "waits for turns that run" do
      machine = machine()
      {ask, turn, _} = waits(work(machine))
      assert {:error, %Error{reason: :timeout}} = Mote.drain(machine, 0)
      drain = Task.async(fn -> Mote.drain(machine, 30_000) end)
      send(turn, :go_on)
      assert Task.await(drain, 30_000) == :ok
      # All that it has done is there by then.
      assert_received :effect
      assert Mote.await(ask, 30_000) == :waited
    end
  end

  describe "the end of a machine" do
    test "ends turns under way, however it comes" do
      for end_it <- [
            &Mote.stop/1,
            &Process.exit(pid(&1), :kill),
            &Process.exit(pid(&1), :shutdown),
            &Process.exit(manager(&1), :kill)
          ] do
        capture_log(fn ->
          machine = machine()
          {ask, _turn, monitor} = waits(work(machine))
          down = Process.monitor(manager(machine))
          end_it.(machine)
          assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
          assert_receive {:DOWN, ^down, _, _, _}, 30_000
          assert {:error, %Error{reason: reason}} = Mote.yield(ask, 30_000)
          assert reason in [:machine_down, :stopped]
          refute_received :effect
        end)
      end
    end

    test "ends them when a thread of it has a fault" do
      capture_log(fn ->
        machine = machine()
        counter = Mote.create(machine, Work.counter(1))
        {ask, _turn, monitor} = waits(work(machine))
        owner = Process.monitor(pid(machine))
        # Its answer is a panic of the thread that commits.
        :ok = Mote.Native.send_trap(counter.machine, counter.key, nil)
        assert_receive {:DOWN, ^owner, _, _, {:fault, %{sponsor: :main}}}, 30_000
        assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
        assert {:error, %Error{}} = Mote.yield(ask, 30_000)
        refute_received :effect
      end)
    end
  end

  describe "remove_sponsor" do
    test "gives up turns under way, and the first sponsor goes on with what it can run" do
      capture_log(fn ->
        machine = machine(max_concurrency: 1)
        counter = Mote.create(machine, Work.counter(1), sponsor: :io)
        {ask, _turn, monitor} = waits(work(machine))
        # They wait for the only place.
        for n <- 1..10, do: Mote.send(counter, {:add, n})
        read = Mote.async(counter, :read)
        assert :ok = Mote.remove_sponsor(machine, :io)
        assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
        assert {:error, %Error{context: %{reason: {:beam_only, {Work, :work}}}}} = Mote.yield(ask, 30_000)
        assert Mote.await(read, 30_000) == 56
        refute_received :effect
      end)
    end
  end

  describe "workers" do
    test "that have died are made up for: as many turns run as there are places" do
      machine = machine(max_concurrency: 4)
      manager = manager(machine)
      actors = for _ <- 1..4, do: work(machine)

      for _ <- 1..20 do
        all = Enum.map(actors, &waits/1)
        assert Mote.info(machine).sponsors.io.running == 4
        for {_, turn, _} <- all, do: send(turn, :go_on)
        for {ask, _, _} <- all, do: assert(Mote.await(ask, 30_000) == :waited)
        # Those that wait for work, or are about to.
        for worker <- workers(manager), do: Process.exit(worker, :kill)
      end
    end

    test "that are killed take their turns with them" do
      capture_log(fn ->
        machine = machine()
        manager = manager(machine)
        actor = work(machine)
        {ask, _turn, monitor} = waits(actor)
        for worker <- workers(manager), do: Process.exit(worker, :kill)
        assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
        assert {:error, %Error{context: %{reason: {:crashed, :exit, :killed, _}}}} = Mote.yield(ask, 30_000)
        refute_received :effect
        {ask, turn, _} = waits(actor)
        send(turn, :go_on)
        assert Mote.await(ask, 30_000) == :waited
      end)
    end
  end

  test "effects that are none abort their turn, which does not run for ever" do
    capture_log(fn ->
      machine = machine()
      actor = work(machine)

      for effects <- [[:none], [{:none, 1}], [{:send, 1}], [{}], [{:create, 1, 2, 3, 4}]] do
        assert {:error, %Error{context: %{reason: {:crashed, :error, _, _}}}} =
                 Mote.ask(actor, {:effects, effects}, 30_000)
      end

      assert :ok = Mote.drain(machine, 30_000)
      assert Mote.info(machine).sponsors.io.running == 0
    end)
  end

  test "turns that are over hold on to nothing" do
    machine = machine()
    actor = work(machine)
    # Its address is in the message, and nowhere else afterwards.
    spawn(fn -> Mote.send(actor, {:note, Mote.create(machine, Work.counter(0))}) end)
    assert_receive {:note, %Mote.Address{}}, 30_000
    assert :ok = Mote.drain(machine, 30_000)

    eventually(fn ->
      for pid <- Process.list(), do: :erlang.garbage_collect(pid)
      # That of the actor itself, which the test has.
      Mote.info(machine).references == 1
    end)

    assert Mote.info(actor).queued == 0
  end

  describe "seeded machines" do
    # In which order turns of many actors run whose messages are all there.
    defp order(seed, actors) do
      machine = machine([max_concurrency: 4], schedule: {:seeded, seed})
      all = for n <- 1..actors, do: {n, work(machine)}
      :ok = Mote.pause(machine)
      for m <- 1..3, {n, actor} <- all, do: Mote.send(actor, {:note, {n, m}})
      :ok = Mote.resume(machine)
      assert :ok = Mote.drain(machine, 30_000)
      notes = for _ <- 1..(3 * actors), do: assert_receive({:note, _}, 30_000)
      Mote.stop(machine)
      for {:note, what} <- notes, do: what
    end

    test "run turns in the order of their seed" do
      orders = for seed <- 1..6, do: order(seed, 10)
      assert orders == for(seed <- 1..6, do: order(seed, 10))
      assert length(Enum.uniq(orders)) > 1

      # What is sent to one actor stays in order.
      for order <- orders, {_n, of_one} <- Enum.group_by(order, &elem(&1, 0), &elem(&1, 1)) do
        assert of_one == [1, 2, 3]
      end
    end

    test "end, and their sponsors, with turns under way" do
      capture_log(fn ->
        machine = machine([max_concurrency: 2], schedule: {:seeded, 1})
        {ask, _, monitor} = waits(work(machine))
        assert :ok = Mote.remove_sponsor(machine, :io)
        assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
        assert {:error, %Error{context: %{reason: {:beam_only, _}}}} = Mote.yield(ask, 30_000)
        machine = machine([max_concurrency: 2], schedule: {:seeded, 1})
        {ask, _, monitor} = waits(work(machine))
        assert :ok = Mote.stop(machine)
        assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
        assert {:error, %Error{}} = Mote.yield(ask, 30_000)
        refute_received :effect
      end)
    end
  end
end
