defmodule Mote.BeamSponsorBoundsTest do
  # What waits in a beam sponsor is bounded, charged and counted; and who blocks can be seen.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.Error

  defmodule Door do
    use Mote.Behaviour

    # Closed until it is told to open, by a message to the process of its turn.
    defactor door(test), beam: true do
      :wait ->
        Kernel.send(test, {:waits, Kernel.self()})
        receive do: (:open -> :ok)

      message ->
        send test, {:done, message}
    end

    defactor trying(test), beam: true do
      fun -> send test, {:tried, fun.()}
    end

    # The same in the language.
    defactor plain(test) do
      message -> send test, {:done, message}
    end
  end

  # Turns that do more than the machine has memory for.
  defmodule Large do
    use Mote.Behaviour

    defactor plain(kept) do
      {_customer, {:send, n}} -> send self(), {:list, Enum.to_list(1..n)}
      {_customer, {:become, n}} -> become kept: Enum.to_list(1..n)
      {customer, :ping} -> send customer, {:pong, kept}
    end

    defactor any(kept), beam: true do
      {_customer, {:send, n}} ->
        send self(), {:list, Enum.to_list(1..n)}

      {_customer, {:become, n}} ->
        become kept: Enum.to_list(1..n)

      # Written out, it has 2^40 parts.
      {_customer, {:raise, n}} ->
        raise ArgumentError, message: Enum.reduce(1..n, [], fn _, list -> [list, list] end)

      {customer, :ping} ->
        send customer, {:pong, kept}
    end
  end

  # Gives the message back without an end, or so many times.
  defmodule Again do
    use Mote.Behaviour

    defactor again(n), beam: true do
      {_customer, :for_ever} ->
        become again(n + 1)
        again()

      {customer, {:times, times}} when n == times ->
        send customer, n
        become again(0)

      {_customer, {:times, _}} ->
        become again(n + 1)
        again()

      {customer, :n} ->
        send customer, n
    end
  end

  # All runs of one message have the fuel of one turn, here a hundred runs; others that come in between are others.
  test "a message that is given back without an end is aborted, whatever runs in between" do
    machine = machine([max_concurrency: 2], fuel: 100_000)
    [one, other] = for _ <- 1..2, do: Mote.create(machine, Again.again(0), sponsor: :io)
    asked = for actor <- [one, other], do: Mote.async(actor, :for_ever)

    ExUnit.CaptureLog.capture_log(fn ->
      for ask <- asked do
        assert {{:aborted, {Again, :again}, :fuel}, _} = catch_exit(Mote.await(ask, 60_000))
      end
    end)

    for actor <- [one, other], do: assert(Mote.ask!(actor, :n) in 90..100)
    # As often as before by the next one, and with a bounded number none.
    assert Mote.ask!(Mote.create(machine, Again.again(0), sponsor: :io), {:times, 50}) == 50
    assert %{counters: %{aborts_fuel: 2}} = Mote.info(machine)
  end

  defp machine(io, opts \\ []) do
    {:ok, machine} =
      Mote.start_link([sponsors: [main: [], io: [beam: true, timeout: :infinity] ++ io]] ++ opts)

    machine
  end

  defp door(machine), do: Mote.create(machine, Door.door(self()), sponsor: :io)

  # Its turn runs until the process that is returned gets `:open`, and nothing of it is in the inbox any more.
  defp blocked(machine, door) do
    :ok = Mote.send(door, :wait)
    assert_receive {:waits, turn}, 30_000
    eventually(fn -> io(machine).waiting == 0 end)
    turn
  end

  defp io(machine), do: Mote.info(machine).sponsors.io

  describe ":inbox" do
    test "bounds what waits for one actor, or for a place" do
      # With one place all others wait in the queue; with two they wait in the line of the actor.
      for places <- [1, 2] do
        machine = machine(max_concurrency: places, inbox: 3)
        door = door(machine)
        turn = blocked(machine, door)
        for n <- 1..3, do: assert(:ok = Mote.send(door, n))
        assert {:error, %Error{reason: :overloaded}} = Mote.send(door, 4)
        assert {:error, %Error{reason: :overloaded}} = Mote.ask(door, 5)
        assert %{running: 1, waiting: 3, overloaded: 2} = io(machine)
        send(turn, :open)
        for n <- 1..3, do: assert_receive({:done, ^n}, 30_000)
        assert :ok = Mote.drain(machine, 30_000)
        assert :ok = Mote.send(door, 6)
        assert_receive {:done, 6}, 30_000
        refute_received {:done, _}
        assert :ok = Mote.drain(machine, 30_000)
        assert %{running: 0, waiting: 0, overloaded: 2} = io(machine)
      end
    end

    test "lets senders wait where :on_full says so" do
      machine = machine(max_concurrency: 2, inbox: 1, on_full: :wait)
      door = door(machine)
      turn = blocked(machine, door)
      assert :ok = Mote.send(door, 1)
      sender = Task.async(fn -> for n <- 2..5, do: Mote.send(door, n) end)
      # Whoever does not wait finds that there is no room.
      assert {:error, %Error{reason: :overloaded}} = Mote.send(door, 0, on_full: :error)
      send(turn, :open)
      assert Task.await(sender, 30_000) == [:ok, :ok, :ok, :ok]
      for n <- 1..5, do: assert_receive({:done, ^n}, 30_000)
    end
  end

  # There is room only when the turn has ended.
  test "a turn that would wait for room in its own sponsor is told at once that there is none" do
    m = machine(inbox: 2, max_concurrency: 1, on_full: :wait)
    other = Mote.create(m, Door.plain(self()), sponsor: :io)

    ways = [
      fn -> Mote.send(other, 1, on_full: :wait, timeout: :infinity) end,
      fn -> Mote.send(other, 1, timeout: :infinity) end,
      fn -> Mote.send_many(other, [1, 2], timeout: :infinity) end,
      fn -> Mote.cast_stream(other, [1, 2, 3], timeout: :infinity) end
    ]

    for way <- ways do
      first = Mote.create(m, Door.trying(self()), sponsor: :io)
      :ok = Mote.send(first, fn -> Stream.repeatedly(way) |> Enum.find(&match?({:error, _}, &1)) end)
      assert_receive {:tried, {:error, %Error{reason: :overloaded}}}, 30_000
      assert Mote.drain(m, 60_000) == :ok
    end

    # Another sponsor makes room by itself.
    inner = Mote.create(m, Door.plain(self()))
    first = Mote.create(m, Door.trying(self()), sponsor: :io)
    :ok = Mote.send(first, fn -> for(n <- 1..100, do: Mote.send(inner, n, on_full: :wait)) |> Enum.uniq() end)
    assert_receive {:tried, [:ok]}, 30_000
  end

  describe ":memory" do
    @each 16

    test "counts what waits for an actor whose turn runs" do
      machine = machine(max_concurrency: 2)
      door = door(machine)
      turn = blocked(machine, door)
      other = Mote.create(machine, Door.plain(self()), sponsor: :io)
      before = Mote.info(machine).memory.charged
      n = 200_000
      for _ <- 1..10, do: :ok = Mote.send_many(door, List.duplicate(:again, div(n, 10)))
      # What the thread has still to look at lies in memory that it had before. It comes to this one last.
      :ok = Mote.send(other, :last)
      assert_receive {:done, :last}, 30_000
      assert %{waiting: ^n, inbox: 0} = io(machine)
      assert Mote.info(machine).memory.charged - before >= @each * n
      assert [%{queued: ^n, address: ^door}] = Mote.top(machine, by: :queued)
      # Nobody waits for what comes of it.
      Mote.remove_sponsor(machine, :io)
      send(turn, :open)
    end

    @tag capture_log: true
    test "ends a turn that does more than there is any for, at once and with a reason" do
      machine = machine([max_concurrency: 2], memory: 16 * 1024 * 1024)

      for behaviour <- [Large.plain([]), Large.any([])], request <- [:send, :become] do
        large = Mote.create(machine, behaviour, sponsor: :io)
        assert {:error, %Error{reason: :aborted} = error} = Mote.ask(large, {request, 3_000_000}, 60_000)
        assert error.context.reason == :no_memory
        assert {:ok, {:pong, []}} = Mote.ask(large, :ping, 60_000)
      end

      large = Mote.create(machine, Large.any([]), sponsor: :io)
      assert {:error, %Error{reason: :aborted}} = Mote.ask(large, {:raise, 40}, 60_000)
      assert :ok = Mote.drain(machine, 60_000)
    end

    @tag capture_log: true
    test "refuses what there is none for, and goes on when there is some again" do
      machine = machine([max_concurrency: 2], memory: 12 * 1024 * 1024)
      door = Mote.create(machine, Door.door(self()), sponsor: :io)
      plain = Mote.create(machine, Door.plain(self()), sponsor: :io)
      turn = blocked(machine, door)
      many = List.duplicate(:again, 20_000)

      refused =
        eventually(fn ->
          with :ok <- Mote.send_many(door, many), do: nil
        end)

      assert {:error, %Error{reason: :no_memory}} = refused
      :ok = Mote.remove_sponsor(machine, :io)
      send(turn, :open)
      # What waited was for an actor that runs nowhere else.
      assert :ok = Mote.drain(machine, 60_000)
      assert :ok = Mote.send(plain, :there)
      assert_receive {:done, :there}, 30_000
    end
  end

  describe "who blocks" do
    test "is told by top and info, with behaviour and age" do
      machine = machine(max_concurrency: 10)
      assert Mote.top(machine, by: :running) == []
      assert %{running: 0, waiting: 0, longest: nil, timeout: :infinity} = io(machine)
      assert Mote.info(machine).sponsors.main.timeout == nil
      :ok = Mote.add_sponsor(machine, :hasty, beam: true, timeout: 1_234)
      assert Mote.info(machine).sponsors.hasty.timeout == 1_234
      [first, second] = doors = for _ <- 1..2, do: door(machine)
      turns = for door <- doors, do: blocked(machine, door)
      for n <- 1..5, do: Mote.send(second, n)

      assert [
               %{address: ^first, behaviour: {Door, :door, 1}, sponsor: :io, running: elder},
               %{address: ^second, running: younger}
             ] = Mote.top(machine, by: :running)

      assert elder >= younger and younger >= 0
      assert [%{address: ^first}] = Mote.top(machine, by: :running, n: 1)
      eventually(fn -> match?([%{address: ^second, queued: 5}], Mote.top(machine, by: :queued)) end)
      assert %{running: 2, waiting: 5, longest: %{behaviour: {Door, :door}, age: age}} = io(machine)
      assert age >= elder
      for turn <- turns, do: send(turn, :open)
      assert :ok = Mote.drain(machine, 30_000)
      assert Mote.top(machine, by: :running) == []
      assert :ok = Mote.stop(machine)
      assert_raise Error, fn -> Mote.top(machine, by: :running) end
    end
  end
end
