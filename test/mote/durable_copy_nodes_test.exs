defmodule Mote.DurableCopyNodesTest do
  # Copies on another node, when one of the two nodes ends, or the connection does.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.OwnFolder, only: [own_folder: 1, hear_exits: 1]

  alias Mote.{CopyRig, Durable, TwoNodes}

  @moduletag skip: TwoNodes.missing()

  @patience 60_000
  @clients 6

  setup [:own_folder, :hear_exits]

  setup do
    {:ok, nodes} = TwoNodes.start()
    {:ok, _} = call(nodes.away, Application, :ensure_all_started, [:mote])
    on_exit(fn -> for peer <- [nodes.home, nodes.away], do: stop(peer) end)
    nodes
  end

  defp stop(peer) do
    :peer.stop(peer)
  catch
    :exit, _ -> :ok
  end

  defp call(peer, module, function, args), do: :peer.call(peer, module, function, args, @patience)

  # A machine on the first node with a copy on the second one, and clients that tell a process of the second one what they were told.
  defp counting(context, opts) do
    heard = call(context.away, TwoNodes, :listener, [])
    opts = [node: context.node, dir: context.to] ++ opts
    {heard, call(context.home, CopyRig, :serve, [context.dir, @clients, opts, heard])}
  end

  defp heard(away, heard, count), do: call(away, TwoNodes, :heard, [heard, count])

  defp state(home, copy), do: call(home, Durable, :copied, [copy]).state

  defp acknowledged(home), do: call(home, CopyRig, :acknowledged, [])

  # Nobody has missed anything.
  defp taken_over(away, to) do
    seen = call(away, CopyRig, :taken_over, [to])
    refute Enum.any?(Map.keys(seen), &is_tuple/1)
    seen
  end

  test "the node of a machine that waits is killed: nothing that was acknowledged is lost", context do
    {heard, _copy} = counting(context, wait: true)
    heard(context.away, heard, 300)
    TwoNodes.kill(context.home)
    acknowledged = heard(context.away, heard, 300)
    seen = taken_over(context.away, context.to)
    for {client, n} <- acknowledged, do: assert({client, n, seen[client] >= n} == {client, n, true})
  end

  test "the node of a machine that does not wait is killed: what has come is there in its order", context do
    {heard, _copy} = counting(context, wait: false)
    heard(context.away, heard, 300)
    TwoNodes.kill(context.home)
    assert map_size(taken_over(context.away, context.to)) > 0
  end

  test "the node of the copy is killed: the copy goes on when there is one again", context do
    {_heard, copy} = counting(context, wait: false)
    TwoNodes.kill(context.away)
    eventually(fn -> state(context.home, copy) == :away end)
    before = acknowledged(context.home)
    eventually(fn -> acknowledged(context.home) > before + 100 end)
    {:ok, away, _node} = TwoNodes.start_away(context.port)
    {:ok, _} = call(away, Application, :ensure_all_started, [:mote])
    eventually(fn -> state(context.home, copy) == :following end)
    TwoNodes.kill(context.home)
    assert away |> taken_over(context.to) |> Map.values() |> Enum.sum() > before
    stop(away)
  end

  test "a machine that waits acknowledges nothing while the nodes are apart, nor when it was taken over meanwhile",
       context do
    {heard, copy} = counting(context, wait: true)
    heard(context.away, heard, 50)
    true = call(context.home, CopyRig, :part, [context.node])
    eventually(fn -> state(context.home, copy) == :away end)
    seen = taken_over(context.away, context.to)
    call(context.home, CopyRig, :rejoin, [context.node])
    eventually(fn -> state(context.home, copy) == :taken_over end)
    assert acknowledged(context.home) <= seen |> Map.values() |> Enum.sum()
  end

  test "a machine that waits goes on when the nodes are together again", context do
    {heard, copy} = counting(context, wait: true)
    heard(context.away, heard, 50)
    true = call(context.home, CopyRig, :part, [context.node])
    eventually(fn -> state(context.home, copy) == :away end)
    before = acknowledged(context.home)
    call(context.home, CopyRig, :rejoin, [context.node])
    eventually(fn -> acknowledged(context.home) > before + 100 end)
    assert state(context.home, copy) == :following
    TwoNodes.kill(context.home)
    assert context.away |> taken_over(context.to) |> Map.values() |> Enum.sum() > before
  end
end
