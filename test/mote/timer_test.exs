defmodule Mote.TimerTest do
  # Timers in behaviours and from processes, and the clock that tests move: order, never early, cancelled never fires.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Mailbox

  alias Mote.{Actors, Error, Reference}
  alias Mote.TimerTest.Programs

  doctest Mote.Timer

  @moduletag capture_log: true

  defmodule Programs do
    use Mote.Behaviour, errors: :undefined

    # Keeps the timers that it has armed, the newest first.
    defactor alarms(out, timers) do
      {:arm, ms, tag} ->
        become alarms(out, [send_after(ms, out, tag) | timers])

      {:chain, ms, n, tag} ->
        send out, {tag, n}
        if n > 0, do: send_after(ms, self(), {:chain, ms, n - 1, tag})

      {:cancel, nth} ->
        cancel_timer(nth(timers, nth))

      {:regret, ms, tag} ->
        cancel_timer(send_after(ms, out, tag))

      {:abort, nth, ms, tag} ->
        cancel_timer(nth(timers, nth))
        send_after(ms, out, tag)
        abort(:changed_my_mind)

      {customer, {:answer, term}} ->
        send customer, cancel_timer(term)

      {customer, {:newest, ms}} ->
        timer = send_after(ms, out, ms)
        send customer, {timer, timer, is_reference(timer), is_address(timer)}
    end

    defactor regretting() do
      {timer, :abort} ->
        cancel_timer(timer)
        abort(:changed_my_mind)

      {timer, :commit} ->
        cancel_timer(timer)
    end

    defpure nth([], _), do: nil
    defpure nth([timer | _], 0), do: timer
    defpure nth([_ | timers], n), do: nth(timers, n - 1)
  end

  setup do
    machine = start()
    %{machine: machine, alarms: alarms(machine), forward: Mote.create(machine, Actors.forward(self()))}
  end

  # Without what waits, when it ends, for actors that are busy for good.
  defp start(opts \\ []) do
    opts = Keyword.merge([clock: :manual, id: make_ref(), shutdown: [drain: 0]], opts)
    start_supervised!({Mote, opts})
  end

  defp alarms(machine, opts \\ []), do: Mote.create(machine, Programs.alarms(self(), []), opts)

  describe "in behaviours" do
    test "fire in their order, each at its moment", %{machine: machine, alarms: alarms} do
      for ms <- [30, 10, 10_000, 0, 10],
          do: Mote.send(alarms, {:arm, ms, {ms, System.unique_integer([:monotonic])}})

      assert Mote.advance(machine, 9) == :ok
      assert [{0, _}] = messages()
      assert Mote.advance(machine, 1) == :ok
      assert [{10, first}, {10, second}] = messages()
      assert first < second
      assert Mote.advance(machine, 100_000) == :ok
      assert [{30, _}, {10_000, _}] = messages()
      assert Mote.now(machine) == 100_010
      assert Mote.info(machine).counters.timers == 0
    end

    test "one may arm the next", %{machine: machine} do
      Mote.send(alarms(machine), {:chain, 7, 5, :beat})
      assert Mote.advance(machine, 20) == :ok
      assert messages() == [beat: 5, beat: 4, beat: 3]
      assert Mote.advance(machine, 15) == :ok
      assert messages() == [beat: 2, beat: 1, beat: 0]
    end

    test "a cancelled one never fires; an abort neither cancels nor arms", %{machine: machine, alarms: alarms} do
      for message <- [{:arm, 5, :kept}, {:arm, 5, :gone}, {:cancel, 0}], do: Mote.send(alarms, message)
      for message <- [{:abort, 1, 5, :never}, {:regret, 5, :never}], do: Mote.send(alarms, message)
      assert Mote.advance(machine, 1_000) == :ok
      assert messages() == [:kept]
      assert Mote.info(machine).counters.aborts_explicit == 1
    end

    test "cancelling is total", %{machine: machine, alarms: alarms} do
      assert Mote.ask!(alarms, {:answer, make_ref()}) == :ok

      for other <- [nil, 1, :timer, {}, "ref", %{}, self(), alarms],
          do: assert(Mote.ask!(alarms, {:answer, other}) == :undefined)
    end

    test "their references go out and in again, and are equal", %{machine: machine, alarms: alarms} do
      assert {%Mote.Timer{} = timer, timer, true, false} = Mote.ask!(alarms, {:newest, 50})
      keeper = Mote.create(machine, Actors.keeper([timer]))
      assert Mote.ask!(keeper, :get) == [timer]
      comparing = Mote.create(machine, Actors.comparing(timer))
      assert Mote.ask!(comparing, timer) == {true, true, false, false, false}
      {other, _, _, _} = Mote.ask!(alarms, {:newest, 50})
      assert other != timer
      assert {false, false, _, _, false} = Mote.ask!(comparing, other)
      assert Mote.ask!(alarms, {:answer, timer}) == :ok
      assert Mote.cancel_timer(timer) == false
      assert Mote.cancel_timer(other) == 50
      assert inspect(timer) =~ ~r/^#Mote.Timer<[0-9a-z]+>$/
    end

    test "another machine carries them as they are" do
      [home, abroad] = [start(), start()]
      {timer, _, _, _} = Mote.ask!(alarms(home), {:newest, 50})
      keeper = Mote.create(abroad, Actors.keeper(timer))
      assert Mote.ask!(keeper, :get) == timer
      # From machine to machine without a process in between.
      forward = Mote.create(home, Actors.forward(Mote.create(abroad, Actors.forward(self()))))
      Mote.send(forward, timer)
      assert_receive ^timer
      # And home again, where it is what it was.
      comparing = Mote.create(home, Actors.comparing(timer))

      Mote.send(
        Mote.create(home, Actors.forward(Mote.create(abroad, Actors.forward(comparing)))),
        {self(), timer}
      )

      assert_receive {true, true, false, false, false}
      assert Mote.cancel_timer(timer) == 50
    end

    test "an actor of another machine can cancel them, when its turn commits" do
      [home, abroad] = [start(), start()]
      arm = fn -> home |> alarms() |> Mote.ask!({:newest, 50}) |> elem(0) end
      other = alarms(abroad)

      # An abort cancels nothing.
      regretting = Mote.create(abroad, Programs.regretting())
      timer = arm.()
      Mote.send(regretting, {timer, :abort})
      assert Mote.drain(abroad) == :ok
      assert Mote.cancel_timer(timer) == 50

      timer = arm.()
      assert Mote.ask!(other, {:answer, timer}) == :ok
      assert Mote.cancel_timer(timer) == false
      # Once more, or when it has fired, is nothing.
      assert Mote.ask!(other, {:answer, timer}) == :ok

      # There, and home again, without a process in between.
      timer = arm.()
      there = Mote.create(abroad, Actors.forward(Mote.create(home, Programs.regretting())))
      Mote.send(Mote.create(home, Actors.forward(there)), {timer, :commit})
      for machine <- [home, abroad, home], do: assert(Mote.drain(machine, 60_000) == :ok)
      assert Mote.cancel_timer(timer) == false
      # And there, the same way.
      timer = arm.()
      Mote.send(Mote.create(home, Actors.forward(regretting)), {timer, :commit})
      for machine <- [home, abroad], do: assert(Mote.drain(machine, 60_000) == :ok)
      assert Mote.cancel_timer(timer) == false

      assert Mote.advance(home, 1_000) == :ok
      assert messages() == []
      # A machine that is down has no timers.
      timer = arm.()
      Mote.stop(home)
      assert Mote.ask!(other, {:answer, timer}) == :ok
    end
  end

  test "a clock that stands still lets nothing fire, whatever is due", %{machine: machine, alarms: alarms} do
    Mote.send(alarms, {:arm, 0, :now})
    Mote.send_after(alarms, {:chain, 1, 0, :then}, 0)
    assert Mote.drain(machine, 60_000) == :ok
    assert messages() == []
    assert Mote.advance(machine, 0) == :ok
    assert messages() == [:now, {:then, 0}]
  end

  describe "from processes" do
    test "are armed and cancelled", %{machine: machine, forward: forward} do
      first = Mote.send_after(forward, :first, 10)
      second = Mote.send_after(forward, {:second, self(), [1.5, "two"]}, 20)
      _third = Mote.send_after(forward, :third, 0, sponsor: :main)
      assert Mote.info(machine).counters.timers == 3
      assert Mote.advance(machine, 4) == :ok
      assert messages() == [:third]
      assert Mote.cancel_timer(first) == 6
      assert Mote.cancel_timer(first) == false
      assert Mote.advance(machine, 16) == :ok
      assert messages() == [{:second, self(), [1.5, "two"]}]
      assert Mote.cancel_timer(second) == false
    end

    test "by the system's clock have no more left than they were armed with" do
      machine = start(clock: :system)
      forward = Mote.create(machine, Actors.forward(self()))

      for delay <- [1, 5, 100], _ <- 1..20 do
        left = Mote.cancel_timer(Mote.send_after(forward, :never, delay))
        assert left == false or left in 0..delay
      end

      assert Mote.cancel_timer(Mote.send_after(forward, :never, 3_600_000)) in 3_590_000..3_600_000
    end

    test "by the system's clock are never early" do
      machine = start(clock: :system)
      forward = Mote.create(machine, Actors.forward(self()))
      from = System.monotonic_time()
      Mote.send_after(forward, :later, 30)
      Mote.send_after(forward, :soon, 5)
      assert_receive :soon
      assert System.monotonic_time() - from >= System.convert_time_unit(5, :millisecond, :native)
      assert_receive :later
      assert System.monotonic_time() - from >= System.convert_time_unit(30, :millisecond, :native)
      assert Mote.now(machine) >= 30
    end

    test "fire in time, whatever the thread sleeps for" do
      machine = start(clock: :system, sponsors: [main: [threads: 1]])
      forward = Mote.create(machine, Actors.forward(self()))
      late = for _ <- 1..3, do: Mote.send_after(forward, :late, 60_000)
      Process.sleep(100)
      Mote.send_after(forward, :early, 50)
      assert_receive :early, 30_000
      # Nor for what is gone.
      for timer <- late, do: assert(Mote.cancel_timer(timer) > 0)
      Mote.send_after(forward, :late, 70_000)
      Process.sleep(100)
      Mote.send_after(forward, :early, 50)
      assert_receive :early, 30_000
    end

    test "a big message", %{machine: machine, forward: forward} do
      Mote.send_after(forward, Enum.to_list(1..100_000), 1)
      assert Mote.advance(machine, 1) == :ok
      assert [list] = messages()
      assert length(list) == 100_000
    end

    test "go to the sponsor that is named, and stay good when it is removed" do
      machine = start(sponsors: [main: [], side: []])
      forward = Mote.create(machine, Actors.forward(self()))
      [one, two] = for ms <- [10, 20], do: Mote.send_after(forward, ms, ms, sponsor: :side)
      assert [%{timers: 2}] = Mote.info(machine).sponsors.side.threads
      assert Mote.remove_sponsor(machine, :side) == :ok
      assert Mote.info(machine).counters.timers == 2
      assert Mote.cancel_timer(one) == 10
      assert Mote.advance(machine, 20) == :ok
      assert messages() == [20]
      assert Mote.cancel_timer(two) == false
    end
  end

  describe "errors" do
    test "of what is no address, no delay, no timer, no clock", %{machine: machine, forward: forward} do
      assert_raise ArgumentError, ~r/Process.send_after/, fn -> Mote.send_after(self(), :hello, 1) end
      assert_raise ArgumentError, ~r/milliseconds from 0/, fn -> Mote.send_after(forward, :hello, -1) end
      assert_raise ArgumentError, ~r/milliseconds from 0/, fn -> Mote.send_after(forward, :hello, 1.5) end
      assert_raise ArgumentError, ~r/\[sponsor: name\]/, fn -> Mote.send_after(forward, :hello, 1, to: 1) end
      assert %Error{reason: :unknown_sponsor} = catch_error(Mote.send_after(forward, 1, 1, sponsor: :nobody))

      for other <- [make_ref(), nil, 7],
          do: assert_raise(ArgumentError, ~r/a timer/, fn -> Mote.cancel_timer(other) end)

      forged = %Mote.Timer{machine: make_ref(), key: "key"}
      assert_raise ArgumentError, ~r/a timer/, fn -> Mote.cancel_timer(forged) end
      assert_raise ArgumentError, ~r/clock: :manual/, fn -> Mote.advance(start(clock: :system), 1) end
      # Also while that has work, without waiting for it to be done.
      busy = start(clock: :system)
      Mote.send(Mote.create(busy, Actors.busy(0)), :go)
      assert_raise ArgumentError, ~r/clock: :manual/, fn -> Mote.advance(busy, 1, 0) end
      assert_raise ArgumentError, ~r/:system .* or :manual/, fn -> Mote.start_link(clock: :sundial) end
      assert_raise ArgumentError, ~r/milliseconds/, fn -> Mote.advance(machine, :soon) end
    end

    test "time does not pass while there is work", %{machine: machine} do
      Mote.send(Mote.create(machine, Actors.busy(0)), :go)
      assert {:error, %Error{reason: :timeout, message: message}} = Mote.advance(machine, 10, 50)
      assert message =~ "50 ms"
      assert Mote.now(machine) == 0
    end

    test "of a machine that has ended" do
      machine = start_supervised!({Mote, clock: :manual, id: :ending})
      forward = Mote.create(machine, Actors.forward(self()))
      timer = Mote.send_after(forward, :never, 10)
      native = forward.machine
      stop_supervised!(:ending)
      assert Mote.cancel_timer(timer) == false
      assert %Error{reason: :machine_down} = catch_error(Mote.send_after(forward, :never, 10))
      assert %Error{reason: :machine_down} = catch_error(Mote.now(machine))
      assert {:error, %Error{reason: :machine_down}} = Mote.advance(machine, 10)
      assert Mote.Native.machine_advance(native, 10, false) == :stopped
    end
  end

  describe "laws" do
    property "a machine does with time as the reference does" do
      machine = start()

      check all(steps <- list_of(step(), max_length: 30), max_runs: 60) do
        alarms = alarms(machine)
        reference = Reference.new()
        {twin, reference} = Reference.create(reference, Programs.alarms(self(), []))

        reference =
          for step <- steps, reduce: reference do
            reference -> take(step, machine, alarms, twin, reference)
          end

        assert Mote.advance(machine, 5_000) == :ok
        reference = Reference.advance(reference, 5_000)
        assert messages() == for({_, message} <- Reference.outside(reference), do: message)
      end
    end

    defp take({:pass, ms}, machine, _alarms, _twin, reference) do
      :ok = Mote.advance(machine, ms)
      Reference.advance(reference, ms)
    end

    defp take(message, _machine, alarms, twin, reference) do
      Mote.send(alarms, message)
      Reference.send(reference, twin, message)
    end

    defp step do
      ms = one_of([integer(0..3), integer(0..100), integer(0..4_000), constant(:never)])
      tag = positive_integer()

      frequency([
        {4, tuple({constant(:arm), ms, tag})},
        {2, tuple({constant(:cancel), integer(0..5)})},
        {1, tuple({constant(:regret), ms, tag})},
        {1, tuple({constant(:abort), integer(0..5), ms, tag})},
        {1, tuple({constant(:chain), integer(1..50), integer(0..5), tag})},
        {3, tuple({constant(:pass), integer(0..60)})}
      ])
    end
  end
end
