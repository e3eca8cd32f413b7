defmodule Mote.QuotaTest do
  # Not async: it starts and stops machines by the hundred, and looks at the memory of the whole process.
  use ExUnit.Case
  import Mote.Eventually
  import Mote.QuotaRig

  alias Mote.{Error, Holders, Resident}
  alias Mote.QuotaRig.Actors

  @moduletag capture_log: true

  @megabyte 1024 * 1024

  describe "messages from outside" do
    test "are refused at the quota, and what was accepted is not lost" do
      machine = start(memory: 12 * @megabyte, fuel: most_steps())
      counter = Mote.create(machine, Actors.counter(0))
      before = at_rest(machine)
      list = Enum.to_list(1..20_000)

      fill = fn ->
        %{accepted: accepted(counter, list), charged: charged(machine), asked: ask(counter, list)}
      end

      fills = while_busy(machine, counter, fill)
      filled = List.last(fills)
      # A message is charged with the 320,000 bytes that its list will take.
      assert filled.accepted in 10..40
      assert filled.charged <= 12 * @megabyte
      assert {:error, %Error{reason: :no_memory}} = filled.asked
      :ok = Mote.drain(machine, 60_000)
      :ok = Mote.gc(machine)
      assert Mote.ask!(counter, :read) == Enum.sum(for %{accepted: n} <- fills, do: n)
      assert Mote.info(machine).counters.aborts_no_memory == 0
      assert at_rest(machine) <= before + 4 * @megabyte
      assert :ok = Mote.send(counter, list)
    end

    defp ask(counter, list), do: Mote.ask(counter, {:read, list})

    # As many as are accepted if they do not enter, and one more.
    defp accepted(counter, list, n \\ 0)
    defp accepted(_counter, _list, 41), do: 41

    defp accepted(counter, list, n) do
      case Mote.send(counter, list) do
        :ok ->
          accepted(counter, list, n + 1)

        {:error, %Error{reason: :no_memory} = error} ->
          assert error.context.address == counter
          n
      end
    end

    test "are refused at the quota when they are to come later, and what was armed fires" do
      machine = start(memory: 8 * @megabyte, clock: :manual, sponsors: [main: [inbox: 3]])
      counter = Mote.create(machine, Actors.counter(0))
      before = at_rest(machine)
      list = Enum.to_list(1..10_000)
      # Each with the 160,000 bytes that its list will take.
      armed = arm_until_refused(counter, list, 60_000, 0)
      assert armed in 20..52
      assert charged(machine) in (5 * @megabyte)..(8 * @megabyte)
      full = charged(machine)
      for _ <- 1..1_000, do: assert(%Error{reason: :no_memory} = refused(counter, list, 60_000))
      assert charged(machine) == full
      # All of them, which are more than its inbox lets in from outside.
      assert Mote.advance(machine, 60_000) == :ok
      assert Mote.ask!(counter, :read) == armed
      assert Mote.info(machine).counters.aborts_no_memory == 0
      at_rest(machine)
      timers = for _ <- 1..armed, do: Mote.send_after(counter, list, 60_000)
      for timer <- timers, do: assert(Mote.cancel_timer(timer) == 60_000)
      assert at_rest(machine) <= before + 2 * @megabyte
    end

    defp arm_until_refused(_counter, _list, _milliseconds, 53), do: 53

    defp arm_until_refused(counter, list, milliseconds, n) do
      case refused(counter, list, milliseconds) do
        %Mote.Timer{} -> arm_until_refused(counter, list, milliseconds, n + 1)
        %Error{reason: :no_memory} -> n
      end
    end

    test "reach a machine whose heaps are full" do
      machine = start(memory: 32 * @megabyte)
      hoard = Mote.create(machine, Holders.hoard([]))
      :kept = fill(hoard, 2_000_000)
      # No turn could make a list of any size now, but one that needs little has its place.
      assert {:error, %Error{reason: :aborted}} = Mote.ask(hoard, 900_000)
      for _ <- 1..100, do: assert(Mote.ask!(hoard, 1) == :kept)
    end

    # As much as there is room for.
    defp fill(hoard, n) do
      case Mote.ask(hoard, n) do
        {:ok, :kept} -> :kept
        {:error, _} -> fill(hoard, div(n * 9, 10))
      end
    end
  end

  test "a sponsor is added only if the quota is enough for its threads as well" do
    machine = start(memory: 16_000_000)
    message = ~r/at least 50331648 bytes .* got: 16000000/
    assert_raise ArgumentError, message, fn -> Mote.add_sponsor(machine, :many, threads: 10) end
    assert Mote.sponsors(machine) == [:main]
    assert Mote.add_sponsor(machine, :one) == :ok
    assert_raise ArgumentError, ~r/at least 16777216 bytes/, fn -> Mote.add_sponsor(machine, :two) end
    assert Mote.remove_sponsor(machine, :one) == :ok
    assert Mote.add_sponsor(machine, :two) == :ok
    assert Mote.add_sponsor(start([]), :many, threads: 100) == :ok
  end

  describe "a turn that needs more than there is" do
    for {what, n} <- [send: 4_000_000, sendx: 4_000_000, arm: 1_000_000, create: 2_000_000] do
      test "leaves nothing behind: #{what}" do
        machine = start(memory: 32 * @megabyte, sponsors: [main: [], other: []])
        many = Mote.create(machine, Actors.many(0))
        before = at_rest(machine)
        assert {:error, %Error{reason: :aborted}} = Mote.ask(many, {unquote(what), unquote(n)}, 60_000)
        counters = Mote.info(machine).counters
        assert %{aborts_no_memory: 1, sends: 0, creates: 0, timers: 0, sendx: 0} = counters
        assert at_rest(machine) <= before + 4 * @megabyte
        assert Mote.ask!(many, :times) == 0
        # And a smaller one of its kind goes on.
        assert Mote.ask!(many, {unquote(what), 1_000}) == :done
        assert Mote.ask!(many, :times) == 1
      end
    end
  end

  test "a turn that has no fuel or no stack left leaves nothing behind" do
    machine = start(fuel: 1_000_000)
    many = Mote.create(machine, Actors.many(0))

    # Fuel is spent by calls, and by what primitives walk over: a thousand calls, and a hundred million elements.
    walk = {:lists, Enum.to_list(1..100_000), 1_000}
    requests = [{{:spin, 2_000_000}, :aborts_fuel}, {walk, :aborts_fuel}, {{:deep, 200_000}, :aborts_stack}]
    assert Mote.ask!(many, {:lists, Enum.to_list(1..100), 1_000}) == :ok

    for {request, counter} <- requests do
      before = Mote.info(machine).counters
      assert {:error, %Error{reason: :aborted}} = Mote.ask(many, request, 60_000)
      counters = Mote.info(machine).counters
      assert counters[counter] == before[counter] + 1
      assert {counters.sends, counters.creates} == {before.sends, before.creates}
      # The asker hears of it before the thread says how much is queued.
      eventually(fn -> Mote.info(machine).sponsors.main.queued == 0 end)
      assert Mote.ask!(many, :times) == 0
    end
  end

  # They wait between what turns make, in every block: so no block becomes empty, and an actor needs one.
  test "messages that wait keep no turn from memory, while what lives leaves much" do
    for _ <- 1..4 do
      machine = start(memory: 40 * @megabyte)
      pages = Mote.Directory.start(machine, Actors.pages())
      accepted = Enum.count(1..200_000, &(Mote.Directory.send(pages, "/article/#{&1}", :visit) == :ok))
      :ok = Mote.drain(machine, 60_000)
      assert {accepted, Mote.info(machine).counters.aborts_no_memory} == {Mote.Directory.count(pages), 0}
      :ok = Mote.stop(machine)
    end
  end

  test "a bomb without end stays within the quota, and the machine goes on" do
    machine = start(memory: 48 * @megabyte, sponsors: [main: [threads: 2], calm: []])
    bomb = Mote.create(machine, Holders.bomb())
    echo = Mote.create(machine, Actors.many(0))
    Mote.send(bomb, 0)
    # Few: where what lives comes near to the quota, each of them may take a collection.
    eventually(fn -> Mote.info(machine).counters.aborts_no_memory > 100 end)

    for _ <- 1..200 do
      # A block for each thread, and what is on its way between them, which is little.
      assert charged(machine) <= (48 + 6 + 1) * @megabyte
      # Accepted or refused.
      with {:error, error} <- Mote.send(bomb, 0), do: assert(error.reason == :no_memory)
      Process.sleep(1)
    end

    assert is_map(Mote.info(echo))
    :ok = Mote.stop(machine)
  end

  describe "nothing is left of" do
    test "messages, timers, questions and sponsors, counted in bytes" do
      machine = start(sponsors: [main: [], other: [threads: 2]])
      counter = Mote.create(machine, Actors.counter(0))
      silent = Mote.create(machine, Holders.silent([]))
      many = Mote.create(machine, Actors.many(0))
      tree = Mote.create(machine, Mote.Travellers.tree(nil))

      round = fn ->
        for n <- 1..10_000, do: Mote.send(counter, [n, "text", {:tuple, n}])
        {:error, %Error{reason: :timeout}} = Mote.ask(silent, :keep, 1)
        pid = spawn(fn -> Mote.ask(silent, :keep) end)
        Mote.send(silent, :let_go)
        :done = Mote.ask!(many, {:sendx, 20_000})
        Mote.send(tree, 14, sponsor: :other)
        timers = for _ <- 1..1_000, do: Mote.send_after(counter, [1], 3_600_000)
        for timer <- timers, do: Mote.cancel_timer(timer)
        :ok = Mote.add_sponsor(machine, :guest, threads: 2)
        Mote.send(tree, 12, sponsor: :guest)
        :ok = Mote.remove_sponsor(machine, :guest)
        Process.exit(pid, :kill)
        eventually(fn -> not Process.alive?(pid) end)
        Mote.send(silent, :let_go)
        held = at_rest(machine)

        {held, Mote.info(machine).gc.live_bytes, Mote.info(machine).gc.live_actors,
         Mote.info(machine).references}
      end

      for _ <- 1..3, do: round.()
      {held, bytes, actors, references} = round.()

      for _ <- 1..5 do
        {again, ^bytes, ^actors, ^references} = round.()
        # Heaps keep a block or two as it comes.
        assert_in_delta again, held, 8 * @megabyte

        # What is no block is what the tables of held addresses take, and these are as large as they ever were.
        assert rem(again - held, 2 * @megabyte) == 0, "something that is no block is still charged"
      end
    end

    test "a thousand machines" do
      cycle = fn ->
        {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2, inbox: 10]])
        counter = Mote.create(machine, Actors.counter(0))
        for n <- 1..5, do: Mote.send(counter, [n])
        # Two threads keep no order.
        :ok = Mote.drain(machine, 60_000)
        5 = Mote.ask!(counter, :read, 60_000)
        :ok = Mote.stop(machine)
      end

      for _ <- 1..100, do: cycle.()
      :erlang.garbage_collect()
      before = Resident.megabytes()
      for _ <- 1..1_000, do: cycle.()
      :erlang.garbage_collect()
      # A thousand machines with a block each would be 2,000 megabytes; with a queue's first chunks 30.
      assert Resident.megabytes() - before < 20
    end
  end
end
