defmodule Mote.FarScheduleTest do
  # Random schedules of sends, drops, moves and collections on three real nodes, with a model of who holds what. Nothing is
  # delivered twice, nothing is lost, what somebody holds is not collected, and what nobody holds is. `MOTE_LONG=1` runs two
  # hundred of them. test/support/far_schedule.ex says what each node does; test/support/far_world.ex simulates hundreds of nodes.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.FarSchedule, only: [at: 2, at: 3]

  alias Mote.Mesh

  @moduletag skip: Mesh.missing()

  # The last of the few is one in which a thread kept the address that it had sent to last.
  @seeds if Mote.Long.long?(), do: 1..200, else: 27..32
  @steps 60

  @kinds ~w(create tokens tokens take take take give give relay relay forget drop drop move move moved collect check)a

  setup_all do
    {:ok, nodes} = Mesh.start(["one", "two", "three"])
    for node <- nodes, do: :ok = at(node, :start)
    %{nodes: List.to_tuple(nodes), empty: for(node <- nodes, do: at(node, :collect))}
  end

  # `addresses` by number: the node, the actor, and the next address, if the actor has moved. `kept`: which addresses an actor
  # keeps, by number of their own. `held`: `{node, address}`. `empty`: how many actors each machine has without all of these.
  defp world(%{nodes: nodes, empty: empty}) do
    none = %{addresses: %{}, now: %{}, kept: %{}, held: MapSet.new(), moves: [], tokens: %{}, next: 0}
    Map.merge(none, %{nodes: nodes, empty: empty})
  end

  test "what is held lives and gets everything once; what is not held is collected",
       %{nodes: nodes} = context do
    for seed <- @seeds do
      :rand.seed(:exsss, {seed, 7, 7})
      world = Enum.reduce(1..@steps, world(context), fn _, world -> step(Enum.random(@kinds), world) end)
      world = end_moves(world)
      settled!(world, seed)
      drop_all(world)
      settled!(%{world | held: MapSet.new()}, seed)
    end

    assert eventually(fn ->
             Enum.each(Tuple.to_list(nodes), &at(&1, :collect))
             Enum.all?(Tuple.to_list(nodes), &(at(&1, :listed) == 0))
           end)
  end

  # -- steps ---------------------------------------------------------------------------------------------------

  defp step(kind, %{held: held} = world) do
    cond do
      kind == :create or Enum.empty?(held) -> create(world, Enum.random(0..2))
      kind in [:moved, :collect, :check] -> of_all(kind, world)
      true -> with_one(kind, Enum.random(held), world)
    end
  end

  defp create(world, node) do
    {n, world} = number(world)
    :ok = run(world, node, {:create, n})
    world = put_in(world.kept[n], %{})
    world = put_in(world.tokens[n], [])
    world |> known(n, node, n) |> holds(node, n)
  end

  defp with_one(:tokens, {node, n}, world) do
    actor = world.addresses[n].actor
    {first, world} = number(world)
    tokens = for k <- 1..Enum.random(1..20), do: {node, n, first, k}
    :ok = run(world, node, {:tokens, n, tokens})
    update_in(world.tokens[actor], &(tokens ++ &1))
  end

  # Actors keep older ones only: a cycle over nodes is not collected.
  defp with_one(:take, {node, n}, world) do
    actor = world.addresses[n].actor
    others = for {^node, other} <- world.held, world.addresses[other].actor < actor, do: other

    if others == [] do
      world
    else
      other = Enum.random(others)
      {number, world} = number(world)
      :ok = run(world, node, {:take, n, number, other})
      # Often it is let go while it is on its way.
      world = put_in(world.kept[actor][number], other)
      if Enum.random([true, false]), do: with_one(:drop, {node, other}, world), else: world
    end
  end

  defp with_one(kind, {node, n}, world) when kind in [:give, :relay, :forget] do
    actor = world.addresses[n].actor

    case Enum.to_list(world.kept[actor]) do
      [] -> world
      kept -> of_kept(kind, {node, n}, {actor, Enum.random(kept)}, world)
    end
  end

  defp with_one(:drop, {node, n}, world) do
    :ok = run(world, node, {:drop, n})
    update_in(world.held, &MapSet.delete(&1, {node, n}))
  end

  defp with_one(:move, {node, n}, world) do
    actor = world.addresses[n].actor

    if Enum.any?(world.moves, &(&1.actor == actor)) do
      world
    else
      {new, world} = number(world)
      to = Enum.random(0..2)
      :ok = run(world, node, {:move, n, new, name(world, to)})
      %{world | moves: [%{actor: actor, by: node, from: n, new: new, to: to} | world.moves]}
    end
  end

  defp of_kept(:forget, {node, n}, {actor, {number, _}}, world) do
    :ok = run(world, node, {:forget, n, number})
    update_in(world.kept[actor], &Map.delete(&1, number))
  end

  # What an actor has been told to take may be on its way.
  defp of_kept(:relay, {node, n}, {_actor, {number, other}}, world) do
    {token, world} = number(world)

    if run(world, node, {:relay, n, number, token}),
      do: update_in(world.tokens[world.addresses[other].actor], &[token | &1]),
      else: world
  end

  defp of_kept(:give, {node, n}, {_actor, {number, other}}, world),
    do: if(run(world, node, {:give, n, number, other}), do: holds(world, node, other), else: world)

  defp of_all(:moved, %{moves: []} = world), do: world
  defp of_all(:moved, %{moves: moves} = world), do: end_move(world, Enum.random(moves))

  defp of_all(:collect, world) do
    at(elem(world.nodes, Enum.random(0..2)), :collect)
    world
  end

  defp of_all(:check, world) do
    got(world)
    world
  end

  defp end_moves(world), do: Enum.reduce(world.moves, world, &end_move(&2, &1))

  defp end_move(world, %{actor: actor, by: node, new: new, to: to} = move) do
    assert eventually(fn -> run(world, node, {:moved?, new}) end)
    world = put_in(world.addresses[world.now[actor]].next, new)
    %{world | moves: List.delete(world.moves, move)} |> known(new, to, actor) |> holds(node, new)
  end

  defp number(%{next: next} = world), do: {next, %{world | next: next + 1}}

  defp known(world, n, node, actor) do
    world = put_in(world.addresses[n], %{node: node, actor: actor, next: nil})
    put_in(world.now[actor], n)
  end

  defp holds(world, node, n), do: update_in(world.held, &MapSet.put(&1, {node, n}))

  defp name(world, node), do: elem(elem(world.nodes, node), 1)

  defp run(world, node, step), do: at(elem(world.nodes, node), :step, [step])

  defp drop_all(world), do: for({node, n} <- world.held, do: :ok = run(world, node, {:drop, n}))

  # -- what must hold ------------------------------------------------------------------------------------------

  # By its holders, through what is kept and where actors have moved to.
  defp reachable(world) do
    roots = for {_, n} <- world.held, do: n
    moving = for %{from: n} <- world.moves, do: n
    reach(roots ++ moving, MapSet.new(), world)
  end

  defp reach([], seen, _world), do: seen

  defp reach([n | rest], seen, world) do
    if n in seen do
      reach(rest, seen, world)
    else
      %{next: next, actor: actor} = world.addresses[n]
      further = if next, do: [next], else: Map.values(world.kept[actor])
      reach(further ++ rest, MapSet.put(seen, n), world)
    end
  end

  # How each address that is held or kept is found: `{node, address that is held, numbers}`, and its actor. `nil` where it may
  # be on its way still.
  defp paths(world) do
    held = for {node, n} <- world.held, do: {{node, n, []}, world.addresses[n].actor}
    further(held, held, MapSet.new(), world)
  end

  defp further([], paths, _seen, _world), do: paths

  defp further([{{node, n, path}, actor} | rest], paths, seen, world) do
    if actor in seen do
      further(rest, paths, seen, world)
    else
      kept =
        for {number, other} <- world.kept[actor],
            do: {{node, n, path ++ [number]}, world.addresses[other].actor}

      further(kept ++ rest, kept ++ paths, MapSet.put(seen, actor), world)
    end
  end

  # What all actors that are held or kept have got. A question to one that was collected fails.
  defp got(world) do
    for {node, found} <- Enum.group_by(paths(world), fn {{node, _, _}, _} -> node end),
        looks = for({{_, n, path}, _} <- found, do: {n, path}),
        {{_, actor}, tokens} <- Enum.zip(found, run(world, node, {:look, looks})),
        do: {actor, tokens}
  end

  # How many actors each machine should have.
  defp expected(world) do
    nodes = Enum.frequencies(for n <- reachable(world), do: world.addresses[n].node)
    for {empty, node} <- Enum.with_index(world.empty), do: empty + Map.get(nodes, node, 0)
  end

  # Nothing tells when all has arrived.
  defp settled!(world, seed) do
    expected = expected(world)

    assert eventually(fn ->
             got = got(world)
             for {actor, [_ | _] = tokens} <- got, do: once_in_order!(tokens, actor, seed)

             all? =
               Enum.all?(got, fn {actor, tokens} ->
                 tokens && length(tokens) == length(world.tokens[actor])
               end)

             all? and for(node <- Tuple.to_list(world.nodes), do: at(node, :collect)) == expected
           end)

    for {actor, tokens} <- got(world),
        do: assert(Enum.sort(tokens) == Enum.sort(world.tokens[actor]), "schedule #{seed}")
  end

  # What one node has sent by one address comes in order.
  defp once_in_order!(tokens, n, seed) do
    assert tokens == Enum.uniq(tokens), "#{n} of schedule #{seed} got something twice"

    for {_way, sent} <-
          Enum.group_by(for({_, _, _, _} = token <- tokens, do: token), &{elem(&1, 0), elem(&1, 1)}),
        do: assert(sent == Enum.sort(sent), "#{n} of schedule #{seed} got something out of order")
  end
end
