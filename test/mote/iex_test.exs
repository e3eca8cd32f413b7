defmodule Mote.IExTest do
  # Not async: it looks at all machines of the node.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO
  import Mote.IEx

  alias Mote.Actors

  doctest Mote.IEx

  setup do
    machine = start_supervised!({Mote, name: Mote.IExTest})
    use_machine(machine)
    %{machine: machine}
  end

  test "the short forms are the long ones", %{machine: machine} do
    assert {machine, Mote.IExTest} in ms()
    assert m() == machine
    counter = Mote.create(machine, Actors.counter(1))
    assert look(counter) == Mote.info(counter)
    assert look()[:machine] == Mote.machine(machine)
    assert look(machine)[:sponsors] |> Keyword.keys() == [:main]
    assert look()[:counters] |> Keyword.values() |> Enum.min(fn -> 1 end) > 0
    assert [%{address: ^counter, bytes: 16}] = top(:bytes)
    assert top(:queued, 3) == []
    assert top(:turns) == []
    assert [%{behaviour: {Actors, :counter, 1}, actors: 1}] = behaviours()
    assert capture_io(fn -> assert graph(counter) == :ok end) == "graph LR\n  n0[\"Mote.Actors.counter/1\"]\n"
    assert pause() == :ok
    assert step() == :idle
    Mote.send(counter, {:add, 1})

    assert capture_io(fn -> assert step() == :ok end) ==
             "main Mote.Actors.counter(1) <- {:add, 1}\n  become Mote.Actors.counter(2)\n"

    assert step(:main) == :idle
    assert catch_error(step(:nobody)).reason == :unknown_sponsor
    assert resume() == :ok

    text =
      capture_io(fn ->
        trace = trace([message: {:add, :_}], 1)
        monitor = Process.monitor(trace.printer)
        Mote.send(counter, {:add, 1})
        :ok = Mote.drain(machine)
        assert untrace(trace) == %{turns: 1, dropped: 0}
        assert_receive {:DOWN, ^monitor, _, _, :normal}
      end)

    assert text =~ "#1 main Mote.Actors.counter(2) <- {:add, 1}"
  end

  test "no name is one that IEx has imported already" do
    assert Enum.filter(Mote.IEx.__info__(:functions), &(&1 in IEx.Helpers.__info__(:functions))) == []
  end

  test "which machine is meant must be clear" do
    Process.delete({Mote.IEx, :machine})
    start_supervised!({Mote, id: :another})
    assert_raise ArgumentError, ~r/there are several machines/, fn -> pause() end
    assert catch_error(use_machine(:nobody)).reason == :machine_down
    assert_raise ArgumentError, ~r/expected a machine: /, fn -> use_machine(nil) end
    assert_raise ArgumentError, ~r/there are several machines/, fn -> pause() end
  end
end
