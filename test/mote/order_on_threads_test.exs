defmodule Mote.OrderOnThreadsTest.Actors do
  use Mote.Behaviour

  @doc "Numbers what it sends to each of `peers`, in `rounds` turns of its own, and checks the numbers that it gets."
  defactor node(me, peers, left, sent, got, wrong) do
    {:peers, peers} ->
      become peers: peers
      send self(), :go

    :go when left > 0 ->
      become left: left - 1, sent: sent + 2

      for peer <- peers do
        send peer, {:from, me, sent + 1}
        send peer, {:from, me, sent + 2}
      end

      send self(), :go

    :go ->
      :ok

    {:from, sender, n} ->
      expected = Map.get(got, sender, 0) + 1
      become got: Map.put(got, sender, n), wrong: if(n == expected, do: wrong, else: wrong + 1)

    {customer, :read} ->
      send customer, {wrong, got}
  end

  @doc "Passes on what it gets, after some work."
  defactor relay(next, count) do
    message ->
      work = Enum.reduce(1..300, 0, fn i, total -> rem(total * 31 + i, 1_000_003) end)
      if work >= 0, do: send(next, message)
      become count: count + 1
  end

  defactor log(entries) do
    {customer, :entries} -> send customer, Enum.reverse(entries)
    entry -> become log([entry | entries])
  end

  defactor source(target, n) do
    _ -> for i <- 1..n, do: send(target, i)
  end

  defactor elsewhere(target, n) do
    _ -> for i <- 1..n, do: sendx(:other, target, i)
  end

  @doc """
  One of a ring. Once started, it sends a number, counting down, to its neighbours, each when both have sent it theirs before. Tells
  `judge` what came out of order, or at the end that nothing did. Both neighbours may have started before it has.

  So threads have little to do at a time: they fall asleep, and are relieved of their actors, again and again.
  """
  defactor neighbour(phase, left, early, got, neighbours, judge) do
    {:neighbours, neighbours} ->
      become neighbours: neighbours

    :start when early == 2 ->
      for neighbour <- neighbours do
        send neighbour, {self(), phase - 1}
        send neighbour, {self(), phase - 2}
      end

      become phase: phase - 2, left: 2, early: 0

    :start ->
      for neighbour <- neighbours, do: send(neighbour, {self(), phase - 1})
      become phase: phase - 1, left: 2 - early, early: 0

    {from, number} when is_map_key(got, from) and :erlang.map_get(from, got) != number + 1 ->
      send judge, {:overtaken, :erlang.map_get(from, got) - 1, :by, number}

    {from, number} when number < phase ->
      become early: early + 1, got: Map.put(got, from, number)

    {from, number} when left > 1 ->
      become left: left - 1, got: Map.put(got, from, number)

    {_from, 1} ->
      send judge, :in_order

    {from, number} ->
      for neighbour <- neighbours, do: send(neighbour, {self(), number - 1})
      become phase: number - 1, left: 2 - early, early: 0, got: Map.put(got, from, number)
  end

  @doc "Two turns of one sender, and a third party that was told in between."
  defactor teller(log, friend) do
    _ ->
      send log, :first
      send friend, :tell
      send log, :second
  end

  defactor friend(log) do
    _ -> send log, :friend
  end

  defactor own(log, steps) do
    :begin ->
      send self(), 1
      send self(), 2
      send self(), 3

    step when length(steps) == 2 ->
      send log, Enum.reverse([step | steps])

    step ->
      become steps: [step | steps]
  end
end

