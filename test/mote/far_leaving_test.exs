defmodule Mote.FarLeavingTest do
  # A node that leaves shards while messages are on their way to it and through it, and while another node comes. Couriers and
  # members are held, so that all of it happens in one order only. A node that has left is killed: what is not elsewhere is lost.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.ShardsRig, only: [at: 2, at: 3, settled: 2]

  alias Mote.{Mesh, TwoNodes}
  alias Mote.Shards.Rule.Plain

  @moduletag skip: Mesh.missing()
  @moduletag timeout: 180_000

  # `one` and `two` stay. Each test has another node, which comes or leaves, and is killed.
  setup_all do
    {:ok, nodes} = Mesh.start(["one", "two"])
    for node <- nodes, do: :ok = at(node, :supervise)
    %{one: hd(nodes), two: List.last(nodes)}
  end

  setup %{one: one, two: two} do
    Process.flag(:trap_exit, true)
    other = Mesh.start_one("other")
    Mesh.connect([one, two, other])
    :ok = at(other, :supervise)
    %{other: other, name: :"users_#{System.unique_integer([:positive])}"}
  end

  defp start(nodes, name) do
    for node <- nodes, do: :ok = at(node, :start, [name])
    settled(nodes, name)
  end

  defp leave({peer, _} = node, name) do
    Task.async(fn ->
      :ok = at(node, :leave, [name])
      TwoNodes.kill(peer)
    end)
  end

  # Keys that belong to one node of some, and to another one if that one is not there.
  defp keys(count, {_, node}, nodes, {_, next}) do
    1
    |> Stream.iterate(&(&1 + 1))
    |> Stream.filter(
      &(owner(&1, nodes) == node and owner(&1, for({_, n} = other <- nodes, n != node, do: other)) == next)
    )
    |> Enum.take(count)
  end

  defp owner(key, nodes) do
    {_, node} = Plain.owner(Plain.hash(key), for({_, node} <- nodes, do: {Plain.seed(node), node}))
    node
  end

  # The question stands behind everything else. Nobody may leave before it is answered.
  defp sees_off(from, {_, to}, leaving) do
    assert eventually(fn ->
             assert Process.alive?(leaving.pid), "has left, and #{to} has not got everything"
             at(from, :sees_off?, [to])
           end)
  end

  test "what is on its way to a node that leaves arrives", context do
    %{one: one, two: two, other: other, name: name} = context
    nodes = [one, two, other]
    start(nodes, name)
    [key] = keys(1, other, nodes, one)
    :ok = at(two, :send_all, [name, [key], [0]])
    assert at(two, :seen, [name, key]) == {:ok, [0]}
    :ok = at(two, :courier, [elem(other, 1), :suspend])
    :ok = at(two, :send_all, [name, [key], 1..10])
    leaving = leave(other, name)
    assert eventually(fn -> at(one, :count, [name]) == 1 end)
    sees_off(two, other, leaving)
    :ok = at(two, :courier, [elem(other, 1), :resume])
    Task.await(leaving, 60_000)
    settled([one, two], name)
    assert at(one, :seen, [name, key]) == {:ok, Enum.to_list(0..10)}
  end

  test "one that is killed while it leaves is not waited for", context do
    %{one: one, two: two, other: {peer, _} = other, name: name} = context
    start([one, two, other], name)
    :ok = at(two, :courier, [elem(other, 1), :suspend])
    leaving = leave(other, name)
    sees_off(two, other, leaving)
    Task.shutdown(leaving, :brutal_kill)
    TwoNodes.kill(peer)
    :ok = at(two, :courier, [elem(other, 1), :resume])
    settled([one, two], name)
  end

  test "what a node that leaves has passed on arrives", context do
    %{one: one, two: two, other: other, name: name} = context
    nodes = [one, two, other]
    start(nodes, name)
    [key] = keys(1, other, nodes, two)
    front = at(one, :front, [name, key])
    :ok = at(one, :member, [name, :suspend])
    leaving = leave(other, name)
    assert eventually(fn -> at(one, :told_of_leaving?, [name]) end)
    :ok = at(other, :hold_leaving, [name])
    :ok = at(one, :member, [name, :resume])
    for node <- [one, two], do: assert(eventually(fn -> at(node, :handed?, [name, elem(other, 1)]) end))
    assert eventually(fn -> at(other, :told_of_worker?, [name]) end)

    :ok = at(other, :courier, [elem(two, 1), :suspend])
    assert at(other, :send_late, [front, key, 1..10, elem(two, 1)])
    :ok = at(other, :let_leave)
    sees_off(other, two, leaving)
    :ok = at(other, :courier, [elem(two, 1), :resume])
    Task.await(leaving, 60_000)
    settled([one, two], name)
    assert at(one, :seen, [name, key]) == {:ok, Enum.to_list(1..10)}
  end

  test "one comes while another one leaves", context do
    %{one: one, two: two, other: other, name: name} = context
    start([one, other], name)
    keys = Enum.to_list(1..20)
    :ok = at(one, :send_all, [name, keys, 1..3])
    for key <- keys, do: assert(at(one, :seen, [name, key]) == {:ok, [1, 2, 3]})

    # Nothing is given away before all agree.
    :ok = at(one, :member, [name, :suspend])
    leaving = leave(other, name)
    assert eventually(fn -> at(one, :told_of_leaving?, [name]) end)
    :ok = at(two, :start, [name])
    # It has looked who is there.
    :ok = at(two, :member, [name, :suspend])
    :ok = at(two, :member, [name, :resume])
    :ok = at(one, :member, [name, :resume])
    Task.await(leaving, 60_000)
    settled([one, two], name)
    for key <- keys, do: assert(at(two, :seen, [name, key]) == {:ok, [1, 2, 3]})
  end

  test "one comes and leaves before it has heard of the others, which have heard of it", context do
    %{one: one, two: two, other: other, name: name} = context
    start([one, two], name)
    nodes = [one, two, other]
    :ok = at(one, :member, [name, :suspend])
    :ok = at(two, :member, [name, :suspend])
    :ok = at(other, :start, [name])
    # It has greeted them.
    :ok = at(other, :member, [name, :suspend])
    :ok = at(one, :member, [name, :resume])
    :ok = at(two, :member, [name, :resume])
    [key] = keys(1, other, nodes, one)
    assert eventually(fn -> at(two, :owners, [name, [key]]) == %{key => elem(other, 1)} end)
    :ok = at(two, :send_all, [name, [key], 1..3])
    Task.await(leave(other, name), 60_000)
    settled([one, two], name)

    # The one that leaves and the one that has the key then send each other what each takes for the other's, until they agree: so in
    # no order (`Mote.Shards`).
    assert {:ok, seen} = at(two, :seen, [name, key])
    assert Enum.sort(seen) == [1, 2, 3]
  end
end
