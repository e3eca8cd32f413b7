defmodule Mote.RelayTest do
  # Relays of the postman: they are monitored and replaced, end when they have nothing to do, and survive that code is loaded
  # (lib/mote/machine/relay.ex). A relay does not mind which node it sends to: here it is this one.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually
  import Mote.Processes

  setup do
    machine = start_supervised!({Mote, shutdown: [drain: 0]})
    %{machine: machine, postman: postman(machine)}
  end

  # As a machine has it that has messages for a process of another node.
  defp give(postman, messages), do: send(postman, {:mote_abroad, [{self(), messages}]})
  defp relay(postman), do: :sys.get_state(postman).relays[node()]

  test "one that is killed is replaced; what it had not sent is counted and told, and no more", %{
    postman: postman
  } do
    log =
      capture_log(fn ->
        # It may be about to end: then there is another one.
        relay = held_relay(postman)
        give(postman, [1, 2, 3])
        assert Mote.Machine.Relay.waiting(relay(postman)) == 3
        Process.exit(relay.pid, :kill)
        eventually(fn -> relay(postman) == nil end)
      end)

    assert log =~ "3 messages of actors to processes there are lost"
    give(postman, [4, 5])
    assert_receive 4
    assert_receive 5
    for n <- 1..3, do: refute_received(^n)
  end

  defp held_relay(postman) do
    eventually(fn ->
      give(postman, [:first])
      assert_receive :first
      relay = relay(postman)
      held? = relay != nil and :erlang.suspend_process(relay.pid)
      if held? and relay(postman) == relay, do: relay
    end)
  rescue
    # It has ended by then.
    ArgumentError -> held_relay(postman)
  end

  test "one that has nothing to do ends, and nothing is lost by that", %{postman: postman} do
    for n <- 1..20 do
      give(postman, Enum.to_list(1..n))
      for i <- 1..n, do: assert_receive(^i)
      # Sometimes it has ended by the next time, sometimes it is about to.
      if rem(n, 3) == 0, do: eventually(fn -> relay(postman) == nil end)
    end

    eventually(fn -> relay(postman) == nil end)
  end

  test "a machine that ends waits for what its relays have to send", %{machine: machine, postman: postman} do
    relay = held_relay(postman)
    give(postman, [1, 2, 3])
    :sys.get_state(postman)
    test = self()

    stopping =
      spawn(fn ->
        Mote.stop(machine)
        send(test, :stopped)
      end)

    # The postman waits for the relay, and the machine for the postman.
    eventually(fn ->
      match?({:current_function, {Mote.Machine.Relay, _, _}}, Process.info(postman, :current_function))
    end)

    assert Process.alive?(machine) and Process.alive?(stopping)
    :erlang.resume_process(relay.pid)
    assert_receive :stopped, 10_000
    for n <- 1..3, do: assert_received(^n)
  end
end
