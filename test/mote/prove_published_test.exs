defmodule Mote.ProvePublishedTest do
  # More algorithms that others have published: each holds in every order, and a mistake that is planted in it is found by the fewest turns.
  # Larger sizes with `MOTE_LONG=1` (bin/prove).
  use ExUnit.Case, async: true

  @moduletag :capture_log

  alias Mote.Outbox
  alias Mote.Proven.{Classics, Elections, Registers}

  @long Mote.Long.long?()
  @large [states: 20_000_000, bytes: 4_000_000_000, timeout: 3_600_000]

  defp yes(_), do: true

  defp proved(graph, property, opts \\ []) do
    assert {:proved, counts} = Mote.Test.prove(graph, property, opts ++ @large)
    counts
  end

  defp failed(graph, property, opts \\ []) do
    assert {:failed, failure} = Mote.Test.prove(graph, property, opts ++ @large)
    failure
  end

  test "a register of several servers is linearizable, unless one answer is taken for a majority" do
    seen = &(&1 |> Outbox.take() |> Registers.linearizable?())
    assert proved(&Registers.abd(&1, 2, 1), seen).ends > 0
    assert proved(&Registers.abd(&1, 2, 2), seen).ends > 1
    failure = failed(&Registers.abd(&1, 2, 2, wrong: true), seen)
    assert failure.kind == :property
  end

  test "what is linearizable" do
    write = fn n -> [{:begin, n, {:write, n}}, {:end, n, :written}] end
    read = fn n, value -> [{:begin, n, :read}, {:end, n, {:read, value}}] end
    assert Registers.linearizable?(write.(1) ++ read.(2, 1))
    refute Registers.linearizable?(write.(1) ++ read.(2, nil))
    refute Registers.linearizable?(write.(1) ++ write.(2) ++ read.(1, 1))
    # While another writes, both may be read, but not the older one last.
    [begin, over] = write.(1)
    assert Registers.linearizable?([begin] ++ read.(2, nil) ++ read.(3, 1) ++ [over])
    refute Registers.linearizable?([begin] ++ read.(2, 1) ++ read.(3, nil) ++ [over])
  end

  test "Raft elects one leader for each term, unless votes are forgotten" do
    one = [always: {& &1, &Elections.one_for_each_term?/1}]
    nodes = if @long, do: [1, 1, 1], else: [1, 1, 0]
    assert proved(&Elections.raft(&1, nodes), &yes/1, one).ends > 1
    failure = failed(&Elections.raft(&1, [1, 1, 0], wrong: true), &yes/1, one)
    assert failure.kind == :always
    # Three who are told who the others are; two who hear nothing, a voter for both, and both hear of it.
    assert length(failure.turns) == 3 + 2 + 2 + 2
  end

  test "a barber serves all customers, unless he sleeps while some wait" do
    all = fn n -> &(Outbox.take(&1) == List.duplicate(:done, n)) end
    for n <- if(@long, do: 1..4, else: 1..3), do: proved(&Classics.barber(&1, n, 1), all.(n))
    failure = failed(&Classics.barber(&1, 2, 1, wrong: true), all.(2))
    assert failure.kind == :property
  end

  test "smokers smoke one by one, unless nobody waits for them" do
    one_by_one? = &(&1 |> Outbox.take() |> Classics.one_by_one?())
    for n <- 1..if(@long, do: 5, else: 3), do: proved(&Classics.smokers(&1, n), one_by_one?)
    assert failed(&Classics.smokers(&1, 2, wrong: true), one_by_one?).kind == :property
  end

  test "accounts that give to each other keep the sum, unless each waits for the other" do
    sum? = fn accounts -> Enum.sum(for account <- accounts, do: Mote.ask!(account, :balance)) == 200 end
    for n <- 1..if(@long, do: 3, else: 2), do: proved(&Classics.transfers(&1, n), sum?)
    assert failed(&Classics.transfers(&1, 1, wrong: true), sum?).kind in [:unanswered, :stashed]
  end

  test "locking in two phases: transactions come one after the other, and take locks in one order" do
    four? = &(Mote.ask!(&1, :value) == 4)
    proved(&Classics.doubling/1, four?)
    assert failed(&Classics.doubling(&1, wrong: true), four?).kind == :property
    sums? = fn locks -> for(lock <- locks, do: Mote.ask!(lock, :value)) == [1, 12] end
    proved(&Classics.adding/1, sums?)
    assert failed(&Classics.adding(&1, wrong: true), &yes/1).kind == :stashed
  end
end
