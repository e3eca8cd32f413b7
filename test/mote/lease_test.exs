defmodule Mote.LeaseTest do
  # Actors that are lent, and kept, on one node. Between nodes: far_lease_test.exs.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.{Actors, Address, Error}
  alias Mote.Far.Lease

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

  test "anything but an address and a time is a mistake of the caller" do
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
