defmodule Mote.FarShardsTest do
  # Entities on three nodes: test/support/shards_rig.ex says what each of them does.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.ShardsRig, only: [at: 2, at: 3, settled: 2]

  alias Mote.{FarRig, Mesh, TwoNodes}
  alias Mote.Shards.Lost

  @moduletag skip: Mesh.missing()
  @moduletag timeout: 180_000

  # Each test has shards of its own, on nodes that all of them share.
  setup_all do
    {:ok, nodes} = Mesh.start(["one", "two", "three"])
    for node <- nodes, do: :ok = at(node, :supervise)
    %{nodes: nodes}
  end

  setup %{nodes: nodes} do
    name = :"users_#{System.unique_integer([:positive])}"
    on_exit(fn -> leave_together(nodes, name) end)
    %{name: name}
  end

  defp keys(pid \\ self()), do: Enum.to_list(1..60) ++ ["text", {:a, [1.5]}, nil, %{m: 1}, pid]

  defp leave_together(nodes, name) do
    tasks = for node <- nodes, do: Task.async(fn -> at(node, :leave, [name]) end)
    Task.await_many(tasks, 120_000)
  end

  defp owned(nodes, name), do: Enum.sum(for node <- nodes, do: at(node, :count, [name]))

  test "an entity is one and the same, from wherever it is sent to", %{nodes: [one | _] = nodes, name: name} do
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = keys()
    for node <- nodes, do: :ok = at(node, :send_all, [name, keys, 1..20])
    for node <- nodes, do: assert(at(node, :nodes, [name]) == Enum.sort(for {_, node} <- nodes, do: node))

    assert eventually(fn ->
             seen = at(one, :all_seen, [name, keys])

             Enum.all?(
               keys,
               &(Enum.sort(seen[&1]) == Enum.sort(List.flatten(List.duplicate(Enum.to_list(1..20), 3))))
             )
           end)

    assert owned(nodes, name) == length(keys)
    # All agree where each of them is, and each node has some.
    assert [owners] = Enum.uniq(for node <- nodes, do: at(node, :owners, [name, keys]))

    for node <- nodes,
        do: assert(at(node, :count, [name]) == Enum.count(owners, &(elem(&1, 1) == elem(node, 1))))
  end

  test "a node that comes takes its keys over, with their state, while others send", %{
    nodes: [one, two, three] = nodes,
    name: name
  } do
    for node <- [one, two], do: :ok = at(node, :start, [name])
    settled([one, two], name)
    keys = keys()
    before = at(one, :owners, [name, keys])
    fixed = for n <- 1..10, do: {:fixed, n}
    for key <- fixed, do: assert(at(one, :seen, [name, key]) == {:ok, :fixed})
    :ok = at(one, :send_on, [name, keys, :from_one])
    :ok = at(two, :send_on, [name, keys, :from_two])
    at(three, :listen)
    :ok = at(three, :start, [name])
    settled(nodes, name)
    :ok = at(three, :send_on, [name, keys, :from_three])
    later = at(one, :owners, [name, keys])
    # Only what belongs to the new one has moved.
    for key <- keys, do: assert(later[key] in [before[key], elem(three, 1)])
    assert Enum.any?(keys, &(later[&1] == elem(three, 1)))

    sent =
      for {node, as} <- [{one, :from_one}, {two, :from_two}, {three, :from_three}],
          do: {as, at(node, :sent, [as])}

    assert eventually(fn ->
             seen = at(two, :all_seen, [name, keys])
             Enum.all?(keys, fn key -> length(seen[key]) == Enum.sum(for {_, n} <- sent, do: n) end)
           end)

    # Nothing is doubled.
    seen = at(two, :all_seen, [name, keys])
    for key <- keys, do: assert(seen[key] == Enum.uniq(seen[key]))

    for key <- keys, {as, _} <- sent do
      numbers = for {^as, n} <- seen[key], do: n
      # A node that has come knows all others before it sends.
      if as == :from_three or later[key] == before[key],
        do: assert(numbers == Enum.sort(numbers)),
        else: assert(two_in_order?(numbers), "#{inspect(key)} has got #{inspect(numbers)} #{as}")
    end

    for key <- fixed, do: assert(at(three, :seen, [name, key]) == {:ok, :fixed})
    assert owned(nodes, name) == length(keys) + length(fixed)

    assert Enum.any?(
             at(three, :events),
             &match?({[:mote, :shards, :settled], %{members: 3}, %{name: ^name}}, &1)
           )
  end

  test "a key is removed from wherever one is, and starts afresh", %{nodes: [one, two, _] = nodes, name: name} do
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = keys()
    :ok = at(one, :send_all, [name, keys, [1]])
    {removed, kept} = Enum.split(keys, 40)
    for key <- removed, do: assert(at(one, :delete, [name, key]))
    for key <- removed, do: refute(at(two, :delete, [name, key]))
    assert owned(nodes, name) == length(kept)
    for key <- removed, do: assert(at(two, :seen, [name, key]) == {:ok, []})
    for key <- kept, do: assert(at(two, :seen, [name, key]) == {:ok, [1]})
  end

  # What was sent before some moment is in order, and what was sent after it: so whatever comes too late was sent before
  # whatever comes too early.
  defp two_in_order?(numbers) do
    late = for {n, most} <- Enum.zip(numbers, Enum.scan(numbers, &max/2)), n < most, do: n
    backwards = Enum.reverse(numbers)
    early = for {n, least} <- Enum.zip(backwards, Enum.scan(backwards, &min/2)), n > least, do: n
    late == [] or Enum.max(late) < Enum.min(early)
  end

  test "a node that leaves gives its entities to the others first", %{
    nodes: [one, two, three] = nodes,
    name: name
  } do
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = keys()
    :ok = at(one, :send_all, [name, keys, 1..10])
    for key <- keys, do: assert({:ok, [_ | _]} = at(one, :seen, [name, key]))
    before = at(one, :owners, [name, keys])
    assert elem(three, 1) in Map.values(before)
    :ok = at(one, :send_on, [name, keys, :from_one])
    :ok = at(three, :leave, [name])
    settled([one, two], name)
    later = at(one, :owners, [name, keys])
    for key <- keys, before[key] != elem(three, 1), do: assert(later[key] == before[key])
    count = at(one, :sent, [:from_one])
    expected = Enum.to_list(1..10) ++ for(n <- 1..count, do: {:from_one, n})

    assert eventually(fn ->
             Enum.all?(at(two, :all_seen, [name, keys]), &(length(elem(&1, 1)) == length(expected)))
           end)

    for {_, seen} <- at(two, :all_seen, [name, keys]), do: assert(Enum.sort(seen) == Enum.sort(expected))
    assert owned([one, two], name) == length(keys)
  end

  test "a node that dies takes its entities with it: the next message starts them afresh", %{
    nodes: [one, two, _],
    name: name
  } do
    four = Mesh.start_one("four")
    nodes = [one, two, four]
    Mesh.connect(nodes)
    :ok = at(four, :supervise)
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = keys()
    at(one, :listen)
    :ok = at(one, :send_all, [name, keys, 1..10])
    for key <- keys, do: assert({:ok, [_ | _]} = at(one, :seen, [name, key]))
    before = at(one, :owners, [name, keys])
    Process.flag(:trap_exit, true)
    TwoNodes.kill(elem(four, 0))
    settled([one, two], name)
    assert eventually(fn -> Enum.any?(at(one, :events), &down?(&1, elem(four, 1), name)) end)

    for key <- keys do
      {:ok, seen} = at(two, :seen, [name, key])
      assert seen == if(before[key] == elem(four, 1), do: [], else: Enum.to_list(1..10))
    end

    assert owned([one, two], name) == length(keys)
  end

  test "an actor that was moved to a node that dies is gone, and the next message starts it afresh",
       context do
    %{nodes: [one, two, _], name: name} = context
    {four_peer, four_node} = beside([one, two])
    started([one, two], name)
    keys = keys()
    :ok = at(one, :send_all, [name, keys, [1]])
    of_two = for {key, node} <- at(one, :owners, [name, keys]), node == elem(two, 1), do: key
    # Straight, by way of another node, and to a node that stays.
    [straight, round, moved | _] = of_two
    assert at(one, :move, [name, straight, [four_node]]) == four_node
    assert at(one, :move, [name, round, [elem(one, 1), four_node]]) == four_node
    assert at(one, :move, [name, moved, [elem(one, 1)]]) == elem(one, 1)
    for key <- keys, do: assert(at(one, :seen, [name, key]) == {:ok, [1]})
    at(two, :listen)
    Process.flag(:trap_exit, true)
    TwoNodes.kill(four_peer)

    lost = Enum.sort([straight, round])

    assert eventually(fn ->
             Enum.any?(at(two, :events), fn
               {[:mote, :shards, :lost], %{keys: 2}, %{node: ^four_node, name: ^name, keys: keys}} ->
                 Enum.sort(keys) == lost

               _ ->
                 false
             end)
           end)

    for key <- [straight, round], do: assert(at(one, :seen, [name, key]) == {:ok, []})
    for key <- keys -- [straight, round], do: assert(at(one, :seen, [name, key]) == {:ok, [1]})
    assert owned([one, two], name) == length(keys)
  end

  test "an actor that was moved is held again where a connection has ended, and there is another one",
       context do
    %{nodes: [one, two, _], name: name} = context
    {four_peer, four_node} = four = beside([one, two])
    started([one, two], name)
    [key | _] = for {key, node} <- at(one, :owners, [name, keys()]), node == elem(two, 1), do: key
    :ok = at(one, :send_all, [name, [key], [1]])
    assert at(one, :move, [name, key, [four_node]]) == four_node
    # Until the connection is there again, somebody else holds it.
    :ok = at(four, :hold, [at(two, :moved, [name, key])])
    search_again(two, four_node, name)
    :ok = at(four, :let_go)
    assert at(one, :seen, [name, key]) == {:ok, [1]}
    :peer.stop(four_peer)
  end

  # The nodes still see each other.
  test "a key whose actor was held by a courier that was killed does not lead nowhere for good", context do
    %{nodes: [one, _, _], name: name} = context
    {four_peer, four_node} = four = beside([one])
    started([one], name)
    [lost, held] = keys = Enum.take(keys(), 2)
    :ok = at(one, :send_all, [name, keys, [1]])
    for key <- keys, do: assert(at(one, :move, [name, key, [four_node]]) == four_node)
    :ok = at(four, :hold, [at(one, :moved, [name, held])])
    # It has seen which connections there are.
    assert eventually(fn -> at(one, :knows_connection?, [name, four_node]) end)
    true = at(four, :kill_courier, [elem(one, 1)])
    # What it has listed is let go by a process that nobody waits for.
    assert eventually(fn -> at(four, :collect) && at(one, :seen, [name, lost]) == {:ok, []} end)
    assert eventually(fn -> at(one, :searched?, [name]) end)
    :ok = at(four, :let_go)
    assert at(one, :seen, [name, held]) == {:ok, [1]}
    :peer.stop(four_peer)
  end

  test "so is one that was moved there and on from there", %{nodes: [one, _, _], name: name} do
    {four_peer, four_node} = four = beside([one])
    started([one], name)
    :ok = at(one, :send_all, [name, [:key], [1]])
    # Back to where it was.
    assert at(one, :move, [name, :key, [four_node, elem(one, 1)]]) == elem(one, 1)
    between = at(one, :moved, [name, :key])
    :ok = at(four, :hold, [between])
    :ok = at(one, :hold, [at(four, :onward, [between])])
    search_again(one, four_node, name)
    for node <- [four, one], do: :ok = at(node, :let_go)
    assert at(one, :seen, [name, :key]) == {:ok, [1]}
    :peer.stop(four_peer)
  end

  test "an actor that was moved by way of a node stays when that one is gone", context do
    %{nodes: [one, two, _], name: name} = context
    {four_peer, four_node} = beside([one, two])
    started([one], name)
    :ok = at(one, :send_all, [name, [:key], [1]])
    # By its first address each time: that one leads straight to the last place.
    for node <- [four_node, elem(two, 1)], do: assert(at(one, :move, [name, :key, [node]]) == node)
    assert node(at(one, :moved, [name, :key]).machine) == elem(two, 1)
    Process.flag(:trap_exit, true)
    TwoNodes.kill(four_peer)
    # What that node has held is let go, by a process that nobody waits for.
    for node <- [one, two], do: assert(eventually(fn -> at(node, :forgotten?, [four_node]) end))
    for _ <- 1..20, node <- [one, two], do: :ok = at(node, :collect)
    assert eventually(fn -> at(one, :searched?, [name]) end)
    assert at(one, :seen, [name, :key]) == {:ok, [1]}
  end

  test "of an actor whose node cannot tell nothing is known", %{nodes: [{peer, _} = one | _]} do
    {other_peer, other} = four = Mesh.start_one("four")
    Mesh.connect([one, four])
    way = fn -> :peer.call(peer, Lost, :way, [FarRig.address_of(other), []], 60_000) end
    assert way.() == {:gone, other}
    # As an earlier version has it.
    :peer.call(other_peer, Code, :put_compiler_option, [:ignore_module_conflict, true], 60_000)
    :peer.call(other_peer, Mesh.Shell, :compile, ["defmodule Mote.Shards.Lost do\nend"], 60_000)
    assert way.() == :held
    Process.flag(:trap_exit, true)
    TwoNodes.kill(other_peer)
    assert eventually(fn -> way.() == {:gone, other} end)
  end

  # One more node, with a machine, that is no member.
  defp beside(nodes) do
    four = Mesh.start_one("four")
    Mesh.connect(nodes ++ [four])
    :ok = at(four, :supervise)
    four
  end

  defp started(nodes, name) do
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
  end

  # Ends the connection of a member to another node, and makes one again before the member hears of it.
  defp search_again(member, node, name) do
    :ok = at(member, :member, [name, :suspend])
    assert at(member, :connect_again, [node])
    assert eventually(fn -> at(member, :told_of_end?, [name, node]) end)
    :ok = at(member, :member, [name, :resume])
    assert eventually(fn -> at(member, :searched?, [name]) end)
  end

  test "all leave at once, and wait for nobody", %{nodes: nodes, name: name} do
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    :ok = at(hd(nodes), :send_all, [name, keys(), 1..3])
    started = System.monotonic_time(:millisecond)
    leave_together(nodes, name)
    # One that waits for another one does so for ten seconds.
    assert System.monotonic_time(:millisecond) - started < 10_000

    for node <- nodes,
        do: assert({:error, %Mote.Error{reason: :unknown_shards}} = at(node, :seen, [name, 1]))
  end

  test "nodes come and go, one after the other, and no state is lost", %{nodes: nodes, name: name} do
    [first | others] = nodes
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = keys()

    for round <- 1..4 do
      :ok = at(first, :send_all, [name, keys, [round]])
      node = Enum.at(others, rem(round, 2))
      :ok = at(node, :leave, [name])
      settled(nodes -- [node], name)
      :ok = at(node, :start, [name])
      settled(nodes, name)
      for {_, seen} <- at(first, :all_seen, [name, keys]), do: assert(seen == Enum.to_list(1..round))
      assert owned(nodes, name) == length(keys)
    end
  end

  defp down?(event, node, name),
    do: match?({[:mote, :shards, :down], _, %{node: ^node, name: ^name}}, event)
end
