defmodule Mote.FarTest do
  # Actors of another node are sent to and asked as any other.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.FarRig, only: [at: 3, heard: 3, machines: 0]

  alias Mote.{Actors, Error, TwoNodes}
  alias Mote.FarRig.Behaviours

  @moduletag skip: TwoNodes.missing()

  setup_all do: machines()

  test "what a process sends arrives in order, whichever way it is sent", context do
    {listener, address} = at(context.home, :listening, [Home])
    :ok = at(context.away, :numbers, [address, 3_000])
    assert heard(context.home, listener, 3_000) == Enum.to_list(1..3_000)
    assert {:ok, 2_000} = at(context.away, :cast, [address, 3_001..5_000])
    assert heard(context.home, listener, 5_000) == Enum.to_list(1..5_000)
  end

  test "what an actor sends arrives in order", context do
    for {in_one, last} <- [{1, 1}, {1, 300}, {20_000, 20_000}, {500, 2_000}] do
      {listener, address} = at(context.home, :listening, [Home])
      :ok = at(context.away, :numbers_of_actor, [Away, address, in_one, last])
      assert heard(context.home, listener, last) == Enum.to_list(1..last)
    end
  end

  test "what an actor sends arrives in order, whatever it is, at an actor and at a process", context do
    large = Enum.to_list(1..5_000)
    {listener, address} = at(context.home, :listening, [Home])
    process = :peer.call(context.home, TwoNodes, :listener, [])
    # The senders of both take turns on one thread, and what they send waits together.
    [one, two] = at(context.away, :mixed, [Away, [address, process], large, 30])

    for {listener, sender, target} <- [{listener, one, address}, {process, two, process}] do
      each = Enum.to_list(1..100) ++ [%{map: target}, [sender, target], large] ++ Enum.to_list(101..120)
      expected = for n <- 1..30, what <- each, do: {n, what}
      assert heard(context.home, listener, length(expected)) == expected
    end
  end

  test "each message of an actor is counted, however many leave together", context do
    nodes = fn -> at(context.away, :nodes, [])[:"home@127.0.0.1"] end
    {listener, address} = at(context.home, :listening, [Home])
    :ok = at(context.away, :numbers, [address, 1])
    before = nodes.()
    :ok = at(context.away, :numbers_of_actor, [Away, address, 5_000, 5_000])
    assert heard(context.home, listener, 5_001) == [1 | Enum.to_list(1..5_000)]
    eventually(fn -> nodes.().waiting == 0 end)
    assert %{sent: sent, lost: 0} = nodes.()
    # Others may be sent meanwhile: reports of what was let go.
    assert (sent - before.sent) in 5_000..5_100
  end

  test "a machine that ends has sent everything, in order, also while its postman is at it", context do
    for {count, at_once?} <- [{5_000, false}, {400_000, true}, {400_000, true}, {400_000, true}] do
      {listener, address} = at(context.home, :listening, [Home])
      :ok = at(context.away, :numbers_at_the_end, [address, count, at_once?])
      assert heard(context.home, listener, count) == Enum.to_list(1..count)
    end
  end

  test "what waits for the postman counts against the machine's memory, and is refused beyond that",
       context do
    {listener, address} = at(context.home, :listening, [Home])
    {beside_heap, overflowed} = at(context.away, :flood_postman, [address, 4_000])
    assert overflowed > 500
    # The heap is given back in part as soon as the machine rests, so it does not count here.
    assert beside_heap > 7_500_000
    # All others arrive.
    heard = heard(context.home, listener, 4_000 - overflowed)
    assert length(heard) == 4_000 - overflowed
    assert heard == Enum.sort(heard)
  end

  test "an actor sees an address, by which it sends in all ways; it is a key of maps", context do
    {listener, address} = at(context.home, :listening, [Home])
    assert at(context.away, :ways, [Away, address]) == {true, false, false, :found}
    assert Enum.sort(heard(context.home, listener, 4)) == [:later, :on, :sendx, :sent]
  end

  test "it is asked, by a process and through an actor, whose customer it answers", context do
    echo = at(context.home, :create, [Home, Actors.echo()])

    assert at(context.away, :ask, [echo, {:what, [1.5, "text", %{a: 1}]}]) ==
             {:ok, {:what, [1.5, "text", %{a: 1}]}}

    large = Enum.to_list(1..50_000)
    assert at(context.away, :ask, [echo, large]) == {:ok, large}
    long = String.duplicate("long", 50_000)
    assert at(context.away, :ask, [echo, long]) == {:ok, long}
    assert at(context.away, :ask_through, [Away, echo, :through]) == {:ok, :through}

    here = at(context.away, :create, [Away, Actors.echo()])
    assert at(context.away, :ask_all, [[echo, here, echo], 7]) == [ok: 7, ok: 7, ok: 7]
  end

  test "questions wait, are given up, and have no late answers", context do
    echo = at(context.home, :create, [Home, Actors.echo()])
    late = at(context.home, :create, [Home, Actors.late()])

    assert at(context.away, :asyncs, [echo, late]) ==
             {[1, 2, 3, 4, 5], {:ok, :one}, nil, nil, nil, [nil, nil], {:messages, []}}

    assert {{:error, %Error{reason: :timeout}}, {:messages, []}} = at(context.away, :late, [late, echo])
  end

  test "why there is no answer is said", context do
    failing = at(context.home, :create, [Home, Actors.failing(:because)])
    silent = at(context.home, :create, [Home, Actors.counter(0)])

    assert {:error, %Error{reason: :aborted, context: %{behaviour: {Actors, :failing}}}} =
             at(context.away, :ask, [failing, 1])

    assert {:error, %Error{reason: :broken_promise}} = at(context.away, :ask, [silent, :unheard_of])

    assert {:error, %Error{reason: :broken_promise}} =
             at(context.away, :ask_through, [Away, silent, :unheard_of])
  end

  test "an answer can be an address, which is of use at once and comes home again", context do
    maker = at(context.home, :create, [Home, Actors.maker()])
    assert {:ok, made} = at(context.away, :ask, [maker, :make])
    keeper = at(context.away, :create, [Away, Actors.keeper(maker)])
    assert {:ok, same} = at(context.home, :ask, [keeper, :get])
    assert same == maker
    assert at(context.home, :ask, [same, :self]) == {:ok, maker}
    assert %Mote.Address{} = made
  end

  test "timers run where they are armed", context do
    {listener, address} = at(context.home, :listening, [Home])
    assert at(context.away, :timers, [address]) == {true, true, false}
    assert heard(context.home, listener, 1) == [:later]
  end

  test "it is shown with its node", context do
    address = at(context.home, :create, [Home, Actors.echo()])
    show = fn peer, address -> :peer.call(peer, Kernel, :inspect, [address]) end
    assert show.(context.away, address) =~ ~r"^#Mote.Address<\w+ on home@127.0.0.1>$"

    assert show.(context.away, %{address | sponsor: :other}) =~
             ~r"^#Mote.Address<\w+ on :other on home@127.0.0.1>$"

    assert show.(context.home, address) =~ ~r"^#Mote.Address<\w+ in Home>$"
  end

  test "info tells of it", context do
    address = at(context.home, :create, [Home, Actors.counter(3)])

    assert at(context.away, :monitor, [address]) == :up

    assert %{queued: 0, sponsor: :main, behaviour: %{name: :counter, captures: {3}}} =
             at(context.away, :info, [address])
  end

  test "what a node has from another one keeps its actors, and no longer", context do
    making = at(context.home, :create, [Home, Behaviours.making()])
    at(context.home, :collect, [Home])
    at(context.away, :collect, [Away])
    before = at(context.home, :settled_references, [Home])
    keeping = at(context.away, :forget, [Away, making, 500])
    at(context.away, :collect, [Away])
    at(context.home, :collect, [Home])
    assert at(context.home, :count_references, [Home]) >= before + 500
    assert at(context.away, :ask, [keeping, :count]) == {:ok, 500}
    assert at(context.away, :ask, [keeping, :forget]) == {:ok, :ok}

    Mote.Eventually.eventually(fn ->
      at(context.away, :collect, [Away])
      at(context.home, :count_references, [Home]) <= before
    end)
  end

  describe "a machine of another node" do
    test "is given by its name and its node", context do
      there = {Home, :"home@127.0.0.1"}
      {listener, here} = at(context.away, :listening, [Away])
      assert at(context.away, :create_there, [there, Actors.forward(here)]) == :ok
      assert heard(context.away, listener, 1) == [:forwarded]
      assert [ok: :pong, ok: :pong, ok: :pong] = at(context.away, :create_many_there, [there])
      assert at(context.away, :look_there, [there]) == {[:main, :other], Home, :ok, :ok, true, true}
    end

    test "that runs another version of a module says so, with both", context do
      stale = %{Actors.echo() | version: 0xABC}
      there = {Home, :"home@127.0.0.1"}

      assert {:error, %Error{reason: :stale_behaviour, message: text}} =
               at(context.away, :try_create, [there, stale])

      version = Actors.echo().version |> Integer.to_string(16) |> String.downcase()

      assert text =~
               "Mote.Actors is of version abc on away@127.0.0.1, and of version #{version} on home@127.0.0.1"

      gone = %{Actors.echo() | module: NoSuchModule}

      assert {:error, %Error{reason: :undefined_behaviour, message: "on home@127.0.0.1: " <> _}} =
               at(context.away, :try_create, [there, gone])
    end

    test "where what creates ends, ends whoever waits for it as well", context do
      there = {Home, :"home@127.0.0.1"}
      ending = %{Actors.echo() | module: Mote.FarRig.Ending}
      assert at(context.away, :try_create, [there, ending]) == {:exit, :ended}
    end

    test "that is not there, or whose node is not, is an error", context do
      nobody = {Nobody, :"home@127.0.0.1"}
      nowhere = {Home, :"nowhere@127.0.0.1"}
      echo = Actors.echo()
      assert {:error, %Error{reason: :machine_down} = error} = at(context.away, :try_create, [nobody, echo])
      # Whichever function it is, the name is one of that node.
      assert error.message == "no machine of the name Nobody is running on home@127.0.0.1"
      assert {:error, ^error} = at(context.away, :try_info, [nobody])
      assert {:error, %Error{reason: :noconnection}} = at(context.away, :try_create, [nowhere, echo])
      assert {:error, %Error{reason: :noconnection}} = at(context.away, :drain, [nowhere])
      # The own node's machines, too.
      assert at(context.away, :drain, [{Away, :"away@127.0.0.1"}]) == :ok
    end
  end
end
