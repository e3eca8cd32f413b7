defmodule Mote.StrayTest do
  # What somebody sends who takes a process of Mote for another one ends nothing, and is told in the log.
  use ExUnit.Case, async: false

  import ExUnit.CaptureLog
  import Mote.Eventually
  import Mote.Processes

  alias Mote.{Future, Trace}
  alias Mote.Library.Beam
  alias Mote.Machine.Relay
  alias Mote.Measure.Plotter

  @moduletag :capture_log

  setup do
    %{machine: start_supervised!({Mote, name: __MODULE__})}
  end

  # A call, a cast and messages; a process that answers no calls is only sent to.
  defp ends_nothing(pid, name, calls? \\ true) do
    log =
      capture_log(fn ->
        if calls?, do: assert(GenServer.call(pid, :stray) == {:error, :unknown_request})
        GenServer.cast(pid, {:stray, 1})
        for stray <- [:stray, {:stray, 2}, {make_ref(), :stray}, {:stray, 1, 2}], do: send(pid, stray)
        if calls?, do: :sys.get_state(pid), else: eventually(fn -> waits?(pid) end)
      end)

    assert Process.alive?(pid)
    kinds = if calls?, do: ["call", "cast", "message"], else: ["message"]
    for kind <- kinds, do: assert(log =~ ~r/\[warning\] #{name}.* got an unexpected #{kind}/)
  end

  # In its own loop, with nothing left to look at.
  defp waits?(pid) do
    info = Process.info(pid, [:message_queue_len, :status, :current_function])

    {info[:message_queue_len], info[:status], info[:current_function]} ==
      {0, :waiting, {:erlang, :hibernate, 3}}
  end

  test "a machine, its postman and the janitor", %{machine: machine} do
    echo = Mote.create(machine, Mote.Actors.echo())
    ends_nothing(machine, "machine Mote.StrayTest")
    postman = postman(machine)
    ends_nothing(postman, "postman")
    # As from another process than its machine.
    send(postman, {:EXIT, self(), :shutdown})
    send(postman, {:mote_abroad, :nobody})
    ends_nothing(postman, "postman")
    ends_nothing(Process.whereis(Mote.Machine.Janitor), "janitor")
    assert Mote.ask!(echo, 1) == 1
  end

  test "a relay to another node" do
    relay = Relay.start(node())
    ends_nothing(relay.pid, "relay")
    Relay.give(relay, self(), [:second])
    assert_receive :second
  end

  test "a keeper of an environment", %{machine: machine} do
    Future.with_environment(machine, [max_threads: 1], fn ->
      keeper = Future.environment().keeper
      ends_nothing(keeper, "keeper")
      GenServer.cast(keeper, {:watch, :nothing})
      ends_nothing(keeper, "keeper")
    end)
  end

  test "a service and a painter", %{machine: machine} do
    ends_nothing(start_supervised!({Beam, machine: machine, run: & &1}), "service")
    {:ok, painter} = Plotter.start_link()
    ends_nothing(painter, "painter")
  end

  test "the printer of a trace", %{machine: machine} do
    trace = Trace.start(machine, [], to: :iex)
    ends_nothing(trace.printer, "printer", false)
    Trace.stop(trace)
  end
end
