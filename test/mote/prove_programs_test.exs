defmodule Mote.ProveProgramsTest do
  # Algorithms that others have published and proved, as behaviours: each holds in every order, and a mistake that is planted in it is
  # found by the fewest turns. Larger sizes with `MOTE_LONG=1` (bin/prove).
  use ExUnit.Case, async: true

  @moduletag :capture_log

  alias Mote.Proven.{Agreement, Commit, Exclusion, Philosophers}

  @long Mote.Long.long?()

  @large [states: 20_000_000, bytes: 4_000_000_000, timeout: 3_600_000]

  defp yes(_), do: true

  defp failed(graph, opts) do
    {property, opts} = Keyword.pop(opts, :property, &yes/1)
    assert {:failed, failure} = Mote.Test.prove(graph, property, opts)
    failure
  end

  describe "mutual exclusion" do
    test "by Peterson's algorithm" do
      alone = [always: {& &1, &Exclusion.alone?/1}]
      # Whoever waits asks again and again: so some orders have no end.
      assert {:proved, %{orders: :infinite}} = Mote.Test.prove(&Exclusion.peterson/1, &yes/1, alone)
      failure = failed(&Exclusion.peterson(&1, wrong: true), alone)
      assert failure.kind == :always
      assert length(failure.turns) == 16
    end

    test "by Lamport's bakery" do
      alone = [always: {& &1, &Exclusion.alone?/1}]
      assert {:proved, %{orders: :infinite}} = Mote.Test.prove(&Exclusion.bakery(&1, 2), &yes/1, alone)
      failure = failed(&Exclusion.bakery(&1, 2, wrong: true), alone)
      assert failure.kind == :always
    end

    test "lets everybody through, some time" do
      through = [eventually: {& &1, &Exclusion.through?/1}]
      assert {:proved, _} = Mote.Test.prove(&Exclusion.peterson/1, &yes/1, through)
      # Somebody who is never told to go.
      idle = fn machine ->
        Exclusion.peterson(machine) ++ [Mote.create(machine, Exclusion.Register.register(0))]
      end

      failure = failed(idle, through)
      assert failure.kind == :eventually
    end
  end

  describe "agreement" do
    test "a register with one copy, and with two" do
      # Who has written reads what is there since.
      own = fn clients ->
        seen = for client <- clients, do: Mote.ask!(client, :seen)
        Enum.all?(seen, &(&1 in 1..length(clients))) and (length(clients) > 1 or seen == [1])
      end

      for clients <- 1..if(@long, do: 5, else: 3) do
        assert {:proved, _} = Mote.Test.prove(&Agreement.register(&1, clients, 1), own)
      end

      failure = failed(&Agreement.register(&1, 2, 2), property: own)
      assert failure.kind == :property
      # In a run of that many turns the first client reads the copy that the second has not written yet.
      assert length(failure.turns) == 10
    end

    test "two-phase commit, of more resource managers" do
      for n <- if(@long, do: [3, 5, 7], else: [3]) do
        assert {:proved, _} = Mote.Test.prove(&Commit.transaction(&1, n, n), &yes/1, @large)
      end
    end

    test "Paxos chooses one value, unless acceptors forget what they have promised" do
      agreed = [always: {&[&1], &Agreement.agreed?/1}] ++ @large
      assert {:proved, %{ends: ends}} = Mote.Test.prove(&Agreement.paxos(&1, 3, 1), &yes/1, agreed)
      assert ends > 0

      # Two clients.
      assert {:proved, %{ends: ends}} = Mote.Test.prove(&Agreement.paxos(&1, 3, 2), &yes/1, agreed)
      assert ends > 1

      failure = failed(&Agreement.paxos(&1, 3, 2, wrong: true), agreed)
      assert failure.kind == :always
    end

    test "a letter arrives over a line that loses, if it is sent again" do
      opts = [
        loses: fn {line, _box} -> [line] end,
        doubles: fn {line, _box} -> [line] end,
        eventually: {fn {_line, box} -> [box] end, &match?([{:box, 1}], &1)},
        states: 10_000,
        allow: [:ignored]
      ]

      # Nobody knows how many letters are on the way: so there is no last state.
      assert {:bounded, [:states], _} = Mote.Test.prove(&Agreement.letter/1, &yes/1, opts)
      failure = failed(&Agreement.letter(&1, wrong: true), opts)
      assert {failure.kind, failure.schedule} == {:eventually, {:order, [0, {:lost, 0}]}}
    end
  end

  test "philosophers with a waiter, and without" do
    n = if @long, do: 5, else: 3

    assert {:proved, %{ends: 1}} = Mote.Test.prove(&Philosophers.table(&1, n, n - 1), &yes/1, @large)

    assert failed(&Philosophers.table(&1, n, nil), []).kind == :stashed
  end
end
