defmodule Mote.FarEndsTest do
  # What becomes of it when connections and nodes end.
  use ExUnit.Case, async: true

  import Mote.FarRig, only: [at: 2, at: 3, heard: 3, machines: 0]
  import Mote.Eventually

  alias Mote.{Actors, Error, FarRig, Mesh, TwoNodes}
  alias Mote.FarRig.Behaviours

  @moduletag skip: TwoNodes.missing()

  setup do
    Process.flag(:trap_exit, true)
    machines()
  end

  defp no_connection(context, address) do
    assert {:error, %Error{reason: :noconnection, message: text}} =
             at(context.away, :ask, [address, :anything])

    assert text =~ "home@127.0.0.1"
  end

  test "a connection that ends ends its questions; what is sent later arrives when there is another",
       context do
    {listener, address} = at(context.home, :listening, [Home])
    echo = at(context.home, :create, [Home, Actors.echo()])
    late = at(context.home, :create, [Home, Actors.late()])
    :ok = at(context.away, :numbers, [address, 500])
    :ok = at(context.away, :ask_open, [late, 100_000, :asks])
    assert at(context.away, :ask, [echo, 1]) == {:ok, 1}

    true = :peer.call(context.away, :erlang, :disconnect_node, [:"home@127.0.0.1"], 30_000)
    assert {:error, %Error{reason: :noconnection}} = at(context.away, :result_of, [:asks])
    assert at(context.away, :disconnected?, [:"home@127.0.0.1"])
    # Nobody can connect from there: home does not listen.
    no_connection(context, echo)
    # Of questions that have ended with their connection, nothing waits.
    assert eventually(fn -> at(context.away, :nodes)[:"home@127.0.0.1"].waiting == 0 end)
    :ok = at(context.away, :numbers, [address, 10])
    assert heard(context.home, listener, 500) == Enum.to_list(1..500)

    assert eventually(fn -> TwoNodes.connect(context) end)
    eventually(fn -> at(context.away, :ask, [echo, 2]) == {:ok, 2} end)
    {listener, address} = at(context.home, :listening, [Home])
    :ok = at(context.away, :numbers, [address, 500])
    assert heard(context.home, listener, 500) == Enum.to_list(1..500)
  end

  test "a node that is killed and started again is another one", context do
    echo = at(context.home, :create, [Home, Actors.echo()])
    late = at(context.home, :create, [Home, Actors.late()])
    :ok = at(context.away, :ask_open, [late, 100_000, :asks])
    assert at(context.away, :ask, [echo, 1]) == {:ok, 1}
    TwoNodes.kill(context.home)
    assert {:down, _} = at(context.away, :monitor, [echo])
    assert {:error, %Error{reason: :noconnection}} = at(context.away, :result_of, [:asks])
    no_connection(context, echo)

    {:ok, context} = TwoNodes.start_home(context)
    :ok = at(context.home, :machine, [Home])
    eventually(fn -> match?({:error, %Error{reason: :machine_down}}, at(context.away, :ask, [echo, 2])) end)
    :ok = at(context.away, :numbers, [echo, 10])
    new = at(context.home, :create, [Home, Actors.echo()])
    assert at(context.away, :ask, [new, 3]) == {:ok, 3}
    # Home's own address of before is one of a node that is gone, whoever asks.
    assert {:error, %Error{reason: :unknown_address} = error} = at(context.home, :ask, [echo, 4])
    anew = "home@127.0.0.1 has been started anew since, so its earlier actors are gone"
    assert error.message == anew

    for peer <- [context.away, context.home] do
      assert {:error, %Error{reason: :unknown_address, message: ^anew}} = at(peer, :keep, [echo])
      assert {:error, %Error{reason: :unknown_address, message: ^anew}} = at(peer, :move, [echo, Away])
      assert {:error, %Error{reason: :unknown_address, message: ^anew}} = at(peer, :try_info, [echo])
    end

    # Of an actor that is gone for another reason, that is not said.
    assert {:error, %Error{reason: :unknown_address, message: text}} =
             at(context.home, :keep, [%{new | key: <<0::576>>}])

    assert text =~ "belongs to no running machine"
  end

  test "what actors send while a courier ends is lost and counted", context do
    {listener, address} = at(context.home, :listening, [Home])
    :ok = at(context.away, :numbers, [address, 10])
    assert heard(context.home, listener, 10) == Enum.to_list(1..10)
    # Others may be sent meanwhile: reports of what was let go.
    assert at(context.away, :lost_with_courier, [Away, address, 1_000]) in 1_000..1_100
    :ok = at(context.away, :numbers, [address, 5])
    assert heard(context.home, listener, 15) == Enum.to_list(1..10) ++ Enum.to_list(1..5)
  end

  test "nodes that there never was a connection to are not listed, whatever was tried", context do
    echo = at(context.home, :create, [Home, Actors.echo()])
    assert at(context.away, :nodes) == %{}
    assert at(context.away, :ask, [echo, 1]) == {:ok, 1}
    nowhere = FarRig.address_of(Mesh.nowhere())
    assert {:error, %Error{reason: :noconnection, message: text}} = at(context.away, :keep, [nowhere])
    assert text =~ "no connection to #{Mesh.nowhere()}"
    :ok = at(context.away, :numbers, [nowhere, 10])
    assert Map.keys(at(context.away, :nodes)) == [:"home@127.0.0.1"]
    # Nothing of it is left.
    assert eventually(fn ->
             :peer.call(context.away, :ets, :lookup, [Mote.Far.Table, Mesh.nowhere()]) == []
           end)

    assert [_] = :peer.call(context.away, :ets, :lookup, [Mote.Far.Table, :"home@127.0.0.1"])
  end

  test "a node that is connected is listed before it has answered", context do
    {listener, address} = at(context.home, :listening, [Home])
    os = TwoNodes.freeze(context.home)

    try do
      :ok = at(context.away, :numbers, [address, 3])
      assert %{"home@127.0.0.1": %{sent: 0, waiting: waiting}} = at(context.away, :nodes)
      assert waiting > 0
    after
      TwoNodes.thaw(os)
    end

    assert heard(context.home, listener, 3) == [1, 2, 3]
  end

  test "what a node held that is killed is let go", context do
    making = at(context.home, :create, [Home, Behaviours.making()])
    at(context.home, :collect, [Home])
    at(context.away, :collect, [Away])
    before = at(context.home, :settled_references, [Home])
    at(context.away, :forget, [Away, making, 300])
    at(context.home, :collect, [Home])
    assert at(context.home, :count_references, [Home]) >= before + 300
    TwoNodes.kill(context.away)
    eventually(fn -> at(context.home, :count_references, [Home]) <= before end)
  end

  test "what waits for a node that is stopped is bounded, refused and counted; its customers of actors go on",
       context do
    :ok = :peer.call(context.away, Application, :put_env, [:mote, :waiting_for_node, 16 * 1024 * 1024])
    {listener, address} = at(context.home, :listening, [Home])
    :ok = at(context.away, :numbers, [address, 3])
    os = TwoNodes.freeze(context.home)
    nodes = fn -> at(context.away, :nodes)[:"home@127.0.0.1"] end

    try do
      # More than may be on its way.
      assert {100, nil} = at(context.away, :flood, [address, 100])
      before = nodes.().waiting
      # What is counted of small messages is what they take.
      :ok = at(context.away, :numbers, [address, 3_000])
      assert nodes.().waiting - before > 500_000
      assert {accepted, %Error{reason: :overloaded}} = at(context.away, :flood, [address, 1_000])
      assert %{waiting: waiting, refused: 1} = nodes.()
      assert waiting in 15_000_000..40_000_000
      {_, 0} = TwoNodes.thaw(os)
      count = 3 + 100 + 3_000 + accepted
      assert length(heard(context.home, listener, count)) == count
    after
      TwoNodes.thaw(os)
    end
  end
end
