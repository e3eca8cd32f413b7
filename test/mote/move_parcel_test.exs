defmodule Mote.MoveParcelTest do
  # Many actors that move together (lib/mote/move/parcel.ex): to each the same is done as by a move of its own.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Eventually

  alias Mote.Error
  alias Mote.Move.Parcel

  defmodule Behaviours do
    @moduledoc false
    use Mote.Behaviour

    # Keeps what comes.
    defactor user(seen) do
      {customer, :seen} -> send customer, Enum.reverse(seen)
      n -> become seen: [n | seen]
    end

    # Takes a while for each.
    defactor slow(seen) do
      {customer, :seen} -> send customer, Enum.reverse(seen)
      n -> become seen: [n + 0 * Enum.sum(1..200) | seen]
    end

    defactor other(seen) do
      {customer, :seen} -> send customer, Enum.reverse(seen)
      n -> become seen: [n | seen]
    end

    # Never becomes another one.
    defactor safe() do
      {customer, :seen} -> send customer, :safe
    end

    # Ignores everything from its first message on.
    defactor ending() do
      :end -> become sink()
    end

    # Is long in its turn, until somebody lets it go on.
    defactor blocking(seen), beam: true do
      {:block, pid, gate} ->
        Kernel.send(pid, :blocks)
        become seen: [Agent.get(gate, & &1, :infinity) | seen]

      {customer, :seen} ->
        send customer, Enum.reverse(seen)
    end
  end

  setup do
    sponsors = [sponsors: [main: [threads: 2], blocking: [beam: true]]]
    {:ok, one} = Mote.start_link(sponsors)
    {:ok, two} = Mote.start_link(sponsors)
    {:ok, three} = Mote.start_link(sponsors)
    %{one: one, two: two, three: three}
  end

  defp machine(address), do: Mote.machine(address).pid

  # What an actor is before it moves, and what comes of it.
  defp actor(:user, n, %{one: one}), do: Mote.create(one, Behaviours.user([n]))
  defp actor(:other, n, %{one: one}), do: Mote.create(one, Behaviours.other([n]))
  defp actor(:safe, _n, %{one: one}), do: Mote.create(one, Behaviours.safe())

  defp actor(:sink, _n, %{one: one}) do
    address = Mote.create(one, Behaviours.ending())
    Mote.send(address, :end)
    :ok = Mote.drain(one)
    address
  end

  defp actor(:moved, n, %{one: one, three: three}) do
    address = Mote.create(one, Behaviours.user([n]))
    {:ok, _} = Mote.move(address, three, timeout: 60_000)
    address
  end

  property "each is moved as by itself, with all that comes before, meanwhile and afterwards, in order",
           context do
    check all(
            kinds <-
              list_of(member_of([:user, :user, :user, :other, :safe, :sink, :moved]),
                min_length: 1,
                max_length: 40
              ),
            before <- integer(0..5),
            max_runs: 40
          ) do
      actors =
        for {kind, n} <- Enum.with_index(kinds), do: {kind, {:first, n}, actor(kind, {:first, n}, context)}

      users = for {kind, n, address} <- actors, kind in [:user, :other, :moved], do: {n, address}
      for k <- 1..before//1, {_, address} <- users, do: Mote.send(address, k)

      sender =
        Task.async(fn ->
          for k <- (before + 1)..(before + 20), {_, address} <- users, do: Mote.send(address, k)
        end)

      {results, bytes} = Parcel.move(for({_, _, address} <- actors, do: address), context.two, [], 60_000)
      Task.await(sender)
      assert is_integer(bytes)

      for {{kind, n, address}, result} <- Enum.zip(actors, results) do
        case kind do
          :moved -> assert result == :alone
          :safe -> assert {:error, %Error{reason: :not_movable, context: %{why: :safe}}} = result
          :sink -> assert {:error, %Error{reason: :not_movable, context: %{why: :sink}}} = result
          _ -> assert {:ok, _} = result
        end

        with {:ok, moved} <- result do
          assert machine(moved) == context.two
          expected = [n | Enum.to_list(1..(before + 20))]
          assert eventually(fn -> length(Mote.ask!(moved, :seen)) == length(expected) end)
          assert Mote.ask!(moved, :seen) == expected
          assert Mote.ask!(address, :seen) == expected
        end

        if kind == :moved, do: assert([^n | _] = Mote.ask!(address, :seen))
      end
    end
  end

  # So much waits for each that it takes a while to send it on.
  test "what had waited has arrived when they have moved", context do
    actors = for n <- 1..5, do: Mote.create(context.one, Behaviours.slow([n]))
    for actor <- actors, do: :ok = Mote.send_many(actor, Enum.to_list(1..20_000))
    {results, _bytes} = Parcel.move(actors, context.two, [], 60_000)
    for {:ok, moved} <- results, do: Mote.send(moved, 20_001)

    for {{:ok, moved}, n} <- Enum.zip(results, 1..5),
        do: assert(Mote.ask!(moved, :seen, 60_000) == [n | Enum.to_list(1..20_001)])
  end

  # No turn asks all of them whether what had waited has arrived. One that is late is left to itself, so until none is.
  @tag capture_log: true
  test "that has arrived is heard from each, however little the machine lets a turn do", context do
    {:ok, short} = Mote.start_link(fuel: 90)

    together? = fn ->
      actors = for n <- 1..100, do: Mote.create(short, Behaviours.user([n]))
      {results, _bytes} = Parcel.move(actors, context.two, [], 60_000)
      Enum.all?(results, &match?({:ok, _}, &1))
    end

    assert eventually(together?)
    %{aborts_fuel: aborts, turns: turns} = Mote.info(short).counters
    assert aborts > 0
    # Each old address has been asked, and each has been heard.
    assert turns >= 2 * 100
  end

  test "one that is in the middle of a turn does not hold up the others, and is left to itself", context do
    slow = Mote.create(context.one, Behaviours.blocking([]), sponsor: :blocking)
    {:ok, gate} = Agent.start_link(fn -> :block end)
    :sys.suspend(gate)
    Mote.send(slow, {:block, self(), gate})
    assert_receive :blocks, 60_000
    others = for n <- 1..10, do: Mote.create(context.one, Behaviours.user([n]))
    {results, _bytes} = Parcel.move([slow | others], context.two, [], 60_000)
    assert [first | moved] = results
    assert match?({:error, %Error{reason: :not_movable, context: %{why: :busy}}}, first) or first == :alone
    assert Enum.all?(moved, &match?({:ok, _}, &1))
    :sys.resume(gate)
    assert Mote.ask!(slow, :seen, 60_000) == [:block]
    {[result], _bytes} = Parcel.move([slow], context.two, [sponsor: :blocking], 60_000)
    assert {:ok, moved} = result
    assert Mote.ask!(moved, :seen) == [:block]
  end

  test "where they cannot be made again, all are what they were", context do
    actors = for n <- 1..20, do: Mote.create(context.one, Behaviours.user([n]))
    Mote.stop(context.three)
    {results, _bytes} = Parcel.move(actors, context.three, [], 60_000)
    assert Enum.all?(results, &match?({:error, %Error{reason: :machine_down}}, &1))
    {results, _bytes} = Parcel.move(actors, context.two, [sponsor: :unknown], 60_000)
    assert Enum.all?(results, &match?({:error, %Error{reason: :unknown_sponsor}}, &1))
    for {actor, n} <- Enum.with_index(actors, 1), do: assert(Mote.ask!(actor, :seen) == [n])
    {results, _bytes} = Parcel.move(actors, context.two, [], 60_000)
    assert Enum.all?(results, &match?({:ok, _}, &1))
  end

  test "as many go as there is memory for", context do
    {:ok, small} = Mote.start_link(memory: 32 * 1024 * 1024)
    large = String.duplicate("large", 200_000)
    actors = for n <- 1..60, do: Mote.create(context.one, Behaviours.user([large <> "#{n}"]))
    {results, _bytes} = Parcel.move(actors, small, [], 60_000)
    {gone, stay} = actors |> Enum.zip(results) |> Enum.split_with(&match?({_, {:ok, _}}, &1))
    assert gone != []
    assert stay != []
    for {_, result} <- stay, do: assert({:error, %Error{reason: :no_memory}} = result)

    for {actor, n} <- Enum.with_index(actors, 1),
        do: assert([text] = Mote.ask!(actor, :seen)) && assert(text == large <> "#{n}")
  end

  test "a machine whose sponsor is full keeps nobody from moving", context do
    {:ok, full} = Mote.start_link(sponsors: [main: [threads: 1, inbox: 5]])
    actors = for n <- 1..50, do: Mote.create(full, Behaviours.user([n]))
    :ok = Mote.pause(full)
    [first | _] = actors

    assert Enum.any?(1..10, fn k ->
             match?({:error, %Error{reason: :overloaded}}, Mote.send(first, k, on_full: :error))
           end)

    moving = Task.async(fn -> Parcel.move(actors, context.two, [], 60_000) end)
    :ok = Mote.resume(full)
    {results, _bytes} = Task.await(moving, 60_000)
    assert Enum.all?(results, &match?({:ok, _}, &1))
  end
end
