defmodule Mote.FarMoveTest do
  # Actors that move from node to node.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.FarRig, only: [at: 2, at: 3, heard: 3]

  alias Mote.{Actors, Error, FarRig, Mesh, ShardsRig, TwoNodes}
  alias Mote.FarRig.Behaviours

  @moduletag skip: Mesh.missing()

  setup_all do
    {:ok, [{home, home_node}, {away, away_node}]} = Mesh.start(["home", "away"])
    :ok = at(home, :machine, [Home])
    :ok = at(away, :machine, [Away])
    %{home: home, home_node: home_node, away: away, away_node: away_node}
  end

  test "an actor moves to another node; both addresses are of use on both", context do
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])
    assert at(context.home, :ask, [keeping, {:keep, :one}]) == {:ok, :ok}
    {:ok, moved} = at(context.home, :move_and_hold, [keeping, {Away, context.away_node}])
    assert node(moved.machine) == context.away_node
    assert at(context.away, :ask, [moved, :count]) == {:ok, 1}
    assert at(context.away, :ask, [keeping, {:keep, :two}]) == {:ok, :ok}
    assert at(context.home, :ask, [moved, :count]) == {:ok, 2}
    assert at(context.home, :ask, [keeping, :count]) == {:ok, 2}

    # And back, by a process of the node where it was, to the old machine.
    {:ok, back} = at(context.home, :move_and_hold, [moved, Home])
    assert node(back.machine) == context.home_node
    for address <- [keeping, moved, back], do: assert(at(context.away, :ask, [address, :count]) == {:ok, 2})
  end

  test "an actor that was moved by a third node stays when the node is gone where it was", context do
    %{home: home, away: away, away_node: away_node} = context
    {peer, node} = between = Mesh.start_one("between")
    Mesh.connect([{home, context.home_node}, {away, away_node}, between])
    :ok = at(peer, :machine, [Between])
    keeping = at(peer, :create, [Between, Behaviours.keeping([:one])])
    assert {:ok, moved} = at(home, :move_and_hold, [keeping, {Away, away_node}])
    Process.flag(:trap_exit, true)
    TwoNodes.kill(peer)
    # What that node has held is let go, by a process that nobody waits for.
    for peer <- [home, away],
        do: assert(eventually(fn -> :peer.call(peer, ShardsRig, :forgotten?, [node]) end))

    for _ <- 1..20, {peer, machine} <- [{home, Home}, {away, Away}], do: at(peer, :collect, [machine])
    assert at(home, :ask, [moved, :count]) == {:ok, 1}
  end

  test "an actor that is moved on by its old address is reached without a detour", context do
    {listener, address} = at(context.home, :listening, [Home])
    passing = at(context.home, :create, [Home, Behaviours.passing(address, 0)])
    there_and_back = List.flatten(List.duplicate([{Away, context.away_node}, Home], 5))
    count = at(context.home, :numbers_and_moves, [passing, there_and_back])
    assert {:ok, new} = at(context.home, :move, [passing, {Away, context.away_node}])
    assert %{behaviour: %{name: :onward, captures: {^new}}} = at(context.home, :info, [passing])
    heard = heard(context.home, listener, count)
    assert Enum.map(heard, &elem(&1, 1)) == Enum.to_list(1..count)
  end

  test "what it has sent the long way comes before what it sends straight, however late the way begins",
       context do
    :ok = at(context.home, :machine, [Straight])
    {listener, address} = at(context.home, :listening, [Home])
    passing = at(context.home, :create, [Home, Behaviours.passing(address, 0)])
    assert {:ok, _} = at(context.home, :move, [passing, {Away, context.away_node}])
    :ok = at(context.home, :postman, [Home, :suspend])
    :ok = at(context.home, :numbers, [passing, 50])
    move = Task.async(fn -> at(context.home, :move, [passing, Straight]) end)
    assert eventually(fn -> match?(%{behaviour: %{name: :held}}, at(context.home, :info, [passing])) end)
    # That its question comes, if it were to.
    Process.sleep(100)
    :ok = at(context.home, :numbers, [passing, 50])
    :ok = at(context.home, :postman, [Home, :resume])
    assert {:ok, _} = Task.await(move, 60_000)
    heard = heard(context.home, listener, 100)
    assert Enum.map(heard, &elem(&1, 1)) == Enum.to_list(1..50) ++ Enum.to_list(1..50)
  end

  test "what is captured is counted on its way, and stays alive", context do
    kept = at(context.home, :create, [Home, Actors.echo()])
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])
    :ok = at(context.home, :give, [keeping, kept])
    {:ok, moved} = at(context.home, :move_and_hold, [keeping, {Away, context.away_node}])
    at(context.home, :collect, [Home])
    assert at(context.away, :ask, [moved, :count]) == {:ok, 1}
    assert at(context.home, :nodes)[context.away_node].listed > 0
  end

  test "what waits follows in order", context do
    {listener, address} = at(context.home, :listening, [Home])
    passing = at(context.home, :create, [Home, Behaviours.passing(address, 0)])
    :ok = at(context.home, :numbers_while_moving, [passing, {Away, context.away_node}, 5_000])
    :ok = at(context.away, :numbers, [passing, 10])
    heard = heard(context.home, listener, 5_110)
    assert length(heard) == 5_110
    assert Enum.map(heard, &elem(&1, 0)) == Enum.to_list(0..5_109)
    assert heard |> Enum.take(5_100) |> Enum.map(&elem(&1, 1)) == Enum.to_list(1..5_100)
  end

  test "an actor that cannot move is what it was", context do
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])

    for {machine, reason} <- [
          {{Nobody, context.away_node}, :machine_down},
          {{Away, Mesh.nowhere()}, :noconnection}
        ] do
      assert {:error, %Error{reason: ^reason}} = at(context.home, :move, [keeping, machine])
      assert at(context.away, :ask, [keeping, {:keep, machine}]) == {:ok, :ok}
    end

    # The error names the machine, on its node, and what can be done.
    for peer <- [context.home, context.away] do
      move = fn machine, opts -> :peer.call(peer, Mote, :move, [keeping, machine, opts]) end

      assert {:error, %Error{reason: :unknown_sponsor} = error} =
               move.({Away, context.away_node}, sponsor: :no)

      assert error.message =~
               "Away on #{context.away_node} has no sponsor :no, only :main, :other: move the actor to one"

      assert {:error, %Error{reason: :machine_down} = error} = move.(Nobody, [])

      assert error.message =~
               "no machine of the name Nobody is running on #{:peer.call(peer, Kernel, :node, [])}: start it"

      assert error.message =~ "write {Nobody, node} for that of another node"
    end

    # Code that is on one node only.
    only = at(context.home, :create_of_new_module, [Home])

    assert {:error, %Error{reason: :undefined_behaviour} = error} =
             at(context.home, :move, [only, {Away, context.away_node}])

    assert error.message =~ "#{context.away_node}"
    assert at(context.home, :ask, [only, :read]) == {:ok, 1}
    assert at(context.away, :ask, [keeping, :count]) == {:ok, 2}
    # Asked for from the other node, too.
    assert {:error, %Error{reason: :machine_down}} = at(context.away, :move, [keeping, Nobody])
    nowhere = FarRig.address_of(Mesh.nowhere())
    assert {:error, %Error{reason: :noconnection}} = at(context.away, :move, [nowhere, Away])
  end

  test "a node that is killed when the actor is there, and before all that waited is, is no new place of it",
       context do
    {gone, gone_node} = Mesh.start_one("gone")
    Mesh.connect([{gone, gone_node}, {context.home, context.home_node}])
    :ok = at(gone, :machine, [Gone])
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])
    # What is sent on waits there.
    :ok = :peer.call(gone, Mote, :pause, [Gone])
    move = Task.async(fn -> at(context.home, :move, [keeping, {Gone, gone_node}]) end)
    assert eventually(fn -> match?(%{behaviour: %{name: :onward}}, at(context.home, :info, [keeping])) end)
    Process.flag(:trap_exit, true)
    TwoNodes.kill(gone)

    assert {:error, %Error{reason: :noconnection, context: %{moved: moved}} = error} =
             Task.await(move, 120_000)

    assert node(moved.machine) == gone_node
    assert error.message =~ "has moved to #{gone_node}"

    # And so it is said whenever it is to move.
    for machine <- [Home, {Away, context.away_node}] do
      assert {:error, %Error{reason: :noconnection, context: %{moved: ^moved}}} =
               at(context.home, :move, [keeping, machine])
    end
  end

  test "an actor of another node is waited for no longer than the caller may, and moves nevertheless",
       context do
    :ok = at(context.away, :machine, [Paused])
    :ok = :peer.call(context.away, Mote, :pause, [Paused])
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])
    there = {Paused, context.away_node}

    move = fn timeout ->
      :peer.call(context.away, Mote, :move, [keeping, there, [timeout: timeout]], 90_000)
    end

    assert eventually(fn ->
             late? = match?({:error, %Error{reason: :timeout}}, move.(100))
             late? and match?(%{behaviour: %{name: :onward}}, at(context.home, :info, [keeping]))
           end)

    :ok = :peer.call(context.away, Mote, :resume, [Paused])
    assert at(context.home, :ask, [keeping, {:keep, :one}]) == {:ok, :ok}
    # A move that goes on without its caller may still hold it.
    assert {:ok, %{machine: machine}} =
             eventually(fn -> with {:error, %{context: %{why: :held}}} <- move.(60_000), do: nil end)

    assert node(machine) == context.away_node
    assert at(context.away, :ask, [keeping, :count]) == {:ok, 1}
  end

  test "an actor that has moved to a node for which too much waits is not taken for gone", context do
    {full, full_node} = Mesh.start_one("full")
    Mesh.connect([{full, full_node}, {context.home, context.home_node}])
    :ok = at(full, :machine, [Full])
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])
    {:ok, moved} = at(context.home, :move_and_hold, [keeping, {Full, full_node}])
    os = TwoNodes.freeze(full)
    on_exit(fn -> TwoNodes.thaw(os) end)
    full? = fn -> match?({0, %Error{reason: :overloaded}}, at(context.home, :flood, [moved, 5_000])) end
    # Until the connection takes nothing any more.
    assert eventually(fn -> full?.() and Process.sleep(100) == :ok and full?.() end)

    assert {:error, %Error{reason: :overloaded, context: %{moved: ^moved}} = error} =
             at(context.home, :move, [keeping, Home])

    assert error.message =~ "has moved to #{full_node}"
    {_, 0} = TwoNodes.thaw(os)
    assert eventually(fn -> match?({:ok, _}, at(context.home, :move, [keeping, Home])) end)
  end

  test "an answer that is lost with the courier that was to bring it is an error, and not waited for",
       context do
    making = at(context.home, :create, [Home, Behaviours.making()])
    keeping = at(context.home, :create, [Home, Behaviours.keeping([])])

    for {function, args} <- [ask: [making, 3], move: [keeping, {Home, context.home_node}]] do
      # The connection of the round before has ended.
      assert eventually(fn -> at(context.away, :ask, [keeping, :count]) == {:ok, 0} end)
      :ok = at(context.home, :hold_courier, [context.away_node])
      answer = Task.async(fn -> at(context.away, function, args) end)
      :ok = at(context.home, :end_courier, [context.away_node])
      assert {:error, %Error{reason: :noconnection}} = Task.await(answer, 120_000)
    end
  end

  # The new ones may have gone with the connection that held them.
  test "a move of many ends, though the news is lost that all has passed", context do
    :ok = at(context.away, :machine, [Slow])
    :ok = :peer.call(context.away, Mote, :pause, [Slow])
    there = {Slow, context.away_node}
    keeping = for _ <- 1..2, do: at(context.home, :create, [Home, Behaviours.keeping([:one])])
    onward? = &match?(%{behaviour: %{name: :onward}}, at(context.home, :info, [&1]))
    move = fn -> :peer.call(context.home, Mote.Move.Parcel, :move, [keeping, there, [], 60_000], 90_000) end
    moved = Task.async(move)
    assert eventually(fn -> Enum.all?(keeping, onward?) end)
    :ok = at(context.away, :hold_courier, [context.home_node])
    :ok = :peer.call(context.away, Mote, :resume, [Slow])
    :ok = at(context.away, :end_courier, [context.home_node, :answer])
    assert {[_, _] = results, _bytes} = Task.await(moved, 60_000)

    moved? = &(match?({:ok, _}, &1) or match?({:error, %Error{context: %{moved: _}}}, &1))
    assert Enum.all?(results, moved?), inspect(results)
  end
end
