defmodule Mote.FarLeaseTest do
  # Addresses that go to another node in messages that nobody counts: test/support/far_rig.ex says how.
  use ExUnit.Case, async: true

  import Mote.FarRig, only: [at: 2, at: 3]
  import Mote.Eventually

  alias Mote.{Actors, Address, Error, TwoNodes}
  alias Mote.Far.Lease

  describe "on one node" do
    test "an actor that is lent stays until its time is over" do
      {:ok, machine} = Mote.start_link()
      plain = lent(machine, 60_000)
      collect(machine)
      assert Mote.ask!(plain, :here) == :here
      assert {:ok, kept} = Mote.keep(plain)
      assert kept == plain

      short = lent(machine, 1)
      assert gone(machine, short)
      assert {:error, %Error{reason: :unknown_address}} = Mote.keep(short)
      assert_raise Error, fn -> Mote.lend(short, 1_000) end
    end

    test "what is kept lives on when the lease is over" do
      {:ok, machine} = Mote.start_link()
      plain = lent(machine, 1)
      assert gone(machine, plain)
      echo = Mote.create(machine, Actors.echo())
      {:ok, kept} = Mote.keep(plain(Mote.lend(echo, 1)))
      assert eventually(fn -> :ets.lookup(Lease, {echo.machine, echo.key}) == [] end)
      collect(machine)
      assert Mote.ask!(kept, :here) == :here
    end

    test "lending again makes the time longer, never shorter" do
      {:ok, machine} = Mote.start_link()
      echo = Mote.create(machine, Actors.echo())
      Mote.lend(echo, 60_000)
      due = due(echo)
      Mote.lend(echo, 1)
      assert due(echo) == due
      Mote.lend(echo, 120_000)
      assert due(echo) > due
      Lease.used(echo.machine, echo.key)
      assert due(echo) > due
    end

    test "what is no address, and no time, is a mistake of the caller" do
      {:ok, machine} = Mote.start_link()
      echo = Mote.create(machine, Actors.echo())
      for wrong <- [0, -1, :infinity, 1.5], do: assert_raise(ArgumentError, fn -> Mote.lend(echo, wrong) end)
      assert_raise ArgumentError, fn -> Mote.lend(self(), 1) end
      assert_raise ArgumentError, fn -> Mote.keep(:nothing) end
    end

    # The address of a new actor that nobody has but the lease.
    defp lent(machine, milliseconds) do
      caller = self()

      {pid, ref} =
        spawn_monitor(fn ->
          address = Mote.lend(Mote.create(machine, Actors.echo()), milliseconds)
          Kernel.send(caller, {:lent, plain(address)})
        end)

      assert_receive {:DOWN, ^ref, :process, ^pid, :normal}, 60_000
      assert_receive {:lent, plain}
      plain
    end

    # As it comes by a message of another node.
    defp plain(%Address{key: key} = address), do: %{address | key: :binary.copy(key)}

    defp due(%{machine: machine, key: key}) do
      [{_, _, due}] = :ets.lookup(Lease, {machine, key})
      due
    end

    defp gone(machine, address) do
      eventually(fn ->
        collect(machine)
        match?({:error, %Error{reason: :unknown_address}}, Mote.ask(address, :here))
      end)
    end

    defp collect(machine) do
      :erlang.garbage_collect()
      Mote.gc(machine)
    end
  end

  describe "between two nodes" do
    @describetag skip: TwoNodes.missing()

    setup do
      {:ok, nodes} = TwoNodes.start()
      {:ok, _} = :peer.call(nodes.away, Application, :ensure_all_started, [:mote], 60_000)
      :ok = at(nodes.home, :machine, [Home])
      :ok = at(nodes.away, :machine, [Away])
      nodes
    end

    test "what is lent is used there, which renews it, and kept", context do
      address = at(context.home, :lend_new, [Home, Actors.echo(), 60_000])
      due = at(context.home, :due, [address])
      at(context.home, :collect, [Home])
      assert at(context.away, :ask, [address, 1]) == {:ok, 1}
      assert at(context.home, :due, [address]) > due
      before = at(context.home, :nodes)[:"away@127.0.0.1"].listed
      assert at(context.away, :keep, [address]) == :ok
      assert eventually(fn -> at(context.home, :nodes)[:"away@127.0.0.1"].listed > before end)
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

      TwoNodes.kill(context.home)
      assert {:error, %Error{reason: :noconnection}} = at(context.away, :keep, [address])
    end

    # A node does not know an actor that is gone from one of before its start.
    defp gone?(answer), do: match?({:error, %Error{reason: :machine_down}}, answer)
  end
end
