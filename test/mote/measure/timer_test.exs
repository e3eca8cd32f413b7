defmodule Mote.Measure.TimerTest do
  # The law of the timer: the start strictly before the device, the stop after it, both read at home.
  use ExUnit.Case, async: true

  alias Mote.Behaviour
  alias Mote.Measure.Timer

  defmodule Devices do
    use Mote.Behaviour, errors: :undefined

    # Answers after so many milliseconds.
    defactor nap do
      {customer, ms} -> send_after(ms, customer, :awake)
    end

    # Tells when it began and when it had done so many steps, by the same clock.
    defactor worker(witness) do
      {customer, steps} ->
        start = System.monotonic_time(:nanosecond)
        sum = Enum.reduce(1..steps, 0, fn i, sum -> sum + i end)
        send witness, {:worked, System.monotonic_time(:nanosecond) - start, sum}
        send customer, :done
    end

    defactor twice do
      {customer, _} ->
        send customer, :once
        send customer, :twice
    end

    defactor deaf do
      {_customer, _} -> :ignored
    end
  end

  @sponsors [single: [threads: 1], multi: [threads: 2]]

  defp machine(opts \\ []), do: start_supervised!({Mote, [sponsors: @sponsors, id: make_ref()] ++ opts})

  defp timer(machine, device, sponsor),
    do: Mote.create(machine, Timer.timer(Mote.create(machine, device), :single, sponsor))

  test "the start is read in the turn whose effect the kick-off is" do
    before = System.monotonic_time(:nanosecond)
    turn = Behaviour.turn(Timer.stopwatch(self(), :device, :multi), :go, self: :stopwatch)
    assert turn.sendx == [{:multi, :device, {:stopwatch, :go}}] and turn.sends == []
    assert %Behaviour{name: :running, captures: {customer, start}} = turn.become
    assert customer == self()

    # Plain Elixir counts from the start of the node.
    offset = System.convert_time_unit(:erlang.system_info(:start_time), :native, :nanosecond)
    assert before - offset <= start and start <= System.monotonic_time(:nanosecond) - offset

    turn = Behaviour.turn(Timer.running(self(), start), :done)
    assert [{_, ns}] = turn.sends
    assert ns >= 0 and ns <= System.monotonic_time(:nanosecond) - before
    assert turn.become == :sink
  end

  for sponsor <- [:single, :multi] do
    test "stop less start is the device's delay, to the nanosecond of a manual clock (#{sponsor})" do
      machine = machine(clock: :manual)
      timer = timer(machine, Devices.nap(), unquote(sponsor))
      Mote.advance(machine, 17)
      Mote.send(timer, {self(), 250})
      :ok = Mote.advance(machine, 249)
      refute_received _
      :ok = Mote.advance(machine, 5)
      assert_receive 250_000_000
    end

    test "it is no less than what the device took (#{sponsor})" do
      machine = machine()
      timer = timer(machine, Devices.worker(self()), unquote(sponsor))

      for steps <- [1, 1_000, 200_000] do
        ns = Mote.ask!(timer, steps)
        assert_receive {:worked, own, _sum}
        assert is_integer(ns) and ns > 0 and ns >= own
      end
    end
  end

  test "both stamps are read at home, wherever the device runs" do
    machine = machine()
    timer = timer(machine, Devices.worker(self()), :multi)
    Mote.trace(machine, [], to: self(), limit: 100)
    assert Mote.ask!(timer, 10) > 0

    turns =
      for _ <- 1..4 do
        assert_receive {:mote_trace, _ref, %Mote.Trace.Turn{behaviour: %{module: module, name: name}} = turn}
        {module, name, turn.sponsor}
      end

    assert Enum.sort(turns) == [
             {Timer, :running, :single},
             {Timer, :stopwatch, :single},
             {Timer, :timer, :single},
             {Devices, :worker, :multi}
           ]
  end

  test "only the first answer counts, and each request has its own stopwatch" do
    machine = machine()
    timer = timer(machine, Devices.twice(), :single)
    for _ <- 1..3, do: Mote.send(timer, {self(), :go})
    :ok = Mote.drain(machine)
    for _ <- 1..3, do: assert_receive(ns when is_integer(ns))
    refute_receive _, 20
  end

  test "without an answer the customer hears of it" do
    machine = machine()

    assert {:error, %Mote.Error{reason: :broken_promise}} =
             Mote.ask(timer(machine, Devices.deaf(), :multi), :go)
  end
end
