defmodule Mote.BeamSponsorRacesTest do
  # A turn of a beam sponsor ends once, whoever comes first: its worker, its timeout, whoever kills the worker, the manager of
  # all workers, or the machine. Every process of a turn is gone afterwards, also one that traps exits.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.{Error, Native}

  @moduletag capture_log: true

  defmodule Work do
    use Mote.Behaviour

    defactor work(kept), beam: true do
      # Until it is told to go on, or killed: it traps exits.
      {customer, {:wait, test}} ->
        Process.flag(:trap_exit, true)
        Kernel.send(test, {:waits, Kernel.self()})
        Work.until_told()
        send test, :effect
        send customer, :waited
        become work(kept)

      {customer, {:run, fun}} ->
        send customer, fun.()

      # Its effect and its answer are one commit.
      {customer, {:both, test, n}} ->
        Kernel.send(test, {:runs, n, Kernel.self()})
        send test, {:effect, n}
        send customer, {:answer, n}
    end

    def until_told do
      receive do
        :go_on -> :ok
        {:EXIT, _, _} -> until_told()
      end
    end
  end

  setup do
    Process.flag(:trap_exit, true)
    :ok
  end

  defp machine(io \\ []) do
    io = Keyword.merge([beam: true, timeout: :infinity], io)
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: io])
    machine
  end

  defp work(machine), do: Mote.create(machine, Work.work(nil), sponsor: :io)

  defp waits(actor) do
    ask = Mote.async(actor, {:wait, self()})
    assert_receive {:waits, turn}, 30_000
    {ask, turn, Process.monitor(turn)}
  end

  # The process that starts the workers of the machine's only beam sponsor: the one that monitors this turn.
  defp manager(turn) do
    {:monitored_by, pids} = Process.info(turn, :monitored_by)
    [manager] = for pid <- pids, is_pid(pid), pid != self(), do: pid
    manager
  end

  # What ends with it. There is none between the end of one and the start of the next.
  defp keeper(manager, machine) do
    {:monitored_by, pids} = Process.info(manager, :monitored_by)
    Enum.find(pids, &(is_pid(&1) and &1 not in [machine, self()]))
  end

  defp owner(actor), do: Native.machine_owner(actor.machine)

  describe "a turn that traps exits" do
    test "is killed when it is late, and its end is the timeout" do
      machine = machine(timeout: 20)
      ask = Mote.async(work(machine), {:wait, self()})
      assert {:error, %Error{reason: :aborted, context: %{reason: :timeout}}} = Mote.yield(ask, 30_000)
      # On a busy computer it may be late before it has begun.
      late = receive(do: ({:waits, turn} -> turn), after: (0 -> nil))
      monitor = if late, do: Process.monitor(late)
      if late, do: assert_receive({:DOWN, ^monitor, _, _, reason} when reason in [:killed, :noproc], 30_000)
      assert :ok = Mote.drain(machine, 30_000)
      assert %{aborts_timeout: 1, aborts_crashed: 0} = Mote.info(machine).counters
      refute_received :effect
    end

    test "ends with its manager, whoever kills that, and after its keeper was replaced" do
      for kill_keeper? <- [false, true] do
        actor = work(machine())
        {_ask, turn, monitor} = waits(actor)
        manager = manager(turn)

        if kill_keeper? do
          keeper = eventually(fn -> keeper(manager, owner(actor)) end)
          Process.exit(keeper, :kill)
          eventually(fn -> keeper(manager, owner(actor)) not in [nil, keeper] end)
        end

        Process.exit(manager, :kill)
        assert_receive {:DOWN, ^monitor, _, _, :killed}, 30_000
        refute_received :effect
      end
    end

    # The manager sees to all workers that have ended at once; its keeper is none of them.
    test "has a keeper although the one before ended right after a worker" do
      actor = work(machine())
      {ask, turn, _monitor} = waits(actor)
      manager = manager(turn)
      keeper = eventually(fn -> keeper(manager, owner(actor)) end)
      :sys.suspend(manager)

      for {pid, ended} <- [{turn, 1}, {keeper, 2}] do
        Process.exit(pid, :kill)
        eventually(fn -> Process.info(manager, :message_queue_len) == {:message_queue_len, ended} end)
      end

      :sys.resume(manager)
      assert {:error, %Error{context: %{reason: {:crashed, :exit, :killed, []}}}} = Mote.yield(ask, 30_000)
      eventually(fn -> keeper(manager, owner(actor)) not in [nil, keeper] end)
    end

    test "that somebody kills leaves nothing, and its actor goes on" do
      actor = work(machine())
      {ask, turn, monitor} = waits(actor)
      # No signal but this one ends it.
      Process.exit(turn, :shutdown)
      Process.exit(turn, :kill)
      assert_receive {:DOWN, ^monitor, _, _, :killed}, 30_000
      assert {:error, %Error{context: %{reason: {:crashed, :exit, :killed, []}}}} = Mote.yield(ask, 30_000)
      {ask, turn, monitor} = waits(actor)
      send(turn, :go_on)
      assert Mote.await(ask, 30_000) == :waited
      assert_receive :effect, 30_000
      assert_receive {:DOWN, ^monitor, _, _, :shutdown}, 30_000
    end
  end

  test "every turn finds a clean process" do
    actor = work(machine(max_concurrency: 1))

    look = fn ->
      Process.info(self(), [
        :links,
        :monitors,
        :trap_exit,
        :message_queue_len,
        :registered_name,
        :group_leader
      ]) ++
        [dictionary: Process.get() |> Keyword.keys() |> Enum.reject(&String.starts_with?("#{&1}", "$mote_"))]
    end

    dirt = fn ->
      Process.flag(:trap_exit, true)
      Process.register(self(), __MODULE__.Dirt)
      Process.group_leader(self(), spawn(fn -> Process.sleep(:infinity) end))
      Process.monitor(spawn(fn -> Process.sleep(:infinity) end))
      :ets.new(__MODULE__.Dirt, [:named_table, :public])
      Process.put(:dirt, true)
      Process.send_after(self(), :later, 0)
      send(self(), :now)
      :done
    end

    clean = Mote.ask!(actor, {:run, look}, 30_000)
    # But for who has asked.
    assert clean[:links] == [] and clean[:monitors] == [] and clean[:dictionary] == [:"$callers"]
    assert clean[:trap_exit] == false and clean[:message_queue_len] == 0

    for _ <- 1..20 do
      assert Mote.ask!(actor, {:run, dirt}, 30_000) == :done
      assert Mote.ask!(actor, {:run, look}, 30_000) == clean
      # The name and the table of a process that ends are free when it has ended.
      eventually(fn ->
        Process.whereis(__MODULE__.Dirt) == nil and :ets.whereis(__MODULE__.Dirt) == :undefined
      end)
    end
  end

  test "an answer comes if, and only if, the effects of its turn do, however the two race with a kill" do
    machine = machine()
    test = self()

    for n <- 1..300 do
      actor = work(machine)
      ask = Mote.async(actor, {:both, test, n})
      assert_receive {:runs, ^n, turn}, 30_000
      for _ <- 1..rem(n, 30)//1, do: :erlang.yield()
      Process.exit(turn, :kill)

      case Mote.yield(ask, 30_000) do
        {:ok, {:answer, ^n}} -> assert_receive {:effect, ^n}, 30_000
        {:error, %Error{context: %{reason: {:crashed, :exit, :killed, []}}}} -> :ok
      end
    end

    assert :ok = Mote.drain(machine, 30_000)
    %{turns: 300, aborts_crashed: aborted} = Mote.info(machine).counters
    assert effects(0) + answered(machine, aborted) == 0
  end

  # Of turns that were aborted nothing has come.
  defp effects(n) do
    receive do
      {:effect, _} -> effects(n + 1)
    after
      0 -> n
    end
  end

  defp answered(machine, aborted), do: 300 - aborted - div(Mote.info(machine).counters.sends, 2)

  test "whoever adds a sponsor may be killed at any moment: it works, or it is not there" do
    machine = machine()

    for n <- 1..20 do
      sponsor = :"io_#{n}"
      {adder, monitor} = spawn_monitor(fn -> Mote.add_sponsor(machine, sponsor, beam: true) end)
      for _ <- 1..rem(n, 10)//1, do: :erlang.yield()
      Process.exit(adder, :kill)
      assert_receive {:DOWN, ^monitor, _, _, _}, 30_000
      # Either this adds it, or it is there.
      Mote.add_sponsor(machine, sponsor, beam: true)
      actor = Mote.create(machine, Work.work(nil), sponsor: sponsor)
      assert Mote.ask!(actor, {:run, fn -> n end}, 30_000) == n
      assert :ok = Mote.remove_sponsor(machine, sponsor)
    end
  end

  test "an exit that only begins as that of a crash does aborts the turn, and the machine goes on" do
    actor = work(machine())
    message = %RuntimeError{message: "no stacktrace"}

    for stack <- [
          [{:a, :b, 1, [file: {1}]}],
          [{:a, :b, [1 | 2], []}],
          [{:a, :b, 1, [1 | 2]}],
          [:a],
          [{:a, :b} | :c]
        ] do
      linked = fn ->
        spawn_link(fn -> exit({message, stack}) end)
        Process.sleep(:infinity)
      end

      assert {:error, %Error{context: %{reason: reason}}} = Mote.ask(actor, {:run, linked}, 30_000)
      assert reason == {:crashed, :exit, {message, stack}, []}
    end

    assert Mote.ask!(actor, {:run, fn -> :still end}, 30_000) == :still
  end

  test "messages that look like the end of a worker are ignored" do
    actor = work(machine())
    {ask, turn, _} = waits(actor)
    manager = manager(turn)

    for who <- [:nobody, {:name, :node@host}, self()],
        do: send(manager, {:DOWN, make_ref(), :process, who, :noproc})

    send(turn, :go_on)
    assert Mote.await(ask, 30_000) == :waited
    assert Mote.ask!(actor, {:run, fn -> :still end}, 30_000) == :still
    assert Process.alive?(manager)
  end

  test "a sponsor that is added and removed by many at once leaves nothing behind" do
    machine = machine()
    owner = owner(work(machine))

    adders =
      for _ <- 1..4 do
        Task.async(fn ->
          for _ <- 1..30 do
            Mote.add_sponsor(machine, :often, beam: true)
            Mote.remove_sponsor(machine, :often)
          end
        end)
      end

    Task.await_many(adders, 60_000)
    Mote.remove_sponsor(machine, :often)
    # Only the workers of the other sponsor are left.
    eventually(fn -> length(Mote.Processes.linked(owner, Mote.Machine.Workers)) == 1 end)
  end
end
