defmodule Mote.ShardsKeepTest do
  # What keys keep when nodes come and go: what the guide on nodes promises, and its table names. test/support/shards_rig.ex says what each
  # node does.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually
  import Mote.ShardsRig, only: [at: 2, at: 3, settled: 2]

  alias Mote.{Mesh, TwoNodes}

  @moduletag skip: Mesh.missing()
  @moduletag timeout: 300_000

  # Each test has nodes of its own, as most of them have machines of another kind.
  setup do
    Process.flag(:trap_exit, true)
    %{name: :"users_#{System.unique_integer([:positive])}"}
  end

  defp node!(machine) do
    node = Mesh.start_one("keep")
    :ok = at(node, :supervise, [machine])
    node
  end

  defp dropped(node, name) do
    for {[:mote, :shards, :dropped], %{count: count}, %{name: ^name, why: why, keys: keys}} <-
          at(node, :events) do
      assert length(keys) == count
      {why, Enum.sort(keys)}
    end
  end

  test "a node that leaves gives thousands of actors away, with what each has seen", %{name: name} do
    [one, two] = nodes = for _ <- 1..2, do: node!([])
    Mesh.connect(nodes)
    for node <- nodes, do: :ok = at(node, :start, [name, [shutdown: :infinity]])
    settled(nodes, name)
    keys = Enum.to_list(1..6_000)
    :ok = at(one, :send_all, [name, keys, [1]])
    before = at(one, :all_seen, [name, keys])
    there = at(two, :count, [name])
    at(two, :listen)
    :ok = at(two, :leave, [name])
    settled([one], name)
    assert at(one, :all_seen, [name, keys]) == before

    assert [%{moved: ^there, stayed: 0, lost: 0, merged: 0}] =
             for({[_, _, :handed], figures, %{name: ^name}} <- at(two, :events), do: figures)

    assert dropped(two, name) == []
  end

  test "what a node that leaves cannot give away is told, key by key", %{name: name} do
    [one, two] = nodes = for _ <- 1..2, do: node!([])
    Mesh.connect(nodes)
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = for(n <- 1..20, do: {:fixed, n}) ++ Enum.to_list(1..100)
    for key <- keys, do: {:ok, _} = at(one, :seen, [name, key])

    left =
      for {key, owner} <- at(one, :owners, [name, keys]),
          owner == elem(two, 1),
          match?({:fixed, _}, key),
          do: key

    at(two, :listen)
    :ok = at(two, :leave, [name])
    assert dropped(two, name) == [{:left, Enum.sort(left)}]
    settled([one], name)
  end

  # The other one never hears of it.
  test "a node whose time is over before the others have heard of it tells what it had", %{name: name} do
    [one, two] = nodes = for _ <- 1..2, do: node!([])
    Mesh.connect(nodes)
    for node <- nodes, do: :ok = at(node, :start, [name, [shutdown: 5_000]])
    settled(nodes, name)
    keys = Enum.to_list(1..100)
    for key <- keys, do: {:ok, _} = at(one, :seen, [name, key])
    left = for {key, owner} <- at(one, :owners, [name, keys]), owner == elem(two, 1), do: key
    at(two, :listen)
    :ok = at(one, :member, [name, :suspend])
    :ok = at(two, :leave, [name])
    assert dropped(two, name) == [{:left, Enum.sort(left)}]
    :ok = at(one, :member, [name, :resume])
    settled([one], name)
  end

  # Nobody is left to take anything.
  test "nodes that leave together tell what each of them had", %{name: name} do
    [one, two] = nodes = for _ <- 1..2, do: node!([])
    Mesh.connect(nodes)
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
    keys = Enum.to_list(1..100)
    for key <- keys, do: {:ok, _} = at(one, :seen, [name, key])
    owners = Enum.group_by(at(one, :owners, [name, keys]), &elem(&1, 1), &elem(&1, 0))
    for node <- nodes, do: at(node, :listen)
    # So this one hears of the other when it leaves itself.
    :ok = at(one, :member, [name, :suspend])
    leaves = Task.async(fn -> at(two, :leave, [name]) end)
    assert eventually(fn -> at(one, :hears_of_leaving?, [name]) end)
    :ok = at(one, :leave, [name])
    :ok = Task.await(leaves, :infinity)
    for {_, node} = peer <- nodes, do: assert(dropped(peer, name) == [{:left, Enum.sort(owners[node])}])
  end

  test "one that is no member for its number of shards keeps no other one from coming back", %{name: name} do
    [one, two, other] = nodes = for _ <- 1..3, do: node!([])
    Mesh.connect(nodes)
    for node <- [one, two], do: :ok = at(node, :start, [name])
    settled([one, two], name)
    :ok = at(other, :start, [name, [shards: 4]])
    assert eventually(fn -> at(one, :refuses?, [name, elem(other, 1)]) end)
    :ok = at(two, :leave, [name])
    settled([one], name)
    :ok = at(two, :start, [name])
    settled([one, two], name)
    assert {:ok, _} = at(two, :seen, [name, 1])
  end

  # Some have no memory over there until the time of the one that leaves is over. They are no larger than that takes: shards that have to
  # say in time what is left do not wait for megabytes that are on their way.
  test "a node that leaves tries again until its time is over, and tells what is left", %{name: name} do
    small = node!(memory: 8 * 1024 * 1024)
    large = node!([])
    nodes = [small, large]
    Mesh.connect(nodes)
    for node <- nodes, do: :ok = at(node, :start, [name, [shutdown: 8_000]])
    settled(nodes, name)
    keys = for n <- 1..60, do: {:large, n}
    of_large = for {key, owner} <- at(large, :owners, [name, keys]), owner == elem(large, 1), do: key
    :ok = at(large, :send_all, [name, of_large, [100_000]])
    for key <- of_large, do: assert(at(large, :seen, [name, key]) == {:ok, 500_000})
    at(large, :listen)
    :ok = at(large, :leave, [name])
    assert [{:left, left}] = dropped(large, name)
    assert left -- of_large == []
    settled([small], name)
    # No other has lost anything.
    for key <- of_large -- left, do: assert(at(small, :seen, [name, key]) == {:ok, 500_000})
    for key <- left, do: assert({:ok, 0} = at(small, :seen, [name, key]))
  end

  test "a sponsor that is full ends no member, and keeps no node from coming or leaving", %{name: name} do
    [one, two] = nodes = for _ <- 1..2, do: node!(sponsors: [main: [threads: 1, inbox: 5]])
    Mesh.connect(nodes)
    :ok = at(one, :start, [name])
    settled([one], name)
    keys = Enum.to_list(1..40)

    for key <- keys do
      :ok = at(one, :send_all, [name, [key], [1]])
      assert at(one, :seen, [name, key]) == {:ok, [1]}
    end

    before = at(one, :all_seen, [name, keys])
    {:error, %{reason: :overloaded}} = at(one, :fill)
    :ok = at(two, :start, [name])
    assert eventually(fn -> at(two, :asks_again?, [name]) end)
    :ok = at(one, :go_on)
    settled(nodes, name)
    assert at(two, :all_seen, [name, keys]) == before

    {:error, %{reason: :overloaded}} = at(one, :fill)
    leaving = Task.async(fn -> at(two, :leave, [name]) end)
    assert eventually(fn -> at(one, :told_to_give?, [name, elem(two, 1)]) end)
    :ok = at(one, :go_on)
    :ok = Task.await(leaving, 60_000)
    settled([one], name)
    assert at(one, :all_seen, [name, keys]) == before
  end

  test "one that leaves while others give to it loses nothing", %{name: name} do
    [one, two, three] = nodes = for _ <- 1..3, do: node!([])
    Mesh.connect(nodes)
    for node <- [one, two], do: :ok = at(node, :start, [name])
    settled([one, two], name)
    keys = Enum.to_list(1..1_000)
    :ok = at(one, :send_all, [name, keys, [1]])
    before = at(one, :all_seen, [name, keys])

    # Each time it has got a part of what is its own.
    for part <- [1, 20, 100, 200] do
      :ok = at(three, :start, [name])
      assert eventually(fn -> at(three, :count, [name]) >= part end)
      :ok = at(three, :leave, [name])
      settled([one, two], name)
      assert at(one, :all_seen, [name, keys]) == before
    end
  end

  # Keys by which node they are on while the two do not see each other.
  defp apart(name, merge, keys) do
    [one, two] = nodes = for _ <- 1..2, do: node!([])
    for node <- nodes, do: :ok = at(node, :start, [name, merge])
    for node <- nodes, do: settled([node], name)
    for {node, n} <- [{one, 1}, {two, 2}], do: :ok = at(node, :send_all, [name, keys, [n, n]])
    for node <- nodes, key <- keys, do: {:ok, [_, _]} = at(node, :seen, [name, key])
    for node <- nodes, do: at(node, :listen)

    log =
      capture_log(fn ->
        Mesh.connect(nodes)
        settled(nodes, name)
      end)

    {nodes, log}
  end

  test "two states of a key are merged when nodes see each other again", %{name: name} do
    keys = Enum.to_list(1..40)
    {[one, two] = nodes, _log} = apart(name, [merge: {Mote.ShardsRig.Users, :merge}], keys)
    owners = at(one, :owners, [name, keys])

    for {key, seen} <- at(one, :all_seen, [name, keys]) do
      # The state of the one that stays comes first, and the newest is in front.
      assert seen == if(owners[key] == elem(one, 1), do: [1, 1, 2, 2], else: [2, 2, 1, 1])
    end

    for node <- nodes, do: assert(dropped(node, name) == [])
    assert at(one, :count, [name]) + at(two, :count, [name]) == 40
  end

  test "without a merge, and where it fails, one is dropped, which is told, key by key", %{name: name} do
    keys = [:raises, :nothing] ++ Enum.to_list(1..20)

    for {merge, merged} <- [{[], []}, {[merge: &Mote.ShardsRig.Users.merge/3], Enum.to_list(1..20)}] do
      name = :"#{name}_#{length(merge)}"
      {[one, two] = nodes, _log} = apart(name, merge, keys)
      owners = at(one, :owners, [name, keys])
      told = fn -> for node <- nodes, {:taken, keys} <- dropped(node, name), key <- keys, do: key end
      # One may have settled before it heard what another has not kept.
      assert eventually(fn -> Enum.sort(told.()) == Enum.sort(keys -- merged) end)

      for {key, seen} <- at(two, :all_seen, [name, keys -- merged]),
          do: assert(seen == if(owners[key] == elem(one, 1), do: [1, 1], else: [2, 2]))
    end
  end

  # As a release that replaces one node after the other.
  test "nodes with a new version of the module take over all states, by the rule for new code", %{name: name} do
    {older, newer} = Mote.ShardsRig.versions()
    [old, new, last] = for version <- [older, newer, newer], do: upgraded(version)
    kinds = [:filled, :changed, :same, :waits]
    keys = for kind <- kinds, n <- 1..20, do: {kind, n}
    :ok = at(old, :start, [name, [start: Mote.ShardsRig.Upgraded]])
    settled([old], name)
    :ok = at(old, :send_all, [name, keys, [1]])
    # What is stashed is taken along.
    :ok = at(old, :send_all, [name, for(n <- 1..20, do: {:waits, n}), [2, 3]])
    for key <- keys, do: assert({:ok, [1]} = at(old, :seen, [name, key]))

    for [leaves, comes] <- [[old, new], [new, last]] do
      Mesh.connect([leaves, comes])
      at(leaves, :listen)
      :ok = at(comes, :start, [name, [start: Mote.ShardsRig.Upgraded]])
      settled([leaves, comes], name)
      owners = at(comes, :owners, [name, keys])
      assert owners |> Map.values() |> Enum.uniq() |> length() == 2
      for {key, owner} <- owners, do: assert(at(leaves, :seen, [name, key]) == {:ok, state(key, owner, old)})
      :ok = at(leaves, :leave, [name])
      assert dropped(leaves, name) == []
      settled([comes], name)
      for key <- keys, do: assert(at(comes, :seen, [name, key]) == {:ok, state(key, elem(comes, 1), old)})
    end
  end

  test "on the way back, states stay that the older version says nothing of, and are told", %{name: name} do
    {older, newer} = Mote.ShardsRig.versions()
    [new, old] = nodes = for version <- [newer, older], do: upgraded(version)
    Mesh.connect(nodes)
    :ok = at(new, :start, [name, [start: Mote.ShardsRig.Upgraded]])
    settled([new], name)
    keys = for kind <- [:filled, :same], n <- 1..20, do: {kind, n}
    :ok = at(new, :send_all, [name, keys, [1]])
    at(new, :listen)
    :ok = at(old, :start, [name, [start: Mote.ShardsRig.Upgraded]])
    settled(nodes, name)
    for {:same, _} = key <- keys, do: assert({:ok, _} = at(old, :seen, [name, key]))
    for {:filled, _} = key <- keys, do: assert(at(old, :seen, [name, key]) == {:ok, {[1], 5}})
    # Each by one node: the one that has the key.
    owners = at(old, :owners, [name, keys])
    of = fn {_, node} -> Enum.sort(for {{:filled, _} = key, ^node} <- owners, do: key) end
    at(old, :listen)
    :ok = at(new, :leave, [name])
    assert dropped(new, name) == [{:left, of.(new)}]
    settled([old], name)
    assert eventually(fn -> dropped(old, name) == [{:gone, of.(old)}] end)
    for {:same, _} = key <- keys, do: assert(at(old, :seen, [name, key]) == {:ok, [1]})
  end

  defp upgraded(version) do
    node = node!([])
    at(node, :compile, [version])
    node
  end

  # What an entity says that has moved to a node of the newer version, or is still on the older one's.
  defp state(_key, node, {_, node}), do: [1]
  defp state({:filled, _}, _node, _old), do: {[1], :default}
  defp state({:changed, _}, _node, _old), do: {{:was, [1]}, 0}
  defp state({:same, _}, _node, _old), do: {:same, [1]}
  defp state({:waits, _}, _node, _old), do: {[3, 2, 1], :default}

  test "keys that lead nowhere are let go where the sponsor is full", %{name: name} do
    one = node!(sponsors: [main: [threads: 1, inbox: 5]])
    {peer, gone} = two = node!([])
    Mesh.connect([one, two])
    :ok = at(one, :start, [name])
    settled([one], name)
    for key <- 1..3, do: assert(at(one, :seen, [name, key]) == {:ok, []})
    for key <- 1..3, do: assert(at(one, :move, [name, key, [gone]]) == gone)
    at(one, :listen)
    {:error, %{reason: :overloaded}} = at(one, :fill)
    TwoNodes.kill(peer)
    assert eventually(fn -> at(one, :searches?, [name]) end)
    :ok = at(one, :go_on)

    assert eventually(fn ->
             Enum.any?(
               at(one, :events),
               &match?({[:mote, :shards, :lost], %{keys: 3}, %{node: ^gone, name: ^name}}, &1)
             )
           end)

    for key <- 1..3, do: assert(at(one, :seen, [name, key]) == {:ok, []})
  end
end
