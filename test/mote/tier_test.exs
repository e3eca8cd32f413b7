defmodule Mote.TierTest do
  # Who runs behaviours: native code or the interpreter.
  use ExUnit.Case, async: true

  alias Mote.Generators

  defmodule Sums do
    use Mote.Behaviour, errors: :undefined

    defpure sum(0, acc), do: acc
    defpure sum(n, acc), do: sum(n - 1, acc + n)

    defpure deep(0), do: 0
    defpure deep(n), do: 1 + deep(n - 1)

    defactor summer do
      {customer, {:sum, n}} -> send customer, sum(n, 0)
      {customer, {:deep, n}} -> send customer, deep(n)
    end
  end

  defmodule Clock do
    use Mote.Behaviour, errors: :undefined

    # Of primitives that take nothing.
    defpure now(), do: System.monotonic_time(:millisecond)
    defpure lucky(), do: :rand.uniform()

    defactor clock do
      {customer, :now} -> send customer, {now(), lucky()}
    end
  end

  defp start(tier) do
    machine = start_supervised!({Mote, tier: tier, id: make_ref()})
    {:ok, native} = Generators.load(machine, Sums)
    {machine, native}
  end

  defp turns(machine), do: Map.take(Mote.info(machine).counters, [:turns, :interpreted, :aborts_stack])

  test "native code is the default, and runs what is compiled" do
    machine = start_supervised!({Mote, id: make_ref()})
    {:ok, native} = Generators.load(machine, Sums)
    summer = Mote.create(machine, Sums.summer())
    assert {:ok, 500_500} = Mote.ask(summer, {:sum, 1_000})

    if native.tier == :native do
      assert %{compiled: compiled, refused: 0, pending: 0, bytes: bytes} = native

      assert compiled >= 3 and bytes > 0 and native.compile >= native.longest_compile and
               native.longest_compile > 0

      assert %{interpreted: 0} = turns(machine)
    end
  end

  test "what was compiled for one machine is there at once for the next" do
    {machine, native} = start(:native)
    :ok = Mote.stop(machine)

    if native.tier == :native do
      next = start_supervised!({Mote, id: make_ref()})
      :ok = Mote.load(next, Sums)
      assert %{pending: 0, refused: 0} = at_once = Mote.info(next).native
      assert {at_once.compiled, at_once.bytes} == {native.compiled, native.bytes}
      assert {:ok, 500_500} = Mote.ask(Mote.create(next, Sums.summer()), {:sum, 1_000})
      assert %{turns: 1, interpreted: 0} = turns(next)
    end
  end

  test "calls of functions that take nothing are compiled" do
    machine = start_supervised!({Mote, id: make_ref()})
    {:ok, native} = Generators.load(machine, Clock)
    clock = Mote.create(machine, Clock.clock())
    assert {:ok, {now, lucky}} = Mote.ask(clock, :now)
    assert is_integer(now) and lucky >= 0 and lucky < 1
    if native.tier == :native, do: assert(%{interpreted: 0} = turns(machine))
  end

  test "the interpreter runs all when asked to" do
    {machine, native} = start(:interp)
    assert %{tier: :interp, compiled: 0, pending: 0, bytes: 0} = native
    summer = Mote.create(machine, Sums.summer())
    assert {:ok, 500_500} = Mote.ask(summer, {:sum, 1_000})
    assert %{turns: n, interpreted: n} = turns(machine)
  end

  @tag :capture_log
  test "calls nest as deep on both tiers" do
    for tier <- [:native, :interp] do
      {machine, _} = start(tier)
      summer = Mote.create(machine, Sums.summer())
      # One call of the behaviour, and as many of the function.
      assert {:ok, 99_999} = Mote.ask(summer, {:deep, 99_999})
      Mote.send(summer, {self(), {:deep, 100_000}})
      assert {:ok, 1} = Mote.ask(summer, {:sum, 1})
      assert %{aborts_stack: 1} = turns(machine)
    end
  end

  test "anything else is refused" do
    assert_raise ArgumentError, ~r/:tier to be :native .* or :interp/, fn -> Mote.start_link(tier: :fast) end
  end
end
