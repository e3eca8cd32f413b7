defmodule Mote.ClockTest do
  # The time as behaviours read it: by the machine's clock, in every unit, anew each time, on both tiers.
  use ExUnit.Case, async: true

  alias Mote.Reference

  defmodule Elsewhere do
    use Mote.Behaviour, errors: :undefined
    defpure now, do: System.monotonic_time(:nanosecond)
  end

  defmodule Programs do
    use Mote.Behaviour, errors: :undefined

    defactor clock do
      {customer, :units} ->
        ns = System.monotonic_time(:nanosecond)
        us = System.monotonic_time(:microsecond)
        ms = System.monotonic_time(:millisecond)
        s = System.monotonic_time(:second)
        send customer, {ns, us, ms, s}

      {customer, :pure} ->
        send customer, {now(), Mote.ClockTest.Elsewhere.now()}

      {customer, {:count, n}} ->
        start = System.monotonic_time(:nanosecond)
        sum = Enum.reduce(1..n, 0, fn i, sum -> sum + i end)
        send customer, {start, sum, System.monotonic_time(:nanosecond)}
    end

    defpure now, do: System.monotonic_time(:nanosecond)
  end

  defp clock(opts) do
    machine = start_supervised!({Mote, [id: make_ref()] ++ opts})
    {machine, Mote.create(machine, Programs.clock())}
  end

  for tier <- [:native, :interp] do
    test "with a manual clock it stands still (#{tier})" do
      {machine, clock} = clock(clock: :manual, tier: unquote(tier))
      assert Mote.ask!(clock, :units) == {0, 0, 0, 0}
      Mote.advance(machine, 12_345)
      assert Mote.ask!(clock, :units) == {12_345_000_000, 12_345_000, 12_345, 12}
      assert {12_345_000_000, 500_500, 12_345_000_000} = Mote.ask!(clock, {:count, 1_000})
    end

    test "with the system's clock it passes, also within a turn (#{tier})" do
      {machine, clock} = clock(tier: unquote(tier))
      before = Mote.now(machine)
      assert {ns, us, ms, s} = Mote.ask!(clock, :units)
      assert before <= ms and ms <= Mote.now(machine)
      assert div(ns, 1_000) <= us and div(us, 1_000) <= ms and div(ms, 1_000) <= s
      assert {start, 5_000_050_000, stop} = Mote.ask!(clock, {:count, 100_000})
      assert ns < start and start < stop
    end
  end

  test "in the reference it is the reference's" do
    {clock, reference} = Reference.create(Reference.new(), Programs.clock())
    asked = fn reference, request -> Reference.send(reference, clock, {Reference.customer(:c), request}) end

    reference =
      reference
      |> asked.(:units)
      |> Reference.advance(12_345)
      |> asked.(:units)
      |> asked.(:pure)
      |> Reference.run()

    answers = for {_, answer} <- Reference.outside(reference), do: answer

    assert answers == [
             {0, 0, 0, 0},
             {12_345_000_000, 12_345_000, 12_345, 12},
             {12_345_000_000, 12_345_000_000}
           ]
  end

  test "a turn reads the time that it is given, at each reading the same" do
    behaviour = Programs.clock()
    turn = fn message -> Mote.Behaviour.turn(behaviour, {self(), message}, now: 7_123_456_789) end
    assert [{_, {7_123_456_789, 7_123_456, 7_123, 7}}] = turn.(:units).sends
    assert [{_, {7_123_456_789, 1, 7_123_456_789}}] = turn.({:count, 1}).sends
    # And it is the system's again.
    assert Programs.now() != 7_123_456_789
  end

  test "in plain Elixir it counts from the start of the node" do
    before = Programs.now()
    assert is_integer(before) and before > 0
    %{sends: [{_, {ns, us, ms, _}}]} = Mote.Behaviour.turn(Programs.clock(), {self(), :units})
    assert before <= ns and div(ns, 1_000) <= us and div(us, 1_000) <= ms
    assert ns <= Programs.now()
  end
end