defmodule Mote.OrderOnThreadsTest do
  use ExUnit.Case, async: true

  alias Mote.OrderOnThreadsTest.Actors

  @long Mote.Long.long?()

  # How many messages came out of order, of how many.
  defp disorder(sponsors, {actors, degree, rounds}, opts \\ []) do
    {:ok, machine} = Mote.start_link([sponsors: sponsors] ++ Keyword.take(opts, [:gc]))
    during = Keyword.get(opts, :during, fn _ -> :ok end)
    pins = Keyword.get(opts, :pins, [nil])

    nodes =
      for me <- 1..actors do
        pin = Enum.at(pins, rem(me, length(pins)))
        Mote.create(machine, Actors.node(me, [], rounds, 0, %{}, 0), if(pin, do: [sponsor: pin], else: []))
      end

    for {node, me} <- Enum.with_index(nodes) do
      peers = for k <- 1..degree, do: Enum.at(nodes, rem(me * 7 + k * k * 13 + :rand.uniform(actors), actors))
      Mote.send(node, {:peers, Enum.uniq(peers)})
    end

    during.(machine)
    :ok = Mote.drain(machine, 60_000)
    results = for node <- nodes, do: Mote.ask!(node, :read)
    Mote.stop(machine)
    for {_, got} <- results, {_, last} <- got, do: assert(last == 2 * rounds)
    results |> Enum.map(&elem(&1, 0)) |> Enum.sum()
  end

  @graphs [{10, 3, 500}, {100, 5, 100}, {1_000, 3, 25}, {3_000, 2, 10}]

  for threads <- [2, 3, 4, 8] do
    test "what an actor sends to another keeps its order on #{threads} threads" do
      for graph <- @graphs, _ <- 1..if(@long, do: 100, else: 2) do
        assert disorder([main: [threads: unquote(threads)]], graph) == 0
      end
    end
  end

  test "also when threads fall asleep again and again" do
    size = 1_000

    for _ <- 1..if(@long, do: 500, else: 25) do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2]])
      ring = for _ <- 1..size, do: Mote.create(machine, Actors.neighbour(301, 0, 0, %{}, [], self()))
      around = Enum.zip([ring, tl(ring) ++ [hd(ring)], [List.last(ring) | ring]])
      for {actor, next, last} <- around, do: Mote.send(actor, {:neighbours, [next, last]})
      :ok = Mote.drain(machine, 60_000)
      for actor <- ring, do: Mote.send(actor, :start)

      for _ <- ring do
        assert_receive answer, 60_000
        assert answer == :in_order
      end

      Mote.stop(machine)
    end
  end

  test "also for pinned actors, in and between sponsors" do
    for graph <- @graphs do
      sponsors = [main: [threads: 3], other: [threads: 2], third: [threads: 1]]
      assert disorder(sponsors, graph, pins: [:main, :other, :third]) == 0
    end
  end

  test "also between actors that are not pinned and those of a beam sponsor" do
    for threads <- [1, 3], graph <- [{10, 3, 60}, {100, 3, 10}] do
      sponsors = [main: [threads: threads], io: [beam: true, max_concurrency: 4]]
      assert disorder(sponsors, graph, pins: [nil, :io, nil]) == 0
    end
  end

  test "also when sponsors come and go" do
    guests = fn machine ->
      for n <- 1..10 do
        :ok = Mote.add_sponsor(machine, :guest, threads: 2)
        echo = Mote.create(machine, Actors.node(0, [], 50, 0, %{}, 0))
        Mote.send(echo, {:peers, [echo]}, sponsor: :guest)
        if rem(n, 2) == 0, do: Process.sleep(1)
        :ok = Mote.remove_sponsor(machine, :guest)
      end
    end

    for graph <- @graphs, do: assert(disorder([main: [threads: 3]], graph, during: guests) == 0)
  end

  test "also from a process, when the sponsor that its messages enter by is removed" do
    {:ok, machine} = Mote.start_link()

    for n <- 1..150 do
      :ok = Mote.add_sponsor(machine, :guest, threads: 1)
      relay = Mote.create(machine, Actors.relay(self(), 0), sponsor: :guest)

      sender =
        Task.async(fn ->
          for i <- 1..500, do: :ok = Mote.send(relay, {n, i})
          for part <- Enum.chunk_every(501..1_000, 20), do: Mote.send_many(relay, Enum.map(part, &{n, &1}))
        end)

      assert_receive {^n, 1}, 60_000
      :ok = Mote.remove_sponsor(machine, :guest)
      Task.await(sender, 60_000)

      for i <- 2..1_000 do
        assert_receive {^n, next}, 60_000
        assert {n, next} == {n, i}
      end
    end
  end

  for threads <- [1, 2, 4] do
    test "a chain passes on in order what one turn sends, on #{threads} threads" do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: unquote(threads)]])
      log = Mote.create(machine, Actors.log([]))
      first = Enum.reduce(1..3, log, fn _, next -> Mote.create(machine, Actors.relay(next, 0)) end)
      Mote.send(Mote.create(machine, Actors.source(first, 5_000)), :go)
      :ok = Mote.drain(machine, 60_000)
      assert Mote.ask!(log, :entries) == Enum.to_list(1..5_000)
    end

    test "a process gets in order what an actor sends, and an actor what a process sends, on #{threads} threads" do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: unquote(threads)]])
      relays = for _ <- 1..50, do: Mote.create(machine, Actors.relay(self(), 0))
      for n <- 1..200, {relay, r} <- Enum.with_index(relays), do: Mote.send(relay, {r, n})
      :ok = Mote.drain(machine, 60_000)

      for r <- 0..49, n <- 1..200 do
        assert_receive {^r, next}
        assert next == n
      end
    end
  end

  test "what goes to another sponsor keeps its order" do
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2], other: [threads: 3]])

    for _ <- 1..20 do
      log = Mote.create(machine, Actors.log([]))
      Mote.send(Mote.create(machine, Actors.elsewhere(log, 500)), :go)
      :ok = Mote.drain(machine, 60_000)
      assert Mote.ask!(log, :entries) == Enum.to_list(1..500)
    end
  end

  describe "every order that a seed can choose" do
    test "keeps what one sends to another, and what one sends to itself" do
      told = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        Mote.send(Mote.create(machine, Actors.teller(log, Mote.create(machine, Actors.friend(log)))), :go)
        log
      end

      Mote.Test.explore(told, &(Mote.ask!(&1, :entries) -- [:friend] == [:first, :second]))

      stepped = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        for _ <- 1..3, do: Mote.send(Mote.create(machine, Actors.own(log, [])), :begin)
        log
      end

      Mote.Test.explore(stepped, &(Mote.ask!(&1, :entries) == List.duplicate([1, 2, 3], 3)))
    end

    test "leaves open in which order those of different senders come" do
      told = fn machine ->
        log = Mote.create(machine, Actors.log([]))
        Mote.send(Mote.create(machine, Actors.teller(log, Mote.create(machine, Actors.friend(log)))), :go)
        log
      end

      for order <- [[:friend, :first, :second], [:first, :friend, :second], [:first, :second, :friend]] do
        assert_raise Mote.Test.Failure, fn -> Mote.Test.explore(told, &(Mote.ask!(&1, :entries) != order)) end
      end
    end
  end
end
