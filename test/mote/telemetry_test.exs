defmodule Mote.TelemetryTest.Rush do
  use Mote.Behaviour, errors: :undefined

  defactor rush(to) do
    n -> for i <- 1..n, do: send(to, i)
  end
end

defmodule Mote.TelemetryTest do
  # Not async: it counts what is told and logged by all machines of the node.
  use ExUnit.Case, async: false
  import Mote.Eventually

  import ExUnit.CaptureLog

  alias Mote.{Actors, Counters, Holders, Native, Telemetry}

  doctest Mote.Telemetry

  @moduletag capture_log: true

  defmodule Greedy do
    use Mote.Behaviour

    defactor greedy() do
      n -> become keeping(Enum.to_list(1..n))
    end

    defactor greedier() do
      n -> become keeping(Enum.to_list(1..n))
    end

    defactor keeping(list) do
      {customer, :read} -> send customer, list
    end
  end

  setup do
    ref = :telemetry_test.attach_event_handlers(self(), Telemetry.events())
    on_exit(fn -> :telemetry.detach(ref) end)
    {:ok, machine} = Mote.start_link(telemetry: [level: :none])
    Process.put(:counters, [:busy | Mote.info(machine).counters |> Map.keys() |> List.delete(:busy_ns)])
    Mote.stop(machine)
  end

  defp start(opts \\ []) do
    opts = Keyword.merge([telemetry: [interval: 10]], opts)
    start_supervised!({Mote, opts}, id: make_ref())
  end

  # The next event of that name from that machine.
  defp next(machine, event, timeout \\ 20_000) do
    assert_receive {[:mote | ^event], _, measurements, %{machine: ^machine} = metadata}, timeout
    check_keys([:mote | event], measurements, metadata)
    {measurements, metadata}
  end

  # What is told has exactly the keys that are documented.
  defp check_keys(event, measurements, metadata) do
    {documented, documented_metadata} = Telemetry.keys(event)
    counters = if :counters in documented, do: counters(), else: []
    assert Enum.sort(Map.keys(measurements)) == Enum.sort((documented -- [:counters]) ++ counters)
    assert Enum.sort(Map.keys(metadata)) == Enum.sort(documented_metadata)
  end

  defp counters, do: Process.get(:counters)

  # Periodic events of a sponsor, until a sum is reached.
  defp collect(machine, counter, total, sum \\ 0) do
    {measurements, metadata} = next(machine, [:sponsor, :stats])
    sum = sum + Map.fetch!(measurements, counter)
    if sum < total, do: collect(machine, counter, total, sum), else: {sum, measurements, metadata}
  end

  describe "the list" do
    test "has every event once, and documents it" do
      assert Telemetry.events() == Enum.uniq(Telemetry.events())
      {:docs_v1, _, _, _, %{"en" => doc}, _, _} = Code.fetch_docs(Telemetry)
      for event <- Telemetry.events(), do: assert(doc =~ "`#{inspect(event)}`")
      assert_raise ArgumentError, ~r/\[:mote, :nothing\]/, fn -> Telemetry.keys([:mote, :nothing]) end
    end

    test "every counter is documented" do
      {:docs_v1, _, _, _, %{"en" => doc}, _, _} = Code.fetch_docs(Counters)
      for counter <- counters() -- [:busy], do: assert(doc =~ "`#{counter}`")
    end
  end

  describe "a machine" do
    test "tells of its start and of its end" do
      machine = start(name: Mote.TelemetryTest.Named, sponsors: [a: [], b: []])
      {%{monotonic_time: started}, metadata} = next(machine, [:machine, :start])
      assert %{name: Mote.TelemetryTest.Named, sponsors: [:a, :b]} = metadata
      :ok = Mote.stop(machine)
      {%{duration: duration, monotonic_time: ended}, metadata} = next(machine, [:machine, :stop])
      assert duration == ended - started
      assert %{reason: :normal, name: Mote.TelemetryTest.Named} = metadata
      refute_received {[:mote, :machine, :exception], _, _, %{machine: ^machine}}
    end

    test "tells of an end that was not asked for" do
      Process.flag(:trap_exit, true)

      for reason <- [:killed, :because] do
        {:ok, machine} = Mote.start_link()
        Process.exit(machine, if(reason == :killed, do: :kill, else: reason))
        {%{duration: duration}, metadata} = next(machine, [:machine, :exception])
        assert duration > 0
        assert %{kind: :exit, reason: ^reason, stacktrace: []} = metadata

        Process.sleep(20)
        refute_received {[:mote, :machine, :stop], _, _, %{machine: ^machine}}
        refute_received {[:mote, :machine, :exception], _, _, %{machine: ^machine}}
      end
    end

    test "tells of a fault" do
      Process.flag(:trap_exit, true)
      {:ok, machine} = Mote.start_link()
      echo = Mote.create(machine, Actors.echo())
      monitor = Mote.monitor(machine)
      Native.send_trap(echo.machine, echo.key, nil)
      {_, metadata} = next(machine, [:machine, :fault])
      assert %{sponsor: :main, behaviour: {Actors, :echo}, message_kind: "tuple of 2"} = metadata
      assert_receive {:DOWN, ^monitor, :process, ^machine, {:fault, fault}}
      assert Map.take(metadata, Map.keys(fault)) == fault
      {_, %{reason: {:fault, ^fault}}} = next(machine, [:machine, :exception])
    end

    @tag not_under_stress: "one collection is one event"
    test "tells of its memory and its collections" do
      machine = start()
      hoard = Mote.create(machine, Holders.hoard([]))
      :kept = Mote.ask!(hoard, 1_000)
      Mote.gc(machine)
      assert memory_in_use(machine) > 0
      assert %{count: count, last_pause: pause, longest_pause: longest} = last_collection(machine)
      assert count > 0 and pause > 0 and longest >= pause
      # No collection, no event.
      next(machine, [:machine, :memory])
      refute_received {[:mote, :machine, :gc], _, _, %{machine: ^machine}}
      # Until here it is held, and with it what is in use.
      :kept = Mote.ask!(hoard, 1)
    end

    # On a busy host the caller waits so long that the machine looks whether it waits in vain: a collection in the middle of
    # the turn, which finds what the turn has just made.
    defp last_collection(machine) do
      case next(machine, [:machine, :gc]) do
        {%{live_actors: 1} = measurements, _} -> measurements
        {%{live_actors: more}, _} when more > 1 -> last_collection(machine)
      end
    end

    # The first of them may come before anything is in use.
    defp memory_in_use(machine) do
      {%{heap: heap, mapped: mapped}, _} = next(machine, [:machine, :memory])
      assert mapped >= heap
      if heap == 0, do: memory_in_use(machine), else: heap
    end

    test "tells of used up memory" do
      machine = start(memory: 64 * 1024 * 1024)
      Mote.send(Mote.create(machine, Holders.bomb()), 0)
      {%{count: count, heap: heap}, _} = next(machine, [:machine, :quota])
      assert count > 0 and heap > 0
    end

    test "tells of what it had no memory for from outside" do
      machine = start(memory: 8 * 1024 * 1024)
      echo = Mote.create(machine, Actors.echo())
      # More than there is.
      big = Enum.to_list(1..600_000)
      no_memory = %{reason: :no_memory}
      assert {:error, ^no_memory} = reason(Mote.send(echo, big))
      assert {:error, ^no_memory} = reason(Mote.ask(echo, big))
      assert {:error, ^no_memory} = reason(Mote.send_many(echo, [big]))
      assert {:error, ^no_memory} = reason(catch_error(Mote.send_after(echo, big, 1)))
      assert {:error, ^no_memory} = reason(catch_error(Mote.create(machine, Actors.forward(big))))

      assert {:error, ^no_memory} =
               reason(catch_error(Mote.Future.future(&Mote.Sums.same/1, [big], machine: machine)))

      assert refusals(machine, 6) == 0
      assert %{refused_no_memory: 6, aborts_no_memory: 0} = Mote.info(machine).counters
      refute_receive {[:mote, :machine, :quota], _, _, %{machine: ^machine}}, 50
    end

    defp reason({:error, error}), do: {:error, Map.take(error, [:reason])}
    defp reason(error), do: reason({:error, error})

    defp refusals(machine, total) do
      {%{count: count, refused: count}, _} = next(machine, [:machine, :quota])
      if count < total, do: refusals(machine, total - count), else: count - total
    end

    test "tells of broken promises" do
      machine = start()
      silent = Mote.create(machine, Mote.Holders.silent([]))
      assert {:error, %{reason: :broken_promise}} = Mote.ask(silent, :what)
      {%{count: 1}, _} = next(machine, [:machine, :broken_promises])
      assert Mote.info(machine).questions == %{open: 0, broken: 1}
    end
  end

  describe "messages that nobody was there to take" do
    defp undelivered(machine, total) do
      {%{count: count}, _} = next(machine, [:machine, :undelivered])
      if count < total, do: undelivered(machine, total - count), else: count - total
    end

    test "are told, whoever noticed it: a thread, or the postman, to whom a rush is left" do
      machine = start()
      {gone, monitor} = spawn_monitor(fn -> :ok end)
      assert_receive {:DOWN, ^monitor, _, _, _}
      rush = Mote.create(machine, Mote.TelemetryTest.Rush.rush(gone))
      for n <- [1, 100], do: Mote.send(rush, n)
      :ok = Mote.drain(machine, 60_000)
      assert undelivered(machine, 101) == 0
      assert Mote.info(machine).counters.undelivered == 101
      refute_receive {[:mote, :machine, :undelivered], _, _, %{machine: ^machine}}, 50
    end
  end

  describe "sponsors" do
    test "come and go" do
      machine = start()
      :ok = Mote.add_sponsor(machine, :more, threads: 2)
      {_, %{sponsor: :more, threads: 2}} = next(machine, [:sponsor, :added])
      :ok = Mote.remove_sponsor(machine, :more)
      {_, %{sponsor: :more}} = next(machine, [:sponsor, :removed])
      {:error, _} = Mote.remove_sponsor(machine, :more)
      refute_received {[:mote, :sponsor, :removed], _, _, %{machine: ^machine}}
    end

    test "tell what they have done since the last time" do
      machine = start()
      echo = Mote.create(machine, Actors.echo())
      for n <- 1..100, do: Mote.ask!(echo, n)
      {100, _, %{sponsor: :main}} = collect(machine, :turns, 100)
      for n <- 1..100, do: Mote.ask!(echo, n)
      {100, measurements, _} = collect(machine, :turns, 100)
      assert %{threads: 1, duration: duration, busy: busy, queued: 0} = measurements
      assert duration > 0 and busy >= 0
      {%{turns: 0, sends: 0}, _} = next(machine, [:sponsor, :stats])
    end

    test "that are added again begin at zero" do
      machine = start()

      for _ <- 1..2 do
        :ok = Mote.add_sponsor(machine, :again)
        echo = Mote.create(machine, Actors.echo())
        for n <- 1..10, do: Mote.ask!(echo, n, sponsor: :again)
        assert sum_of(machine, :again, :turns, 10) == 10
        :ok = Mote.remove_sponsor(machine, :again)
      end
    end

    test "that are removed have told all that they have done" do
      machine = start(telemetry: [interval: 3_600_000])
      echo = Mote.create(machine, Actors.echo())

      for round <- 1..3 do
        :ok = Mote.add_sponsor(machine, :short, threads: 2, inbox: 10)
        for n <- 1..round, do: Mote.ask!(echo, n, sponsor: :short)
        Mote.pause(machine)
        for n <- 1..11, do: Mote.send(echo, n, sponsor: :short)
        Mote.resume(machine)
        Mote.drain(machine, 60_000)
        :ok = Mote.remove_sponsor(machine, :short)
        {stats, %{sponsor: :short}} = next(machine, [:sponsor, :stats])
        assert %{threads: 2, asleep: 0, inbox: 0, queued: 0, waiting: 0} = stats
        assert stats.turns == round + 10
        assert {%{count: 1, high_water: 10}, %{sponsor: :short}} = next(machine, [:sponsor, :overload])
      end
    end

    test "of environments tell all that their futures have done" do
      machine = start(telemetry: [interval: 5])
      before = Mote.info(machine).counters.turns

      for _ <- 1..5 do
        Mote.Future.with_environment(machine, [max_threads: 1], fn ->
          for n <- 1..100, do: Mote.Future.touch(Mote.Future.future(&Mote.Sums.fib/1, [rem(n, 10)]))
        end)
      end

      turns = Mote.info(machine).counters.turns - before
      assert turns >= 500
      assert {^turns, _, _} = collect(machine, :turns, turns)
    end

    test "tell that they were full" do
      machine = start(sponsors: [main: [inbox: 10]])
      echo = Mote.create(machine, Actors.echo())
      # Nothing runs, so nothing makes room.
      Mote.pause(machine)
      refused = for n <- 1..50, {:error, _} <- [Mote.send(echo, n)], do: n
      assert refused == Enum.to_list(11..50)
      # An interval may end while they are refused.
      assert overload(machine, 40) == 40
      assert catch_error(Mote.Future.future(&Mote.Sums.answer/0, [], machine: machine)).reason == :overloaded
    end

    test "tell of messages to processes that are gone" do
      machine = start()
      {pid, monitor} = spawn_monitor(fn -> :ok end)
      assert_receive {:DOWN, ^monitor, _, _, _}
      forward = Mote.create(machine, Actors.forward(pid))
      for n <- 1..7, do: Mote.send(forward, n)
      assert {7, _, _} = collect(machine, :undelivered, 7)
      assert Mote.info(machine).counters.undelivered == 7
    end

    defp overload(machine, left) do
      {%{count: count, high_water: 10}, %{sponsor: :main}} = next(machine, [:sponsor, :overload])
      if count < left, do: count + overload(machine, left - count), else: count
    end

    defp sum_of(machine, sponsor, counter, total, sum \\ 0) do
      {measurements, metadata} = next(machine, [:sponsor, :stats])
      sum = if metadata.sponsor == sponsor, do: sum + Map.fetch!(measurements, counter), else: sum
      if sum < total, do: sum_of(machine, sponsor, counter, total, sum), else: sum
    end
  end

  describe "aborted turns" do
    test "are counted when their sponsor is gone" do
      machine = start()
      :ok = Mote.add_sponsor(machine, :short)
      failing = Mote.create(machine, Actors.failing(:again))
      :sys.suspend(machine)
      for n <- 1..100, do: Mote.send(failing, n, sponsor: :short)
      Mote.drain(machine, 60_000)
      :ok = Mote.remove_sponsor(machine, :short)
      :sys.resume(machine)
      {%{count: 90}, %{sponsor: :short}} = next(machine, [:turn, :unreported])
    end

    test "are told with what they were about" do
      machine = start(sponsors: [main: [], other: []])
      Mote.send(Mote.create(machine, Actors.failing(:why)), {:what, 1}, sponsor: :other)
      {_, metadata} = next(machine, [:turn, :abort])

      assert %{sponsor: :other, module: Actors, behaviour: :failing, reason: {:abort, {:why}}} = metadata
      assert metadata.message == "{:what, 1}"
    end

    test "in masses are told in part, and the others are counted" do
      machine = start(sponsors: [main: [threads: 2]])
      failing = Mote.create(machine, Actors.failing(:again))
      # The process cannot look at its mailbox meanwhile.
      :sys.suspend(machine)
      for n <- 1..20_000, do: Mote.send(failing, n)
      eventually(fn -> Mote.info(machine).counters.aborts_explicit == 20_000 end)
      {:message_queue_len, waiting} = Process.info(machine, :message_queue_len)
      # Ten of them, and its timer.
      assert waiting <= 11
      :sys.resume(machine)
      for _ <- 1..10, do: next(machine, [:turn, :abort])
      {%{count: 19_990}, %{sponsor: :main}} = next(machine, [:turn, :unreported])
      assert Mote.info(machine).counters.unreported == 19_990

      # It is told of the next ones again, and of none that it was told of before.
      Mote.send(failing, :once_more)
      {_, %{message: ":once_more"}} = next(machine, [:turn, :abort])
      refute_receive {[:mote, :turn, :unreported], _, _, %{machine: ^machine}}, 1_500
    end

    test "are logged whatever is told" do
      log =
        capture_log(fn ->
          machine = start(telemetry: [level: :none])
          failing = Mote.create(machine, Actors.failing(:quietly))
          :sys.suspend(machine)
          for n <- 1..100, do: Mote.send(failing, n)
          eventually(fn -> Mote.info(machine).counters.unreported == 90 end)
          :sys.resume(machine)
          # It is said a second after the first ones.
          eventually(fn -> Map.values(:sys.get_state(machine).reporter.unreported) == [90] end)
        end)

      assert log |> String.split("aborted a turn of machine") |> length() == 11
      assert log =~ "90 more aborted turns in sponsor :main of machine anonymous"
    end
  end

  describe "levels" do
    test "none tells nothing" do
      machine = start(telemetry: [level: :none, interval: 1])
      Mote.send(Mote.create(machine, Actors.failing(1)), 1)
      :ok = Mote.add_sponsor(machine, :more)
      Process.sleep(20)
      :ok = Mote.stop(machine)
      refute_receive {[:mote | _], _, _, %{machine: ^machine}}, 20
    end

    test "events tells nothing at intervals" do
      machine = start(telemetry: [level: :events, interval: 1])
      Process.sleep(20)
      :ok = Mote.stop(machine)
      next(machine, [:machine, :start])
      next(machine, [:machine, :stop])
      refute_received {[:mote | _], _, _, %{machine: ^machine}}
    end

    test "threads tells of each thread" do
      machine = start(sponsors: [main: [threads: 2]], telemetry: [level: :threads, interval: 10])
      seen = for _ <- 1..2, do: next(machine, [:thread, :stats])
      assert [1, 2] = seen |> Enum.map(fn {_, metadata} -> metadata.thread end) |> Enum.sort()
    end

    test "the last interval ends with the machine" do
      machine = start(telemetry: [interval: 60_000])
      echo = Mote.create(machine, Actors.echo())
      for n <- 1..10, do: Mote.ask!(echo, n)
      :ok = Mote.stop(machine)
      {%{turns: 10}, _} = next(machine, [:sponsor, :stats])
    end

    test "bad options are refused" do
      for {bad, text} <- [
            {[telemetry: :all], ~r/expected :telemetry to be a keyword list/},
            {[telemetry: [every: 1]], ~r/unknown option :every of :telemetry/},
            {[telemetry: [interval: 0]], ~r/expected :interval of :telemetry to be a positive number/},
            {[telemetry: [interval: 1.5]], ~r/got: 1.5/},
            {[telemetry: [level: :loud]], ~r/expected :level of :telemetry to be one of :none, :events/}
          ] do
        assert_raise ArgumentError, text, fn -> Mote.start_link(bad) end
      end
    end
  end

  test "what behaviours have lost for want of memory is counted for each of them, reported or not" do
    {:ok, machine} = Mote.start_link(memory: 16 * 1024 * 1024, telemetry: [interval: 10])
    test = self()
    id = make_ref()

    tell = fn _, %{count: count}, meta, _ ->
      if meta.machine == machine, do: send(test, {:lost, {meta.module, meta.behaviour}, count})
    end

    :ok = :telemetry.attach(id, [:mote, :turn, :no_memory], tell, nil)
    on_exit(fn -> :telemetry.detach(id) end)
    [one, other] = for name <- [:greedy, :greedier], do: Mote.create(machine, apply(Greedy, name, []))
    for _ <- 1..40, do: :ok = Mote.send(one, 2_000_000)
    for _ <- 1..15, do: :ok = Mote.send(other, 2_000_000)
    :ok = Mote.send(other, 1)
    :ok = Mote.drain(machine, 60_000)
    assert lost(55, %{}) == %{{Greedy, :greedy} => 40, {Greedy, :greedier} => 15}
    assert Mote.info(machine).counters.aborts_no_memory == 55
  end

  defp lost(0, all), do: all

  defp lost(left, all) do
    assert_receive {:lost, behaviour, count}, 30_000
    lost(left - count, Map.update(all, behaviour, count, &(&1 + count)))
  end

  describe "a handler, which runs in the machine's own process," do
    defp in_handler(machine, act) do
      test = self()
      id = make_ref()

      :ok =
        :telemetry.attach(
          id,
          [:mote, :machine, :memory],
          fn _, _, meta, _ -> meta.machine == machine && send(test, {:did, act.(machine)}) end,
          nil
        )

      on_exit(fn -> :telemetry.detach(id) end)
      assert_receive {:did, result}, 30_000
      :telemetry.detach(id)
      result
    end

    test "may add sponsors of both kinds" do
      {:ok, machine} = Mote.start_link(telemetry: [interval: 5])
      assert in_handler(machine, &Mote.add_sponsor(&1, :more, threads: 1)) in [:ok]

      assert in_handler(machine, fn m ->
               with({:error, %{reason: r}} <- Mote.add_sponsor(m, :io, beam: true), do: r)
             end) in [:ok, :sponsor_exists]

      assert Mote.sponsors(machine) == [:main, :more, :io]
      assert Mote.ask!(Mote.create(machine, Mote.Library.counter(1), sponsor: :io), :read) == 1
    end

    test "may stop the machine, which ends after it" do
      {:ok, machine} = Mote.start_link(telemetry: [interval: 5])
      ref = Mote.monitor(machine)
      assert in_handler(machine, &Mote.stop/1) == :ok
      assert_receive {:DOWN, ^ref, :process, ^machine, :normal}, 30_000
    end
  end

  describe "the default logger" do
    test "logs every event but aborted turns, above its level" do
      :ok = Telemetry.attach_default_logger(level: :debug)
      on_exit(&Telemetry.detach_default_logger/0)
      assert Telemetry.attach_default_logger() == {:error, :already_exists}

      about = %{machine: self(), name: A.Machine}

      log =
        capture_log(fn ->
          for event <- Telemetry.events() do
            {measurements, metadata} = Telemetry.keys(event)
            measurements = Map.new([:turns, :busy | measurements], &{&1, 5_000_000})
            metadata = metadata |> Map.new(&{&1, :some}) |> Map.merge(about)
            :telemetry.execute(event, measurements, metadata)
          end
        end)

      lines = log |> String.split("\n") |> Enum.filter(&(&1 =~ "machine A.Machine"))
      assert length(lines) == length(Telemetry.events()) - 3
      assert log =~ "machine A.Machine has 5.0 MB of heap"
      # It would have been detached if it had failed.
      assert Telemetry.detach_default_logger() == :ok
      assert Telemetry.detach_default_logger() == {:error, :not_found}
    end

    test "logs nothing below its level" do
      :ok = Telemetry.attach_default_logger(level: :error)
      on_exit(&Telemetry.detach_default_logger/0)

      log =
        capture_log(fn ->
          machine = start()
          next(machine, [:machine, :memory])
          :ok = Mote.stop(machine)
        end)

      refute log =~ "machine #PID"
    end

    test "bad options are refused" do
      assert_raise ArgumentError, ~r/\[level: level\]/, fn -> Telemetry.attach_default_logger(:info) end
      assert_raise ArgumentError, ~r/got: :loud/, fn -> Telemetry.attach_default_logger(level: :loud) end
    end
  end
end
