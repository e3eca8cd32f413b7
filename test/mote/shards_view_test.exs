defmodule Mote.ShardsViewTest do
  # The members of shards without processes: hundreds of simulated nodes come, go, die and lose sight of nobody, while what they
  # say is slow and may come in any order between different nodes. A link is a queue.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Shards.Rule.Plain
  alias Mote.Shards.View

  # Keys are their hashes. Each node has those that it has started or got; `asks` is what a key's first message does at a node: it
  # starts the key there, if that is allowed.
  defp world(count) do
    nodes = for n <- 1..count, do: {:"n#{n}", n}

    %{
      all: nodes,
      # Those that take part, each with its view and its keys; what each knows of the others.
      up: %{},
      links: %{},
      keys: Enum.map(1..24, &Plain.hash/1),
      started: 0,
      lost: MapSet.new()
    }
  end

  defp member(world, n), do: Enum.at(world.all, rem(n, length(world.all)))

  defp step({:join, n, _}, world) do
    me = member(world, n)

    if is_map_key(world.up, me) do
      world
    else
      # It hears of all that are there, and they of it, each at its own time.
      others = Map.keys(world.up)
      world = put_in(world.up[me], %{view: View.new(me), knows: [me], has: MapSet.new(), leaving: []})
      world = Enum.reduce(others, world, &(&2 |> send_to(me, &1, {:hello, me}) |> knows(me, &1)))
      change(world, me)
    end
  end

  defp step({:die, n, _}, world) do
    gone = member(world, n)

    case Map.pop(world.up, gone) do
      {nil, _} ->
        world

      {%{has: has}, up} ->
        # What is on its way to it is lost, and what it has said arrives before its end.
        links = for {{_, to} = pair, queue} <- world.links, to != gone, into: %{}, do: {pair, queue}
        world = %{world | up: up, links: links, lost: MapSet.union(world.lost, has)}
        world = Enum.reduce(Map.keys(up), world, &send_to(&2, gone, &1, {:down, gone}))
        # And what was given to it, and has not arrived.
        world
    end
  end

  # A key's first message comes to a node.
  defp step({:start, n, k}, world) do
    me = member(world, n)
    key = Enum.at(world.keys, rem(k, length(world.keys)))

    case world.up do
      %{^me => %{view: view} = node} ->
        if may_start?(view, me, key) and key not in node.has do
          assert holders(world, key) == []
          put_in(world.up[me].has, MapSet.put(node.has, key))
        else
          world
        end

      _ ->
        world
    end
  end

  defp step({:move, n, _}, world) do
    case world.links |> Enum.filter(fn {_, queue} -> queue != [] end) |> Enum.sort() do
      [] -> world
      links -> links |> Enum.at(rem(n, length(links))) |> elem(0) |> arrive(world)
    end
  end

  # As a front decides it.
  defp may_start?(%{members: []}, _me, _key), do: false

  defp may_start?(view, me, key) do
    mine? = fn owners -> match?({_, {_, ^me}}, {0, Plain.owner(key, owners)}) end

    mine?.(View.owners(view)) and
      case view.since do
        :settled -> true
        :never -> false
        views -> Enum.all?(views, mine?)
      end
  end

  defp holders(world, key), do: for({node, %{has: has}} <- world.up, key in has, do: node)

  defp send_to(world, from, to, message),
    do: update_in(world.links[{from, to}], &((&1 || []) ++ [message]))

  defp knows(world, me, other), do: update_in(world.up[me].knows, &Enum.uniq([other | &1]))

  defp change(world, me) do
    %{view: view, knows: knows} = world.up[me]
    effects(world, me, View.change(view, knows))
  end

  defp effects(world, me, {view, effects}) do
    world = put_in(world.up[me].view, view)

    Enum.reduce(effects, world, fn
      # All at once here: a worker that takes its time answers later.
      :view, world -> world |> hand_over(me)
      {:ask, to, id, round}, world -> say(world, me, to, {:ask, me, id, round})
      {:ack, to, id, round}, world -> say(world, me, to, {:ack, me, id, round})
      :settled, world -> world
    end)
  end

  defp say(world, from, to, message),
    do: if(is_map_key(world.up, to), do: send_to(world, from, to, message), else: world)

  # What is not its own goes to its owner, once all know the same members, as in Mote.Shards.Handover: otherwise one that does
  # not know the owner yet could be left alone when this node dies, and start the key again.
  defp hand_over(world, me) do
    %{view: view, has: has} = world.up[me]
    owners = View.owners(view)
    together? = Enum.all?(view.members, &(view_of(world, &1) == view.id))

    world =
      Enum.reduce(has, world, fn key, world ->
        {_, owner} = Plain.owner(key, owners)

        cond do
          owner == me -> world
          together? -> world |> drop(me, key) |> take(owner, key)
          true -> world
        end
      end)

    mine? = Enum.all?(world.up[me].has, &match?({_, ^me}, Plain.owner(&1, owners)))
    send_to(world, me, me, {if(mine?, do: :handed, else: :again), view.id})
  end

  defp view_of(world, member), do: if(is_map_key(world.up, member), do: world.up[member].view.id)

  defp drop(world, me, key), do: update_in(world.up[me].has, &MapSet.delete(&1, key))

  defp take(world, me, key) do
    assert holders(world, key) == []
    update_in(world.up[me].has, &MapSet.put(&1, key))
  end

  defp arrive({_, to} = pair, world) do
    [message | rest] = world.links[pair]
    world = put_in(world.links[pair], rest)
    if is_map_key(world.up, to), do: heard(message, to, world), else: world
  end

  defp heard({:hello, other}, me, world),
    do: if(is_map_key(world.up, other), do: world |> knows(me, other) |> change(me), else: world)

  defp heard({:down, other}, me, world),
    do: world |> update_in([:up, me, :knows], &List.delete(&1, other)) |> change(me)

  defp heard({:again, id}, me, world),
    do: if(world.up[me].view.id == id, do: hand_over(world, me), else: world)

  defp heard({:handed, id}, me, world), do: effects(world, me, View.handed(world.up[me].view, id))

  defp heard({:ask, from, id, round}, me, world),
    do: effects(world, me, View.asked(world.up[me].view, from, id, round))

  defp heard({:ack, from, id, round}, me, world) do
    world = effects(world, me, View.acked(world.up[me].view, from, id, round))
    # Again, as from a link that repeats: nothing changes.
    assert {_, []} = View.acked(world.up[me].view, from, id, round)
    world
  end

  # A node that has gone comes back as another one.
  defp fresh(world),
    do: %{
      world
      | all:
          for(
            {node, n} <- world.all,
            do: if(is_map_key(world.up, {node, n}), do: {node, n}, else: {node, n + 1000})
          )
    }

  defp deliver_all(world) do
    case for({pair, [_ | _]} <- world.links, do: pair) do
      [] ->
        world

      pairs ->
        pairs
        |> Enum.reduce(world, fn pair, world ->
          if (world.links[pair] || []) != [], do: arrive(pair, world), else: world
        end)
        |> deliver_all()
    end
  end

  property "no key is at two nodes, whatever comes when; and in the end all are settled and each key is where it belongs" do
    check all(
            count <- integer(2..6),
            steps <-
              list_of(
                {member_of([
                   :join,
                   :join,
                   :die,
                   :start,
                   :start,
                   :start,
                   :move,
                   :move,
                   :move,
                   :move,
                   :move,
                   :move
                 ]), integer(0..1000), integer(0..1000)},
                max_length: 150
              ),
            max_runs: 200
          ) do
      world = Enum.reduce(steps, world(count), fn step, world -> step |> step(world) |> fresh() end)
      world |> deliver_all() |> quiet!()
    end
  end

  property "hundreds of nodes settle, however they come" do
    check all(
            count <- integer(100..300),
            order <- shuffle(Enum.to_list(0..(count - 1))),
            dying <- list_of(integer(0..(count - 1)), max_length: 5),
            max_runs: 3
          ) do
      world = Enum.reduce(Enum.take(order, 20), world(count), &step({:join, &1, 0}, &2))
      world = world |> deliver_all()

      world =
        Enum.reduce(0..23, world, fn k, world -> Enum.reduce(order, world, &step({:start, &1, k}, &2)) end)

      assert Enum.sum(for {_, %{has: has}} <- world.up, do: MapSet.size(has)) == 24
      world = Enum.reduce(Enum.take(order, 24), world, &step({:join, &1, 0}, &2))
      world = Enum.reduce(dying, world, &step({:die, &1, 0}, &2))
      world |> deliver_all() |> quiet!()
    end
  end

  defp quiet!(world) do
    members = Enum.sort(Map.keys(world.up))

    for {me, %{view: view, has: has}} <- world.up do
      assert view.members == members
      assert view.settled? and view.since == :settled
      for key <- has, do: assert(may_start?(view, me, key))
    end

    for key <- world.keys, do: assert(length(holders(world, key)) <= 1)
  end

  test "what was said in an earlier round does not count" do
    [a, b] = [{:a, 1}, {:b, 1}]
    {view, [:view, {:ask, ^b, both, 1}]} = View.change(View.new(a), [a, b])
    {alone, [:view, :settled]} = View.change(view, [a])
    {again, [:view, {:ask, ^b, ^both, 3}]} = View.change(alone, [a, b])
    assert {%{settled?: false}, []} = View.acked(again, b, both, 1)
    assert {%{settled?: true}, [:settled]} = View.acked(again, b, both, 3)
    # What it had alone, and would have with both, goes on; nothing else.
    assert [[{_, ^a}]] = again.since
    assert [{:ask, ^b, ^both, 3}] = View.missing(again)
  end

  test "a member answers when it has given away what is not its own, of the same members" do
    [a, b] = [{:a, 1}, {:b, 1}]
    {view, _} = View.change(View.new(a), [a, b])
    id = view.id
    assert {view, []} = View.asked(view, b, id, 7)
    assert {view, [{:ack, ^b, ^id, 7}]} = View.handed(view, id)
    assert {_, [{:ack, ^b, ^id, 8}]} = View.asked(view, b, id, 8)
    assert {_, []} = View.asked(view, b, id + 1, 9)
  end

  test "whoever leaves has no keys, and is waited for" do
    [a, b] = [{:a, 1}, {:b, 1}]
    {view, [:view, {:ask, ^b, id, 1}]} = View.change(View.new(a), [a, b], [b])
    assert [{_, ^a}] = View.owners(view)
    refute view.settled?
    assert {%{settled?: true}, [:settled]} = View.acked(view, b, id, 1)
  end

  test "whoever leaves goes when the others have said that all is given away, and were told so" do
    [a, b, c] = [{:a, 1}, {:b, 1}, {:c, 1}]
    {view, _} = View.change(View.new(a), [a, b, c], [a, c])
    %{id: id, round: round} = view
    assert View.others_leaving(view) == [c]
    {view, []} = View.asked(view, b, id, 4)
    {view, [{:ack, ^b, ^id, 4}]} = View.handed(view, id)
    {view, []} = View.acked(view, b, id, round)
    {view, [:settled]} = View.acked(view, c, id, round)
    # It may still be waited for.
    refute View.agreed?(view)
    {view, [{:ack, ^c, ^id, 5}]} = View.asked(view, c, id, 5)
    assert View.agreed?(view)
    # What was said of other members does not count.
    {later, _} = View.change(view, [a, b], [a])
    {later, []} = View.handed(later, later.id)
    {later, [:settled]} = View.acked(later, b, later.id, later.round)
    refute View.agreed?(later)
  end
end
