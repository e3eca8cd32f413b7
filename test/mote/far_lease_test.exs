defmodule Mote.FarLeaseTest do
  # Addresses that go to another node in messages that nobody counts: test/support/far_rig.ex says what each node does. On one
  # node: lease_test.exs.
  use ExUnit.Case, async: true

  import Mote.FarRig, only: [at: 2, at: 3]
  import Mote.Eventually

  alias Mote.{Actors, Error, FarRig, Mesh}

  @moduletag skip: Mesh.missing()

  setup_all do
    {:ok, [{home, _}, {away, away_node}]} = Mesh.start(["home", "away"])
    :ok = at(home, :machine, [Home])
    :ok = at(away, :machine, [Away])
    %{home: home, away: away, away_node: away_node}
  end

  test "what is lent is used there, which renews it, and kept", context do
    address = at(context.home, :lend_new, [Home, Actors.echo(), 60_000])
    due = at(context.home, :due, [address])
    at(context.home, :collect, [Home])
    assert at(context.away, :ask, [address, 1]) == {:ok, 1}
    assert at(context.home, :due, [address]) > due
    # What other tests have sent there is let go.
    assert eventually(fn -> at(context.away, :collect, [Away]) && listed(context) == 0 end)
    assert at(context.away, :keep, [address]) == :ok
    assert eventually(fn -> listed(context) == 1 end)
    # Nobody but the other node has it from here on.
    :ok = at(context.home, :end_lease, [address])
    at(context.home, :collect, [Home])
    assert at(context.away, :ask, [address, 2]) == {:ok, 2}
    :ok = at(context.away, :let_go)

    assert eventually(fn ->
             at(context.away, :collect, [Away])
             at(context.home, :collect, [Home])
             gone?(at(context.away, :ask, [address, 3]))
           end)
  end

  test "an address of another node is lent there", context do
    address = at(context.home, :create, [Home, Actors.echo()])
    :ok = at(context.away, :lend, [address, 60_000])
    assert eventually(fn -> is_integer(at(context.home, :due, [address])) end)
  end

  test "what is gone, and a node that is not there, are errors", context do
    address = at(context.home, :lend_new, [Home, Actors.echo(), 1])

    assert eventually(fn ->
             at(context.home, :collect, [Home])
             gone?(at(context.away, :ask, [address, 1]))
           end)

    assert {:error, %Error{reason: :unknown_address}} = at(context.away, :keep, [address])

    nowhere = FarRig.address_of(Mesh.nowhere())
    assert {:error, %Error{reason: :noconnection}} = at(context.away, :keep, [nowhere])
  end

  defp listed(context), do: at(context.home, :nodes)[context.away_node].listed

  # A node does not know an actor that is gone from one of before its start. The message says so.
  defp gone?({:error, %Error{reason: :machine_down, message: message}}), do: message =~ "Mote.lend/2"
  defp gone?(_answer), do: false
end
