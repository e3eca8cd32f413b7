defmodule Mote.BeamSponsorCallerTest do
  # What a turn that may call any Elixir knows of the process that waits for it.
  use ExUnit.Case, async: true

  import Mote.Eventually
  require Logger

  defmodule Actors do
    use Mote.Behaviour

    defactor service(), beam: true do
      {customer, :context} ->
        send customer, {Process.get(:"$callers"), Logger.metadata()}

      {_customer, {:tell, target}} ->
        send target, {Process.get(:"$callers"), Logger.metadata()}

      {:context, target} ->
        send target, {Process.get(:"$callers"), Logger.metadata()}

      {customer, {:ask, other}} ->
        send customer, {Kernel.self(), Mote.ask!(other, :context)}
    end

    defactor front(service) do
      {customer, request} -> send service, {customer, request}
    end
  end

  setup do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true]])
    Logger.metadata(request_id: "r1")
    %{machine: machine, service: Mote.create(machine, Actors.service(), sponsor: :io)}
  end

  test "is asked by it, directly or through others", %{machine: machine, service: service} do
    me = self()
    front = Mote.create(machine, Actors.front(service))

    for address <- [service, front] do
      assert {[^me], [request_id: "r1"]} = Mote.ask!(address, :context)
      assert {[^me], [request_id: "r1"]} = Mote.await(Mote.async(address, :context))
    end

    assert [{:ok, {[^me], [request_id: "r1"]}}] = Mote.ask_all([service], :context)
  end

  test "follows the callers of its caller, as a task does", %{machine: machine, service: service} do
    me = self()

    task =
      Task.async(fn ->
        Logger.metadata(step: 2)
        {self(), Mote.ask!(service, :context)}
      end)

    assert {pid, {[pid, ^me], [step: 2]}} = Task.await(task)

    other = Mote.create(machine, Actors.service(), sponsor: :io)
    assert {worker, {[worker, ^me], [request_id: "r1"]}} = Mote.ask!(service, {:ask, other})
  end

  test "a message that nobody waits for has no caller, and an asker that has ended leaves its pid",
       %{machine: machine, service: service} do
    Mote.send(service, {:context, self()})
    assert_receive {nil, []}

    # The question waits while the machine stands still, and its asker ends.
    outbox = Mote.Outbox.open(machine)
    :ok = Mote.pause(machine)
    asker = spawn(fn -> Mote.async(service, {:tell, outbox}) end)
    eventually(fn -> not Process.alive?(asker) end)
    :ok = Mote.resume(machine)
    :ok = Mote.drain(machine)
    assert Mote.Outbox.take(outbox) == [{[asker], []}]
  end
end
