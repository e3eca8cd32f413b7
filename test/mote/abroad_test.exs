defmodule Mote.AbroadTest do
  # A process of another node is as good a customer as one of this node.
  use ExUnit.Case, async: true

  alias Mote.{Future, Outbox, TwoNodes}

  @moduletag skip: TwoNodes.missing()

  setup_all do
    {:ok, nodes} = TwoNodes.start()
    nodes
  end

  defp listener(context), do: :peer.call(context.away, TwoNodes, :listener, [], 30_000)

  defp heard(context, listener, count),
    do: :peer.call(context.away, TwoNodes, :heard, [listener, count], 30_000)

  defp at_home(context, function, args), do: :peer.call(context.home, TwoNodes, function, args, 30_000)

  test "everything arrives, in order, and is counted as sent out", context do
    for {in_one, last} <- [{1, 1}, {1, 200}, {20_000, 20_000}, {500, 2_000}] do
      listener = listener(context)
      counters = at_home(context, :count, [listener, in_one, last])
      assert heard(context, listener, last) == Enum.to_list(1..last)
      assert %{foreign_out: ^last, undelivered: 0, dropped: 0} = counters
    end
  end

  test "it asks, subscribes and is sent to in every way, also from another machine", context do
    listener = listener(context)
    at_home(context, :ways, [listener])
    heard = heard(context, listener, 5)

    expected = [:asked, {:between, listener}, :later, :published, {:sendx, true, true}]
    assert Enum.sort(heard) == Enum.sort(expected)
  end

  test "one that is gone is as a process that is gone", context do
    listener = listener(context)
    :peer.call(context.away, Process, :exit, [listener, :kill], 30_000)
    assert {%{foreign_out: 200, undelivered: 0}, :still_there} = at_home(context, :gone, [listener])
  end

  test "a node that cannot be reached stops nobody", context do
    nowhere = Mote.AnyTerm.external_pid()
    assert {%{foreign_out: 200}, :still_there} = at_home(context, :gone, [nowhere])
    listener = listener(context)
    at_home(context, :count, [listener, 10, 10])
    assert heard(context, listener, 10) == Enum.to_list(1..10)
  end

  test "what is of use on another node only is named", context do
    %{outbox: outbox, future: future} = ours = at_home(context, :belongings, [])

    answer = &Mote.Sums.answer/0

    calls = [
      {"is not an outbox of this node",
       [&Outbox.take/1, &Outbox.info/1, &Outbox.close/1, &Enum.take(Outbox.stream(&1), 1)], outbox},
      {"is not a future of this node",
       [&Future.touch/1, &Future.poll/1, &Future.finished?/1, &Future.wait_for/1, &Future.kill/1], future},
      {"is not a future of this node", [&Future.wait_for_all/1, &Future.wait_for_any/1, &Future.kill_all/1],
       [future]},
      {"is not an environment of this node", [&Future.future(answer, [], environment: &1)], ours.environment},
      {"a trace of a machine of this node", [&Mote.Trace.stop/1], ours.trace},
      {"the process that asked", [&Mote.await/1, &Mote.yield/1, &Mote.ignore/1], ours.ask},
      {"is not a timer of this node", [&Mote.cancel_timer/1], ours.timer}
    ]

    for {text, functions, thing} <- calls, function <- functions do
      assert assert_raise(ArgumentError, fn -> function.(thing) end).message =~ text
      assert is_binary(inspect(thing))
    end
  end

  test "what was sent before the machine was killed is sent", context do
    for _ <- 1..3 do
      listener = listener(context)
      near = at_home(context, :killed, [listener])
      assert near == Enum.to_list(1..length(near)) and near != []
      assert heard(context, listener, length(near)) == near
    end
  end
end
