defmodule Mote.GCTest do
  # Not async: it looks at the memory of the whole process.
  use ExUnit.Case, async: false
  import Mote.Eventually

  import ExUnit.CaptureLog

  alias Mote.{Error, Holders, Resident}

  @megabyte 1024 * 1024

  describe "a promise that nobody can keep" do
    test "is broken at once" do
      machine = start_supervised!(Mote)
      silent = Mote.create(machine, Holders.silent([]))

      # No clause matches, so the message and the customer in it are gone. A busy host may hold up one question or other.
      eventually(fn ->
        # By the thread: a call that runs the turn itself leaves nothing to collect.
        {time, answer} = :timer.tc(fn -> Mote.yield(Mote.async(silent, :who_knows), :infinity) end)
        assert {:error, %Error{reason: :broken_promise}} = answer
        time < 500_000
      end)

      # It is told while the collection is still going on.
      eventually(fn -> Mote.info(machine).gc.collections > 0 end)
    end

    test "is broken when the last who had the customer lets go of it, and not before" do
      machine = start_supervised!(Mote)
      silent = Mote.create(machine, Holders.silent([]))
      asked = Task.async(fn -> Mote.ask(silent, :keep, :infinity) end)
      eventually(fn -> Mote.info(machine).counters.turns == 1 end)
      for _ <- 1..3, do: Mote.gc(machine)
      refute Task.yield(asked, 50)
      Mote.send(silent, :let_go)
      assert {:error, %Error{reason: :broken_promise}} = Task.await(asked, 60_000)
    end

    test "leaves nothing in the mailbox of who gave up before" do
      machine = start_supervised!(Mote)
      silent = Mote.create(machine, Holders.silent([]))
      assert {:error, %Error{reason: :timeout}} = Mote.ask(silent, :keep, 1)
      Mote.send(silent, :let_go)
      Mote.drain(machine, 60_000)
      Mote.gc(machine)
      refute_receive _, 20
    end
  end

  describe "a machine that has used its memory up" do
    test "aborts turns, says so, and recovers when memory is free again" do
      machine = start_supervised!({Mote, memory: 32 * @megabyte})

      capture_log(fn ->
        hoard = Mote.create(machine, Holders.hoard([]))
        # Some 16 bytes for the tuple, 16 for the cell: more than there is.
        assert {:error, %Error{reason: :aborted}} = Mote.ask(hoard, 2_000_000)
        assert Mote.info(machine).counters.aborts_no_memory == 1
        assert Mote.ask!(hoard, 100_000) == :kept

        # Twice: what the turns before have left may be in the way at first, and is collected only then.
        held = fill(machine, [])
        :ok = Mote.gc(machine)
        held = fill(machine, held)
        assert Mote.info(machine).memory.heap in (28 * @megabyte)..(32 * @megabyte)
        assert length(held) > 1_000
      end)

      # Nothing holds them any more.
      collect(machine, 0)
      assert Mote.info(machine).memory.heap < 16 * @megabyte
      assert Mote.ask!(Mote.create(machine, Holders.hoard([])), 100_000) == :kept
    end

    # Holders of big tuples, until there is no room for another one.
    defp fill(machine, held) do
      fill(machine, [Mote.create(machine, Holders.holder(Tuple.duplicate(0, 1_000))) | held])
    rescue
      error in Error ->
        assert error.reason == :no_memory
        held
    end

    test "lives through a bomb without end" do
      machine = start_supervised!({Mote, memory: 32 * @megabyte, sponsors: [main: [threads: 2]]})

      capture_log(fn ->
        Mote.send(Mote.create(machine, Holders.bomb()), 0)
        eventually(fn -> Mote.info(machine).counters.aborts_no_memory > 1_000 end)
        assert Mote.info(machine).memory.heap <= 32 * @megabyte
        :ok = Mote.stop(machine)
      end)
    end
  end

  describe "nothing leaks" do
    test "over many rounds of creating, asking and dropping" do
      machine = start_supervised!(Mote)
      litter = Mote.create(machine, Holders.litter())

      round = fn ->
        for n <- 1..1_000 do
          one = Mote.create(machine, Holders.holder([n]))
          other = Mote.create(machine, Holders.holder([one]))
          :linked = Mote.ask!(one, {:link, [other, self(), make_ref(), %{n => "map"}]})
        end

        :littered = Mote.ask!(litter, 50_000)
        :ok = Mote.drain(machine, 60_000)
        collect(machine, 1)
        info = Mote.info(machine)
        {info.gc.live_actors, info.references, info.gc.live_bytes, info.memory.heap}
      end

      for _ <- 1..3, do: round.()
      {1, 1, bytes, heap} = round.()
      before = Resident.megabytes()
      for _ <- 1..20, do: assert({1, 1, ^bytes, ^heap} = round.())
      # 20 rounds with 52,000 actors and what they hold would be some 50 MB.
      assert Resident.megabytes() - before < 25
    end

    @tag not_under_stress: "a list of millions is walked after each turn"
    test "and what a big structure took is given back" do
      machine = start_supervised!(Mote)
      hoard = Mote.create(machine, Holders.hoard([]))
      :kept = Mote.ask!(hoard, 3_000_000, :infinity)
      # For each element a cell and a tuple of one.
      assert Mote.info(machine).memory.heap >= 3_000_000 * 32
      full = Resident.megabytes()
      :kept = Mote.ask!(hoard, 1)
      Mote.gc(machine)
      assert Mote.info(machine).memory.heap <= 4 * @megabyte
      eventually(fn -> full - Resident.megabytes() > 60 end)
    end
  end

  test "figures" do
    machine = start_supervised!({Mote, gc: [min: 1_000_000, factor: 1.5], memory: 64 * @megabyte})
    assert %{live_actors: 0, live_bytes: 0, reclaimed: 0} = Mote.info(machine).gc
    hoard = Mote.create(machine, Holders.hoard([]))
    :kept = Mote.ask!(hoard, 1_000)
    assert Mote.gc(machine) == :ok
    gc = Mote.info(machine).gc
    assert gc.live_actors == 1
    # An actor, and for each element a cell and a tuple of one.
    assert gc.live_bytes == 16 + 1_000 * 32
    assert gc.longest_pause >= gc.last_pause and gc.last_pause > 0
    # Each pause is below the power of two that it is counted with, and the longest is the last of them.
    assert gc.longest_pause in div(Enum.max(Map.keys(gc.pauses)), 2)..Enum.max(Map.keys(gc.pauses))
    count = Enum.sum(Map.values(gc.pauses))
    assert count >= gc.collections
    assert gc.paused in gc.longest_pause..(count * gc.longest_pause)
    :kept = Mote.ask!(hoard, 300_000)
    :kept = Mote.ask!(hoard, 1)
    Mote.gc(machine)
    assert Mote.info(machine).gc.reclaimed >= 8 * @megabyte
  end

  test "a machine collects by itself, also when only callers outside allocate" do
    machine = start_supervised!({Mote, gc: [min: 8 * @megabyte]})
    for n <- 1..300_000, do: Mote.create(machine, Holders.holder({n}))
    eventually(fn -> Mote.info(machine).gc.collections > 0 end)
  end

  test "a collection is done in spite of a machine that is never quiet, and not after its end" do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 2]], shutdown: [drain: 0]})
    busy = Mote.create(machine, Mote.Actors.busy(0))
    Mote.send(busy, :go)
    for _ <- 1..20, do: assert(Mote.gc(machine, 5_000) == :ok)
    stop_supervised!(Mote)
    error = assert_raise Error, fn -> Mote.gc(machine) end
    assert error.reason == :machine_down
    refute_receive _, 10
  end

  test "a collection that a long turn holds up says so" do
    machine = start_supervised!({Mote, fuel: 1_000_000_000})

    # A busy host may hold this process up until the turn is over: then once more.
    error =
      eventually(fn ->
        Mote.send(Mote.create(machine, Mote.Sums.busy(self())), {self(), 30_000_000})
        refused(machine)
      end)

    assert error.message =~ "the machine did not stand still within 0 ms"
    assert error.context == %{machine: machine, timeout: 0}
    assert error.reason == :timeout
  end

  defp refused(machine) do
    :ok = Mote.gc(machine, 0)
    nil
  rescue
    error in Error -> error
  end

  test "options that cannot be meant" do
    for {options, text} <- [
          {[memory: 0], "expected :memory to be a number of bytes or :infinity, got: 0"},
          {[memory: :lots], "got: :lots"},
          {[memory: 1_000_000], "expected :memory to be at least 8388608 bytes"},
          {[memory: 8_388_608, sponsors: [main: [threads: 2]]], "at least 12582912 bytes"},
          {[gc: 5], "expected :gc to be a keyword list of :min and :factor, got: 5"},
          {[gc: [max: 1]], "unknown option :max of :gc; there are :min and :factor"},
          {[gc: [min: 0]], "expected :min of :gc to be a number of bytes"},
          {[gc: [factor: -1]], "expected :factor of :gc to be a number from 0"},
          {[gc: [factor: "2"]], "got: \"2\""}
        ] do
      assert_raise ArgumentError, ~r/#{Regex.escape(text)}/, fn -> Mote.start_link(options) end
    end
  end

  # The BEAM runs the destructors of what it has collected a moment later. What passed through another process, one of the
  # machine's own, say, is garbage there until that one is collected.
end
