defmodule Broker.OrdersTest do
  # What must be so in whatever order turns run.
  use ExUnit.Case, async: true

  alias Broker.{Packets, Reader, StandIn, Topic}

  @seeds 100
  @moduletag timeout: 300_000

  defp start(machine) do
    root = Mote.create(machine, Topic.root())
    env = %{root: root, sessions: Mote.Directory.start(machine), limit: 10_000, patience: 10_000}
    %{machine: machine, root: root, env: env, box: Mote.Outbox.open(machine)}
  end

  # A client that has sent all of this.
  defp client(stage, name, frames) do
    socket = Mote.create(stage.machine, StandIn.socket(stage.box, name))
    Mote.send(Mote.create(stage.machine, Reader.door(stage.env)), {:connected, socket})
    Mote.send(socket, {:feed, IO.iodata_to_binary(frames)})
    socket
  end

  defp heard(stage) do
    for {name, event} <- Mote.Outbox.take(stage.box, 10_000), reduce: %{} do
      heard when is_binary(event) ->
        Map.update(heard, name, Packets.read(event, 5), &(&1 ++ Packets.read(event, 5)))

      heard ->
        Map.update(heard, name, [event], &(&1 ++ [event]))
    end
  end

  test "clients of one name that come while others go: each is answered, and one is left at most" do
    graph = fn machine ->
      stage = start(machine)
      for n <- 1..3, do: client(stage, n, [Packets.connect("same"), Packets.disconnect()])
      client(stage, :last, [Packets.connect("same"), Packets.subscribe(1, [{"a", 1}]), Packets.ping()])
      stage
    end

    Mote.Test.explore(
      graph,
      fn stage ->
        heard = heard(stage)

        for n <- [1, 2, 3, :last] do
          assert [{:connack, 0, _, _} | rest] = heard[n]
          # Everything was answered before the end of what is written.
          assert n == :last or List.last(rest) == :shut
        end

        count = Mote.Directory.count(stage.env.sessions)
        open = not Enum.any?(heard.last, &(&1 in [:shut, :closed]))
        assert count == if(open, do: 1, else: 0)
      end,
      seeds: @seeds
    )
  end

  test "subscriptions that come and go leave nothing behind, and those that stay are served" do
    graph = fn machine ->
      stage = start(machine)

      for n <- 1..3 do
        filters = [{"a/b/c", 1}, {"a/+", 0}, {"$share/g/a/b", 1}]

        client(stage, n, [
          Packets.connect("#{n}"),
          Packets.subscribe(1, filters),
          Packets.unsubscribe(2, for({filter, _} <- filters, do: filter)),
          Packets.publish("a/b", "", retain: true)
        ])
      end

      client(stage, :stays, [Packets.connect("stays"), Packets.subscribe(1, [{"a/b/c", 0}])])
      stage
    end

    Mote.Test.explore(
      graph,
      fn stage ->
        heard = heard(stage)
        for n <- 1..3, do: assert({:unsuback, 2, [0, 0, 0]} in heard[n])
        assert %{"a" => %{"b" => %{"c" => :served}}} == topics(stage.root)
      end,
      seeds: @seeds
    )
  end

  # The trie, as maps; who is served by nobody else is served.
  defp topics(topic) do
    {:ok, {:topic, _, _, below, sessions, groups, retained}} = Mote.peek(topic)
    assert groups == %{} and retained == nil

    if below == %{} and map_size(sessions) == 1,
      do: :served,
      else: Map.new(below, fn {level, {topic, _}} -> {level, topics(topic)} end)
  end
end
