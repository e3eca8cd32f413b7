defmodule Mote.FarCourierTest do
  # Couriers and porters, with this node as the other one.
  # Not beside others that have porters of this node: they wait for each other.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.Actors
  alias Mote.Far.{Courier, Listed, Packing, Porter, Table}

  defp courier do
    {:ok, courier} = GenServer.start(Courier, {node(), Listed.actors()})
    on_exit(fn -> Process.exit(courier, :kill) end)
    eventually(fn -> :sys.get_state(courier).porter end)
    courier
  end

  defp porter do
    {:ok, porter} = GenServer.start(Porter, self())
    assert_receive {:mote_welcome, ^porter, _last}, 10_000
    porter
  end

  # What comes while a process may not run is there when it looks next, one behind the other.
  defp at_once(pid, messages) do
    :erlang.suspend_process(pid)
    Enum.each(messages, &send(pid, &1))
    :erlang.resume_process(pid)
  end

  defp entry(message), do: {:mote_put, [{{:reply, :erlang.alias(), message}, 0}]}

  test "what comes to a courier just before it rests leaves" do
    at_once(courier(), [entry(:arrived), :mote_rest])
    assert_receive :arrived, 10_000
  end

  test "what comes to a courier just before a message that it does not know leaves" do
    courier = courier()

    assert capture_log(fn ->
             at_once(courier, [entry(:arrived), :stray])
             assert_receive :arrived, 10_000
           end) =~ "unexpected message: :stray"
  end

  test "a courier whose porter is killed before it was welcomed ends, and does not wait for ever" do
    first = courier()
    %{porter: before} = :sys.get_state(first)
    :erlang.suspend_process(before)
    {:ok, second} = GenServer.start(Courier, {node(), Listed.actors()})
    down = Process.monitor(second)
    # It waits for the one before it.
    waits? = fn pid -> match?(%{courier: ^second, before: ref} when ref != nil, :sys.get_state(pid)) end

    porters = fn ->
      for {_, pid, _, [Porter]} <- DynamicSupervisor.which_children(Mote.Far.Supervisor),
          pid != before,
          do: pid
    end

    waiting = eventually(fn -> Enum.find(porters.(), waits?) end)
    Process.exit(waiting, :kill)
    assert_receive {:DOWN, ^down, :process, ^second, :normal}, 10_000
    :erlang.resume_process(before)
  end

  test "what was counted for a courier that has just ended does not wait for ever" do
    {_, counts, _} = Table.meet(node())
    Table.put(node(), self())
    Table.delete(self())
    Table.give(counts, 1, 1_000, 1)
    assert {nil, now, _} = Table.fetch(node())
    assert Table.get(now, :waiting) == 0
    Table.give(now, 1, 1_000, 1)
    assert Table.get(now, :waiting) > 1_000
  end

  test "a message that the machine has no memory for takes none of its neighbours with it" do
    machine = start_supervised!({Mote, memory: 16 * 1024 * 1024})
    %{machine: native, key: key} = address = Mote.create(machine, Actors.forward(self()))
    large = Enum.to_list(1..1_500_000)

    send(
      porter(),
      {:mote_parcel, 1, true, [], Packing.pack([{:many, native, key, nil, [1, large, 2, large, 3]}])}
    )

    assert_receive {:mote_taken, 1}, 60_000
    for n <- 1..3, do: assert_receive(^n, 10_000)
    assert Mote.info(address).queued == 0
  end

  test "what a porter hears of just before it rests is reported" do
    porter = porter()
    %{dropped: dropped} = :sys.get_state(porter)
    :erlang.suspend_process(porter)
    spawn(fn -> Mote.Native.far_key(<<>>, dropped, 1) end)
    eventually(fn -> {:messages, [:mote_dropped]} == Process.info(porter, :messages) end)
    send(porter, :mote_rest)
    :erlang.resume_process(porter)
    eventually(fn -> not :sys.get_state(porter).reporting end)
    assert Mote.Native.dropped_take(dropped, 10) == []
  end
end
