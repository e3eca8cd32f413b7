defmodule Mote.MonitorTest do
  use ExUnit.Case, async: true

  alias Mote.{Actors, Address}

  @moduletag capture_log: true

  test "a machine that is stopped, by its pid, its names and an address" do
    name = Mote.MonitorTest.Named
    machine = start_supervised!({Mote, name: name})
    echo = Mote.create(machine, Actors.echo())
    refs = for by <- [machine, name, echo], do: Mote.monitor(by)
    :ok = Mote.stop(machine, :shutdown)
    for ref <- refs, do: assert_receive({:DOWN, ^ref, :process, ^machine, :shutdown})
  end

  test "a machine that is killed" do
    {:ok, machine} = start_unlinked(name: {:global, __MODULE__})
    ref = Mote.monitor({:global, __MODULE__})
    Process.exit(machine, :kill)
    assert_receive {:DOWN, ^ref, :process, ^machine, :killed}
  end

  test "a machine that is down already" do
    {:ok, machine} = start_unlinked([])
    echo = Mote.create(machine, Actors.echo())
    :ok = Mote.stop(machine)

    for by <- [machine, echo] do
      ref = Mote.monitor(by)
      assert_receive {:DOWN, ^ref, :process, ^machine, :noproc}
    end

    for nobody <- [Mote.MonitorTest.Nobody, {:global, :nobody}, {:via, :global, :nobody}] do
      ref = Mote.monitor(nobody)
      assert_receive {:DOWN, ^ref, :process, ^nobody, :noproc}
    end
  end

  test "an address that no machine gave" do
    ref = Mote.monitor(%Address{machine: make_ref(), key: <<>>})
    assert_receive {:DOWN, ^ref, :process, :unknown, :noproc}
  end

  test "the order is taken back" do
    machine = start_supervised!(Mote)
    ref = Mote.monitor(machine)
    assert Process.demonitor(ref, [:flush])
    :ok = Mote.stop(machine)
    refute_receive {:DOWN, _, _, _, _}, 10
  end

  test "what actors sent is there before" do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 2]]})
    forward = Mote.create(machine, Actors.forward(self()))
    ref = Mote.monitor(machine)
    for n <- 1..1_000, do: Mote.send(forward, n)
    :ok = Mote.stop(machine)
    assert_receive {:DOWN, ^ref, _, _, _}
    {:messages, before} = Process.info(self(), :messages)
    Process.sleep(20)
    assert Process.info(self(), :messages) == {:messages, before}
  end

  test "what is no machine" do
    assert_raise ArgumentError, ~r/expected a machine/, fn -> Mote.monitor("machine") end
  end

  defp start_unlinked(opts) do
    {:ok, pid} = Mote.start_link(opts)
    Process.unlink(pid)
    {:ok, pid}
  end
end
