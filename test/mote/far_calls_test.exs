defmodule Mote.FarCallsTest do
  # Functions for machines and actors of other nodes: they come after what was sent before, keep to their timeouts, and do no more than
  # they would on their own node.
  use ExUnit.Case, async: true

  import Mote.Far.Home, only: [is_function_name: 1]
  import Mote.FarCounts, only: [at: 3]

  alias Mote.{Error, FarCounts, FarRig, Mesh, TwoNodes}
  alias Mote.FarCounts.Behaviours

  @moduletag skip: TwoNodes.missing()

  @there {Away, :"away@127.0.0.1"}

  setup do
    Process.flag(:trap_exit, true)
    FarRig.machines()
  end

  defp checking(context), do: FarRig.at(context.away, :create, [Away, Behaviours.checking(0, 0, 0)])

  test "who keeps callers waiting, of a machine of another node", context do
    assert :peer.call(context.home, Mote, :waiting, [@there]) == []
  end

  test "a peek at an actor of another node, and at one that is gone", context do
    actor = FarRig.at(context.away, :create, [Away, Behaviours.checking(7, 0, 0)])
    assert :peer.call(context.home, Mote, :peek, [actor]) == {:ok, {:checking, 7, 0, 0}}
    :ok = :peer.call(context.home, Mote, :stop, [@there])
    assert {:error, %Error{reason: :machine_down}} = :peer.call(context.home, Mote, :peek, [actor])
  end

  test "a machine of another node is given by its name there or by its pid", context do
    pid = :peer.call(context.away, Process, :whereis, [Away])

    for machine <- [@there, pid] do
      actor = :peer.call(context.home, Mote, :create, [machine, Behaviours.checking(0, 0, 0)])
      assert %{machine: ^pid} = :peer.call(context.home, Mote, :info, [actor])
      assert [_, _] = :peer.call(context.home, Mote, :create_many, [machine, Behaviours.checking(0, 0, 0), 2])
      assert %{memory: _} = :peer.call(context.home, Mote, :info, [machine])
      assert :peer.call(context.home, Mote, :drain, [machine]) == :ok
      assert :peer.call(context.home, Mote, :gc, [machine]) == :ok

      assert {:error,
              %Error{
                reason: :machine_down,
                message: "this is done on the node of the machine only, away" <> _
              }} = :peer.call(context.home, Mote, :load, [machine, Behaviours])
    end
  end

  # A name that is missing in `Mote.Far.Home` is refused when it is called, which no compiler before Elixir 1.18 sees.
  test "all that is called for other nodes may be called there" do
    called =
      for file <- Path.wildcard("lib/**/*.ex"),
          {call, _, args} <- file |> File.read!() |> Code.string_to_quoted!() |> Macro.prewalker(),
          called?(call),
          name <- Enum.filter(args, &is_atom/1),
          uniq: true,
          do: name

    assert :peek in called and :sponsors in called
    assert Enum.reject(called, &is_function_name/1) == []
  end

  defp called?({:., _, [{:__aliases__, _, [:Far]}, name]}), do: name in [:create!, :create_own!]
  defp called?(name), do: name == :there!

  test "drain and info come after what the caller has sent before", context do
    for function <- [:info, @there] do
      missing = at(context.home, :missing_after, [checking(context), 30, function])
      assert missing == List.duplicate(0, 30)
    end
  end

  test "nothing that an actor has sent comes after the end of its machine", context do
    :ok = FarRig.at(context.away, :machine, [Ending])
    listener = at(context.home, :hear_of, [{Ending, :"away@127.0.0.1"}])
    :ok = at(context.away, :shout_and_stop, [Ending, listener, 100_000])
    assert at(context.home, :heard, [listener]) == {{100_000, :normal}, {:message_queue_len, 0}}
  end

  test "only machines are stopped", context do
    agent = FarRig.at(context.away, :agent, [])
    assert {:exit, {:noproc, {Mote, :stop, [^agent | _]}}} = at(context.home, :try_stop, [agent])
    assert :peer.call(context.away, Process, :alive?, [agent])
    nobody = {Nobody, :"away@127.0.0.1"}
    assert {:exit, {:noproc, {Mote, :stop, [^nobody | _]}}} = at(context.home, :try_stop, [nobody])

    for how <- [:name, :pid] do
      :ok = FarRig.at(context.away, :machine, [Stopped])
      pid = :peer.call(context.away, Process, :whereis, [Stopped])
      machine = if how == :name, do: {Stopped, :"away@127.0.0.1"}, else: pid
      assert at(context.home, :try_stop, [machine]) == :ok
      refute :peer.call(context.away, Process, :alive?, [pid])
    end

    assert {:exit, {{:nodedown, _}, {Mote, :stop, _}}} = at(context.home, :try_stop, [{Away, Mesh.nowhere()}])
  end

  test "timeouts hold where the other node does nothing", context do
    address = checking(context)
    [_] = at(context.home, :missing_after, [address, 1, :info])
    os = TwoNodes.freeze(context.away)
    outcomes = at(context.home, :frozen, [address, @there])
    {_, 0} = TwoNodes.thaw(os)

    expected = [
      drain: :timeout,
      gc: :timeout,
      info: :timeout,
      info_of_machine: :timeout,
      sponsors: :timeout,
      top: :timeout,
      behaviours: :timeout,
      monitor: :noconnection,
      stop: {:exit, :timeout}
    ]

    assert outcomes == expected
  end

  test "a node that speaks another protocol is told of once, and what is sent there is counted", context do
    address = checking(context)
    :ok = at(context.away, :refuse, [])
    assert {1, counts, error} = at(context.home, :refused, [address, 1_000])
    # With the question.
    assert %{sent: 0, lost: 1_001, undelivered: 0} = counts
    assert %Error{reason: :noconnection, message: text} = error
    assert text =~ "another version of the protocol"
  end

  test "what only looks like an address or a customer arrives as it was, with what is in it", context do
    echo = FarRig.at(context.away, :create, [Away, Mote.Actors.echo()])
    near = FarRig.at(context.home, :create, [Home, Mote.Actors.echo()])

    like = [
      %Mote.Address{machine: make_ref(), key: "short"},
      %{near | key: "short"},
      %{echo | key: "short"},
      %Mote.Address{machine: 1, key: 2},
      %Mote.Address{machine: nil, key: echo},
      %Mote.Address{machine: self(), key: {near, echo}},
      %{__struct__: Mote.Address, a: near, b: echo, c: 1},
      %{__struct__: Mote.Address},
      %Mote.Customer{ref: nil},
      %Mote.Customer{ref: {1, near}},
      %Mote.Customer{ref: {make_ref(), "short"}},
      %{__struct__: Mote.Customer, x: echo}
    ]

    for term <- like ++ [like] do
      assert {:ok, answer} = FarRig.at(context.home, :ask, [echo, term])
      assert answer == term
    end

    # And what is in it is of use: the actor was held on the way.
    assert {:ok, %{key: {held, _}}} =
             FarRig.at(context.home, :ask, [echo, %Mote.Address{machine: nil, key: {near, echo}}])

    assert FarRig.at(context.home, :ask, [held, 1]) == {:ok, 1}
    assert FarCounts.at(context.home, :counts, [:"away@127.0.0.1"]).lost == 0
  end
end
