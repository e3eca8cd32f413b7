defmodule Mote.ProvePropertiesTest do
  # What `Mote.Test.prove/3` looks for: what is to be true always, what is to come; and what it says that it has left out.
  use ExUnit.Case, async: true

  import Mote.Proven.Said

  # Turns abort, and the machines say so.
  @moduletag :capture_log

  alias Mote.Proven.Said.Actors

  describe "what is to be true always" do
    # A turn of each that matters: between them, one has it and the other has it too.
    defmodule Tokens do
      use Mote.Behaviour

      defactor holds(n) do
        {:give, other} ->
          send other, :take
          become holds(n - 1)

        :take ->
          become holds(n + 1)
      end
    end

    defp tokens(machine) do
      [a, b] = actors = for n <- [1, 0], do: Mote.create(machine, Tokens.holds(n))
      Mote.send(a, {:give, b})
      actors
    end

    test "is looked at after each turn, over all actors that are named" do
      test = self()
      ref = make_ref()
      look = {& &1, &send(test, {ref, for({:holds, n} <- &1, do: n)})}
      assert {:proved, _} = Mote.Test.prove(&tokens/1, &yes/1, always: look)
      assert Enum.sort(received(ref)) == [[0, 0], [0, 1], [1, 0]]
    end

    test "fails where it is not, by the fewest turns" do
      never_lost = {& &1, fn states -> Enum.sum(for {:holds, n} <- states, do: n) == 1 end}
      assert {:failed, failure} = Mote.Test.prove(&tokens/1, &yes/1, always: never_lost)
      assert {failure.kind, length(failure.turns)} == {:always, 1}
      never_two = {& &1, fn states -> Enum.sum(for {:holds, n} <- states, do: n) <= 1 end}
      assert {:proved, _} = Mote.Test.prove(&tokens/1, &yes/1, always: never_two)
      # Also by none.
      assert {:failed, failure} = Mote.Test.prove(&tokens/1, &yes/1, always: {& &1, fn _ -> false end})
      assert {failure.kind, failure.turns} == {:always, []}
    end

    test "sees what two become in every order, though nobody else does" do
      graph = fn machine ->
        actors = for _ <- 1..2, do: Mote.create(machine, Actors.counts(0))
        for actor <- actors, do: Mote.send(actor, :once)
        actors
      end

      for {unseen, n} <- [{[1, 0], 1}, {[0, 1], 1}, {[1, 1], 2}] do
        look = {& &1, fn states -> for({:counts, n} <- states, do: n) != unseen end}
        assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, always: look)
        assert length(failure.turns) == n
      end
    end

    test "mistakes" do
      assert_raise ArgumentError, ~r/:always/, fn -> Mote.Test.prove(&tokens/1, &yes/1, always: &yes/1) end

      assert_raise ArgumentError, ~r/list of addresses/, fn ->
        Mote.Test.prove(&tokens/1, &yes/1, always: {&hd/1, &yes/1})
      end

      other = Mote.create(start_supervised!(Mote), Tokens.holds(0))

      assert_raise ArgumentError, ~r/actors of the machine/, fn ->
        Mote.Test.prove(&tokens/1, &yes/1, always: {fn _ -> [other] end, &yes/1})
      end
    end
  end

  describe "what is to come" do
    test "is looked for at ends and in circles" do
      graph = fn machine ->
        [a, b] = for _ <- 1..2, do: Mote.create(machine, Actors.ping(0))
        counter = Mote.create(machine, Actors.counts(0))
        Mote.send(a, {:ping, b})
        Mote.send(counter, :once)
        {a, counter}
      end

      counted = fn n -> {fn {_, counter} -> [counter] end, &match?([{:counts, ^n}], &1)} end
      # Round in circles, but the counter's turn comes.
      assert {:proved, %{orders: :infinite}} = Mote.Test.prove(graph, &yes/1, eventually: counted.(1))
      assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, eventually: counted.(2))
      assert {failure.kind, failure.turns} == {:eventually, []}
      # Unless its message gets lost.
      loses = fn {_, counter} -> [counter] end
      assert {:failed, failure} = Mote.Test.prove(graph, &yes/1, eventually: counted.(1), loses: loses)
      assert {:eventually, {:order, [{:lost, 1}]}} = {failure.kind, failure.schedule}
      assert failure.turns == []
    end

    test "may be over" do
      graph = fn machine ->
        counter = Mote.create(machine, Actors.counts(0))
        for _ <- 1..2, do: Mote.send(counter, :once)
        counter
      end

      for {n, result} <- [{0, :proved}, {1, :proved}, {2, :proved}, {3, :failed}] do
        found = Mote.Test.prove(graph, &yes/1, eventually: {&[&1], &match?([{:counts, ^n}], &1)})
        assert elem(found, 0) == result
      end
    end
  end

  describe "what is left out is said:" do
    defp bounded(behaviour, messages, opts \\ []) do
      graph = fn machine ->
        actor = Mote.create(machine, behaviour.(Mote.create(machine, Actors.log([]))))
        for message <- messages, do: Mote.send(actor, message)
      end

      Mote.Test.prove(graph, &yes/1, opts)
    end

    test "states, depth, memory" do
      counts = fn _log -> Actors.counts(0) end
      assert {:bounded, [:states], %{states: states}} = bounded(counts, [:count], states: 100)
      assert states in 100..101
      assert {:bounded, [:depth], %{turns: 50, ends: 0}} = bounded(counts, [:count], depth: 50)
      assert {:bounded, [:memory], _} = bounded(counts, [:count], bytes: 50_000)
    end

    test "time" do
      counts = fn _log -> Actors.counts(0) end

      assert {:bounded, [:timeout], _} =
               bounded(counts, [:count], timeout: 1, depth: 0xFFFFFFF, states: 0xFFFFFFF)
    end

    test "timers for the outside, random numbers, times" do
      assert {:bounded, [:timers], _} = bounded(fn _ -> Actors.later() end, [{:later, self()}])
      assert {:bounded, [:random], _} = bounded(&Actors.dice/1, [:throw])
      assert {:bounded, [:clock], _} = bounded(&Actors.clock/1, [:look])
      # Which none of them sees.
      assert {:proved, _} = bounded(fn _ -> Actors.later() end, [:now])
    end

    test "timers that are set again and again, where that has no last state" do
      ticks = fn machine -> Mote.send(Mote.create(machine, Actors.ticks(0, 1)), :tick) end
      assert {:bounded, [:states, :timers], _} = Mote.Test.prove(ticks, &yes/1, states: 100)
      assert {:bounded, [:depth, :timers], _} = Mote.Test.prove(ticks, &yes/1, depth: 100)
      still = fn machine -> Mote.send(Mote.create(machine, Actors.ticks(0, 0)), :tick) end
      assert {:bounded, [:ends], %{ends: 0}} = Mote.Test.prove(still, &yes/1)
    end

    test "situations that are too large" do
      assert {:bounded, [:size], _} =
               bounded(fn _ -> Actors.door() end, List.duplicate(:knock, 1_001), allow: [:stashed])
    end
  end
end
