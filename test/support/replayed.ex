defmodule Mote.Replayed do
  @moduledoc """
  Random programs for tests of recordings: actors that do what they are told, with all that only a recording could tell again. What they
  are told follows from a seed.
  """

  use Mote.Behaviour

  # `seen`: what it has drawn and read, the latest first.
  defactor node(peers, seen) do
    {:meet, peer} ->
      become node([peer | peers], seen)

    {:walk, 0} ->
      become node(peers, [{:end, System.monotonic_time(:millisecond)} | Enum.take(seen, 5)])

    {:walk, steps} ->
      draw = :rand.uniform(1_000_000)
      send pick([self() | peers], draw), {:walk, steps - 1}
      become node(peers, [draw | Enum.take(seen, 5)])

    {:spread, 0} ->
      become node(peers, [:leaf | Enum.take(seen, 5)])

    {:spread, depth} ->
      child = create(node([self()], []))
      send child, {:spread, depth - 1}
      send pick(peers, depth), {:spread, depth - 1}
      become node(Enum.take([child | peers], 4), seen)

    {:later, ms, message} ->
      send_after ms, self(), message

    {:abort, why} ->
      create(node([], [why]))
      abort(why)

    {:tell, process, what} ->
      send process, {what, :rand.uniform(), seen}

    {:give, process} ->
      child = create(node([self()], [:given]))
      send process, {:given, child}
      become node([child | peers], seen)

    {customer, {:draw, n}} ->
      draw = :rand.uniform(n)
      send customer, draw
      become node(peers, [draw | Enum.take(seen, 5)])
  end

  defactor keeping(messages) do
    message -> become keeping([message | messages])
  end

  # All that asked it, the latest first, with what it has drawn for them: the order in which they came.
  defactor booked(entries) do
    {customer, entry} ->
      send customer, length(entries)
      become booked([{entry, :rand.uniform(1_000), System.monotonic_time(:millisecond)} | entries])
  end

  defdirectory nodes() do
    key -> node([], [key])
  end

  defpurep pick(list, n), do: Enum.at(list, rem(n, length(list)))

  # Sends to another after each turn, for as long as it is told to.
  defactor runner(next, turns) do
    {:run, 0} ->
      become runner(next, turns + 1)

    {:run, n} ->
      send next, {:run, n - 1}
      become runner(next, turns + 1)

    {:next, next} ->
      become runner(next, turns)
  end

  @doc "Does so many things to a recorded machine, by a seed; the actors of it that the calling process knows."
  def act(machine, seed, steps) do
    :rand.seed(:exsss, {seed, 1, 2})
    nodes = Mote.Directory.start(machine, nodes())

    Enum.reduce(1..steps, [Mote.create(machine, node([], []))], fn n, actors ->
      step(machine, nodes, actors, n)
    end)
  end

  defp step(machine, nodes, actors, n) do
    actor = Enum.random(actors)

    case :rand.uniform(10) do
      1 ->
        new = Mote.create(machine, node(Enum.take_random(actors, 2), [n]))
        Mote.send(actor, {:meet, new})
        [new | actors]

      2 ->
        Mote.send_many(actor, for(k <- 1..20, do: {:walk, k}))
        actors

      3 ->
        Mote.send(actor, {:spread, :rand.uniform(5)})
        actors

      4 ->
        Mote.send(actor, {:later, :rand.uniform(3) - 1, {:walk, 3}})
        actors

      5 ->
        Mote.send(actor, {:abort, n})
        actors

      6 ->
        Mote.send(actor, {:tell, self(), n})
        actors

      7 ->
        Mote.Directory.ask!(nodes, {:key, rem(n, 5)}, {:draw, 100})
        actors

      8 ->
        Mote.ask!(actor, {:draw, 1_000_000})
        actors

      9 ->
        Mote.send(actor, {:give, self()})
        actors

      10 ->
        if length(actors) > 3, do: Mote.release(actor)
        if length(actors) > 3, do: List.delete(actors, actor), else: actors
    end
  end
end
