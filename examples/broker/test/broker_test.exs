defmodule Broker.BrokerTest do
  # The broker on machines, with sockets that stand in, and time that the tests let pass.
  use ExUnit.Case, async: true

  alias Broker.{Packets, Stage}

  defp subscribed(client, filters, opts \\ []) do
    opts = [version: client.version] ++ opts
    codes = for {_, options} <- filters, do: min(rem(options, 4), 1)
    answers = Stage.say(client, Packets.subscribe(1, filters, opts))
    assert {:suback, 1, codes} in answers
    answers -- [{:suback, 1, codes}]
  end

  defp publish(client, topic, payload, opts \\ []),
    do: Stage.say(client, Packets.publish(topic, payload, [version: client.version] ++ opts))

  # No turn was aborted, and nothing was sent to nobody.
  defp clean(stage) do
    wrong = for {name, n} <- Mote.info(stage.machine).counters, n != 0, do: name
    assert Enum.filter(wrong, &(&1 == :dropped or String.starts_with?("#{&1}", "aborts"))) == []
  end

  setup context do
    {:ok, stage: Stage.start(context[:opts] || [])}
  end

  describe "a connection" do
    test "is greeted in its own version", %{stage: stage} do
      {_, answers} = Stage.client(stage, "one", version: 4)
      assert answers == [{:connack, 0, 0}]
      {_, answers} = Stage.client(stage, "two")
      # QoS 1 at most, and the largest packet.
      assert answers == [{:connack, 0, 0, <<0x24, 1, 0x27, 10_000::32>>}]
    end

    test "without a name gets one, which MQTT 5 is told", %{stage: stage} do
      {_, [{:connack, 0, 0, properties}]} = Stage.client(stage, "")
      assert <<_::binary-size(7), 0x12, 37::16, "mote-", _::binary-size(32)>> = properties
      {_, [{:connack, 0, 0}]} = Stage.client(stage, "", version: 4)
      assert Mote.Directory.count(stage.sessions) == 2
    end

    test "that is refused is told why, and closed when the client has gone", %{stage: stage} do
      socket = Stage.socket(stage, :old, 4)
      bytes = Packets.packet(0x10, [Packets.text("MQTT"), <<3, 2, 0::16>>, Packets.text("a")])
      assert Stage.say(socket, bytes) == [{:connack, 1, 0}, :shut]
      assert Stage.say(socket, "more") == []
      assert Stage.say(socket, {:end, :closed}) == [:closed]
      assert Mote.Directory.count(stage.sessions) == 0
    end

    test "whose client does not go is closed all the same", %{stage: stage} do
      socket = Stage.socket(stage, :old, 4)
      bytes = Packets.packet(0x10, [Packets.text("MQTT"), <<3, 2, 0::16>>, Packets.text("a")])
      Stage.say(socket, {:stuck, true})
      assert Stage.say(socket, bytes) == [{:connack, 1, 0}]
      Stage.advance(stage, 2_000)
      assert Stage.heard(socket) == [:closed]
    end

    test "is closed when its CONNECT does not come, or something else", %{stage: stage} do
      silent = Stage.socket(stage, :silent)
      half = Stage.socket(stage, :half)
      assert Stage.say(half, <<0x10, 50, "half">>) == []
      assert Stage.say(Stage.socket(stage, :other), Packets.ping()) == [:closed]
      assert Stage.say(Stage.socket(stage, :web), "GET / HTTP/1.1\r\n\r\n") == [:closed]
      assert Stage.heard(silent) == []
      Stage.advance(stage, 10_000)
      assert Stage.heard(silent) == [:closed]
      assert Stage.heard(half) == [:closed]
    end

    test "may bring its packets in any pieces", %{stage: stage} do
      socket = Stage.socket(stage, :slow)

      all = [
        Packets.connect("slow"),
        Packets.subscribe(1, [{"a", 0}]),
        Packets.publish("a", "x"),
        Packets.ping()
      ]

      heard = for <<byte <- IO.iodata_to_binary(all)>>, answer <- Stage.say(socket, <<byte>>), do: answer
      assert [{:connack, 0, 0, _}, {:suback, 1, [0]}, {:publish, "a", "x", []}, :pong] = heard

      at_once =
        Stage.say(Stage.socket(stage, :fast), IO.iodata_to_binary([Packets.connect("fast") | tl(all)]))

      assert Enum.sort(at_once -- [hd(at_once)]) == Enum.sort(tl(heard))
      clean(stage)
    end
  end

  describe "a client that breaks the rules is told in MQTT 5, and closed" do
    for {what, bytes, code} <- [
          {"a second CONNECT", Broker.Packets.connect("again"), 0x82},
          {"a packet type that nobody has", Broker.Packets.packet(0, ""), 0x81},
          {"a packet of servers", Broker.Packets.packet(0x20, <<0, 0>>), 0x82},
          {"too long a packet", <<0x30, 0xFF, 0x7F>>, 0x95},
          {"a length without end", <<0x30, 0xFF, 0xFF, 0xFF, 0xFF>>, 0x81},
          {"wildcards in what is published", Broker.Packets.publish("a/+", "x"), 0x90},
          {"what is no UTF-8", Broker.Packets.publish(<<0xC3, 0x28>>, "x"), 0x81},
          {"QoS 2", Broker.Packets.publish("a", "x", qos: 2), 0x9B},
          {"flags that are reserved",
           Broker.Packets.packet(0x80, [<<1::16, 0>>, Broker.Packets.text("a"), 0]), 0x81}
        ] do
      test what, %{stage: stage} do
        {client, _} = Stage.client(stage, "bad", will: [topic: "gone", payload: "bad"])
        {witness, _} = Stage.client(stage, "witness")
        subscribed(witness, [{"gone", 0}])
        assert Stage.say(client, unquote(bytes) <> Packets.ping()) == [{:disconnect, unquote(code)}, :shut]
        assert Stage.heard(witness) == [{:publish, "gone", "bad", []}]
        assert Stage.say(client, {:end, :closed}) == [:closed]

        {older, _} = Stage.client(stage, "older", version: 4)
        bytes = if unquote(code) == 0x82, do: Packets.packet(0x20, <<0, 0>>), else: unquote(bytes)
        assert Stage.say(older, bytes) == [:shut]
        assert Stage.say(older, {:end, :closed}) == [:closed]
        clean(stage)
        assert Mote.Directory.count(stage.sessions) == 1
      end
    end
  end

  describe "keep-alive" do
    test "ends a connection that says nothing for one and a half times as long", %{stage: stage} do
      {client, _} = Stage.client(stage, "silent", keep_alive: 10, will: [topic: "gone", payload: "silent"])
      {witness, _} = Stage.client(stage, "witness")
      subscribed(witness, [{"gone", 0}])
      Stage.advance(stage, 14_000)
      assert Stage.say(client, Packets.ping()) == [:pong]
      Stage.advance(stage, 14_999)
      assert Stage.heard(client) == []
      Stage.advance(stage, 1)
      assert Stage.heard(client) == [{:disconnect, 0x8D}, :shut]
      assert Stage.heard(witness) == [{:publish, "gone", "silent", []}]
    end

    test "is not fooled by a byte at a time", %{stage: stage} do
      {client, _} = Stage.client(stage, "drip", keep_alive: 10)
      Stage.say(client, <<0x30, 100>>)

      for _ <- 1..14 do
        Stage.advance(stage, 1_000)
        Stage.say(client, "x")
      end

      Stage.advance(stage, 1_000)
      assert Stage.heard(client) == [{:disconnect, 0x8D}, :shut]
    end
  end

  describe "subscriptions" do
    test "take what fits them", %{stage: stage} do
      {publisher, _} = Stage.client(stage, "publisher")

      for {filter, topics} <- [
            {"a/b", ["a/b"]},
            {"a/+", ["a/", "a/b", "a/c"]},
            {"+/b", ["a/b", "/b"]},
            {"+/+", ["a/", "a/b", "a/c", "/b"]},
            {"+", ["a"]},
            {"a/#", ["a", "a/", "a/b", "a/b/c", "a/c"]},
            {"#", ["a", "a/", "a/b", "a/b/c", "a/c", "/b"]},
            {"a/+/c", ["a/b/c"]},
            {"$SYS/#", ["$SYS/x"]},
            {"$SYS/+", ["$SYS/x"]},
            {"+/x", []}
          ] do
        {client, _} = Stage.client(stage, filter)
        subscribed(client, [{filter, 0}])

        for topic <- ["a", "a/", "a/b", "a/b/c", "a/c", "/b", "$SYS/x"] do
          publish(publisher, topic, topic)
          expected = if topic in topics, do: [{:publish, topic, topic, []}], else: []
          assert {filter, topic, Stage.heard(client)} == {filter, topic, expected}
        end
      end
    end

    test "end, and leave nothing behind", %{stage: stage} do
      {client, _} = Stage.client(stage, "one")
      subscribed(client, [{"a/b/c", 0}, {"a/+/#", 1}, {"$share/g/a/b", 0}])
      assert {:ok, {:topic, nil, _, below, _, _, _}} = Mote.peek(stage.root)
      assert Map.keys(below) == ["a"]
      filters = ["a/b/c", "never", "$share/g/a/b", "a/+/#"]
      assert Stage.say(client, Packets.unsubscribe(7, filters)) == [{:unsuback, 7, [0, 0x11, 0, 0]}]
      assert publish(client, "a/b/c", "x") == []
      assert {:ok, {:topic, nil, _, below, _, _, _}} = Mote.peek(stage.root)
      assert below == %{}
      subscribed(client, [{"a/b/c", 0}])
      assert publish(client, "a/b/c", "x") == [{:publish, "a/b/c", "x", []}]
      clean(stage)
    end

    test "have options in MQTT 5: no local, as published, a number", %{stage: stage} do
      {client, _} = Stage.client(stage, "one")
      {other, _} = Stage.client(stage, "two")
      subscribed(client, [{"a", 0x04}, {"b", 0x08}], properties: <<0x0B, 0xAC, 2>>)
      assert publish(client, "a", "mine") == []
      publish(other, "a", "theirs", retain: true)
      publish(other, "b", "kept", retain: true)

      assert Stage.heard(client) == [
               {:publish, "a", "theirs", properties: <<0x0B, 0xAC, 2>>},
               {:publish, "b", "kept", retain: 1, properties: <<0x0B, 0xAC, 2>>}
             ]
    end

    test "go from either version to the other, with properties where there are any", %{stage: stage} do
      {new, _} = Stage.client(stage, "new")
      {old, _} = Stage.client(stage, "old", version: 4)
      for client <- [new, old], do: subscribed(client, [{"a", 1}])
      properties = <<0x26>> <> Packets.text("k") <> Packets.text("v")

      assert publish(new, "a", "from new", properties: properties) == [
               {:publish, "a", "from new", properties: properties}
             ]

      assert Stage.heard(old) == [{:publish, "a", "from new", []}]
      assert publish(old, "a", "from old") == [{:publish, "a", "from old", []}]
      assert Stage.heard(new) == [{:publish, "a", "from old", []}]
    end

    test "that are shared take turns", %{stage: stage} do
      clients = for n <- 1..3, do: elem(Stage.client(stage, "worker #{n}"), 0)
      for client <- clients, do: subscribed(client, [{"$share/workers/jobs/#", 1}])
      {all, _} = Stage.client(stage, "all")
      subscribed(all, [{"jobs/#", 0}])
      {boss, _} = Stage.client(stage, "boss")
      for n <- 1..6, do: publish(boss, "jobs/#{n}", "")

      assert for(client <- clients, do: for({_, topic, _, _} <- Stage.heard(client), do: topic)) ==
               [["jobs/1", "jobs/4"], ["jobs/2", "jobs/5"], ["jobs/3", "jobs/6"]]

      assert length(Stage.heard(all)) == 6
      assert [{:unsuback, 2, [0]}] = Stage.say(hd(clients), Packets.unsubscribe(2, ["$share/workers/jobs/#"]))
      for n <- 1..4, do: publish(boss, "jobs/#{n}", "")
      assert for(client <- clients, do: length(Stage.heard(client))) == [0, 2, 2]
    end
  end

  describe "retained messages" do
    test "wait for subscriptions, and go when they are empty", %{stage: stage} do
      {publisher, _} = Stage.client(stage, "publisher")
      for topic <- ["a", "a/b", "a/b/c", "$x"], do: publish(publisher, topic, "at " <> topic, retain: true)

      for {filter, topics} <- [
            {"a/b", ["a/b"]},
            {"a/#", ["a", "a/b", "a/b/c"]},
            {"+/b", ["a/b"]},
            {"#", ["a", "a/b", "a/b/c"]}
          ] do
        {client, _} = Stage.client(stage, filter, version: 4)
        kept = subscribed(client, [{filter, 0}])
        assert Enum.sort(kept) == for(topic <- topics, do: {:publish, topic, "at " <> topic, retain: 1})
      end

      {client, _} = Stage.client(stage, "shared")
      assert subscribed(client, [{"$share/g/#", 0}]) == []
      # The last one counts, and what is new is not marked.
      {client, _} = Stage.client(stage, "last", version: 4)
      subscribed(client, [{"a/b", 1}])
      publish(publisher, "a/b", "new", retain: true, qos: 1)
      assert Stage.heard(client) == [{:publish, "a/b", "new", qos: 1, id: 1}]
      assert subscribed(client, [{"a/b", 1}]) == [{:publish, "a/b", "new", qos: 1, id: 2, retain: 1}]
      publish(publisher, "a/b", "", retain: true)
      assert Stage.heard(client) == [{:publish, "a/b", "", []}]
      assert subscribed(client, [{"a/b", 0}]) == []
      publish(publisher, "never/there", "", retain: true)
      clean(stage)
    end

    test "come with new subscriptions only, or never, if MQTT 5 says so", %{stage: stage} do
      {client, _} = Stage.client(stage, "one")
      publish(client, "a", "x", retain: true)
      assert subscribed(client, [{"a", 0x20}]) == []
      assert subscribed(client, [{"a", 0x10}]) == []
      Stage.say(client, Packets.unsubscribe(2, ["a"]))
      assert subscribed(client, [{"a", 0x10}]) == [{:publish, "a", "x", retain: 1}]
    end

    test "expire, and leave nothing behind", %{stage: stage} do
      {client, _} = Stage.client(stage, "one")
      publish(client, "a/b", "x", retain: true, properties: <<0x02, 10::32>>)
      Stage.advance(stage, 3_500)

      assert subscribed(client, [{"+/b", 0}]) == [
               {:publish, "a/b", "x", retain: 1, properties: <<0x02, 7::32>>}
             ]

      Stage.say(client, Packets.unsubscribe(2, ["+/b"]))
      Stage.advance(stage, 6_500)
      assert subscribed(client, [{"+/b", 0}]) == []
      Stage.say(client, Packets.unsubscribe(2, ["+/b"]))
      assert {:ok, {:topic, nil, _, below, _, _, _}} = Mote.peek(stage.root)
      assert below == %{}
    end
  end

  describe "QoS 1" do
    test "is acknowledged both ways, within the window", %{stage: stage} do
      {client, _} = Stage.client(stage, "one", properties: <<0x21, 2::16>>)
      {publisher, _} = Stage.client(stage, "publisher")
      subscribed(client, [{"a", 1}])
      for n <- 1..4, do: assert(publish(publisher, "a", "#{n}", qos: 1, id: n + 10) == [{:puback, n + 10}])
      assert Stage.heard(client) == [{:publish, "a", "1", qos: 1, id: 1}, {:publish, "a", "2", qos: 1, id: 2}]
      assert Stage.say(client, Packets.puback(2)) == [{:publish, "a", "3", qos: 1, id: 3}]
      assert Stage.say(client, Packets.puback(2)) == []
      assert Stage.say(client, Packets.puback(1)) == [{:publish, "a", "4", qos: 1, id: 4}]
    end

    test "is the lesser of both sides", %{stage: stage} do
      {client, _} = Stage.client(stage, "one")
      subscribed(client, [{"a", 0}, {"b", 1}])

      assert publish(client, "a", "x", qos: 1, id: 5) |> Enum.sort() == [
               {:puback, 5},
               {:publish, "a", "x", []}
             ]

      assert publish(client, "b", "x") == [{:publish, "b", "x", []}]
      # More than is granted can be asked for.
      assert Stage.say(client, Packets.subscribe(3, [{"c", 2}])) == [{:suback, 3, [1]}]
    end

    test "is sent again to a client that comes back", %{stage: stage} do
      {publisher, _} = Stage.client(stage, "publisher")
      {client, [{:connack, 0, 0}]} = Stage.client(stage, "one", version: 4, clean: false)
      subscribed(client, [{"a", 1}, {"b", 0}])
      publish(publisher, "a", "seen", qos: 1)
      assert [{:publish, "a", "seen", qos: 1, id: 1}] = Stage.heard(client)
      assert Stage.say(client, {:end, :reset}) == [:closed]
      publish(publisher, "a", "missed", qos: 1)
      publish(publisher, "a", "of QoS 0")
      publish(publisher, "b", "of QoS 0", qos: 1)

      {client, answers} = Stage.client(stage, "one", version: 4, clean: false)

      assert answers == [
               {:connack, 0, 1},
               {:publish, "a", "seen", qos: 1, id: 1, dup: 1},
               {:publish, "a", "missed", qos: 1, id: 2}
             ]

      assert Stage.say(client, Packets.puback(1) <> Packets.puback(2)) == []
      {_, answers} = Stage.client(stage, "one", version: 4)
      assert answers == [{:connack, 0, 0}]
      clean(stage)
    end
  end

  describe "a session" do
    test "ends with its connection, or lasts as long as MQTT 5 says", %{stage: stage} do
      {client, _} = Stage.client(stage, "short")
      subscribed(client, [{"a", 1}])
      assert Stage.say(client, Packets.disconnect()) == [:shut]
      assert Mote.Directory.count(stage.sessions) == 0

      for {name, expiry} <- [ten: 10, ever: 0xFFFFFFFF] do
        {client, _} = Stage.client(stage, "#{name}", properties: <<0x11, expiry::32>>)
        subscribed(client, [{"a", 1}])
        Stage.say(client, {:end, :closed})
      end

      Stage.advance(stage, 9_999)
      assert Mote.Directory.count(stage.sessions) == 2
      Stage.advance(stage, 1)
      assert Mote.Directory.count(stage.sessions) == 1
      assert {_, [{:connack, 0, 1, _}]} = Stage.client(stage, "ever", clean: false)
      assert {_, [{:connack, 0, 0, _}]} = Stage.client(stage, "ten", clean: false)
    end

    test "may be given another end when its client leaves, unless it ends at once", %{stage: stage} do
      {client, _} = Stage.client(stage, "one", properties: <<0x11, 10::32>>)
      Stage.say(client, Packets.disconnect(0, <<0x11, 100::32>>))
      Stage.advance(stage, 99_999)
      assert {client, [{:connack, 0, 1, _}]} = Stage.client(stage, "one", clean: false)
      Stage.say(client, Packets.disconnect(0, <<0x11, 100::32>>))
      assert {_, [{:connack, 0, 0, _}]} = Stage.client(stage, "one", clean: false)
    end

    test "is taken over by the next client of its name", %{stage: stage} do
      {first, _} = Stage.client(stage, "one", properties: <<0x11, 10::32>>)
      subscribed(first, [{"a", 1}])
      publish(first, "a", "x")
      {second, [{:connack, 0, 1, _}]} = Stage.client(stage, "one", clean: false, properties: <<0x11, 10::32>>)

      assert [{:publish, "a", "x", []}, {:disconnect, 0x8E}, :shut] =
               Stage.heard(first) |> then(&[{:publish, "a", "x", []} | &1])

      assert publish(second, "a", "y") == [{:publish, "a", "y", []}]
      # What the first one still does is not heard.
      assert Stage.say(first, {:end, :closed}) == [:closed]
      assert publish(second, "a", "z") == [{:publish, "a", "z", []}]
      # One that asks for nothing of it, by a session that was to end.
      {third, [{:connack, 0, 0, _}]} = Stage.client(stage, "one")
      assert [{:disconnect, 0x8E}, :shut] = Stage.heard(second)
      assert publish(third, "a", "x") == []
      assert {_, [{:connack, 0, 0, _}]} = Stage.client(stage, "one", clean: false)
      assert Mote.Directory.count(stage.sessions) == 1
    end
  end

  describe "a will" do
    setup %{stage: stage} do
      {witness, _} = Stage.client(stage, "witness")
      subscribed(witness, [{"gone/#", 0}])
      {:ok, witness: witness}
    end

    defp with_will(stage, name, delay, expiry),
      do:
        Stage.client(stage, name,
          clean: false,
          properties: <<0x11, expiry::32>>,
          will: [topic: "gone/" <> name, payload: "x", retain: true, properties: <<0x18, delay::32>>]
        )

    test "is kept to itself by a client that says goodbye", %{stage: stage, witness: witness} do
      {client, _} = with_will(stage, "one", 0, 0)
      assert Stage.say(client, Packets.disconnect()) == [:shut]
      assert Stage.heard(witness) == []
      {client, _} = with_will(stage, "one", 0, 0)
      Stage.say(client, Packets.disconnect(4))
      assert Stage.heard(witness) == [{:publish, "gone/one", "x", []}]
      # It is retained.
      assert subscribed(witness, [{"gone/one", 0}]) == [{:publish, "gone/one", "x", retain: 1}]
    end

    test "waits for a client that may come back", %{stage: stage, witness: witness} do
      {client, _} = with_will(stage, "back", 10, 60)
      Stage.say(client, {:end, :closed})
      Stage.advance(stage, 9_999)
      {client, [{:connack, 0, 1, _}]} = with_will(stage, "back", 10, 60)
      Stage.advance(stage, 60_000)
      assert Stage.heard(witness) == []
      Stage.say(client, {:end, :closed})
      Stage.advance(stage, 9_999)
      assert Stage.heard(witness) == []
      Stage.advance(stage, 1)
      assert Stage.heard(witness) == [{:publish, "gone/back", "x", []}]
      Stage.advance(stage, 60_000)
      assert Stage.heard(witness) == []
    end

    test "does not wait longer than the session", %{stage: stage, witness: witness} do
      {client, _} = with_will(stage, "short", 100, 10)
      Stage.say(client, {:end, :closed})
      Stage.advance(stage, 9_999)
      assert Stage.heard(witness) == []
      Stage.advance(stage, 1)
      assert Stage.heard(witness) == [{:publish, "gone/short", "x", []}]
      {client, _} = with_will(stage, "clean", 100, 10)
      Stage.say(client, {:end, :closed})
      Stage.client(stage, "clean")
      assert Stage.heard(witness) == [{:publish, "gone/clean", "x", []}]
    end

    test "is published when the client is taken over", %{stage: stage, witness: witness} do
      with_will(stage, "one", 0, 60)
      with_will(stage, "one", 10, 60)
      assert Stage.heard(witness) == [{:publish, "gone/one", "x", []}]
      with_will(stage, "one", 10, 60)
      assert Stage.heard(witness) == []
      Stage.client(stage, "one")
      assert Stage.heard(witness) == [{:publish, "gone/one", "x", []}]
    end
  end

  describe "a client that does not take what it is sent" do
    test "loses messages of QoS 0, and nothing of the others'", %{stage: stage} do
      {slow, _} = Stage.client(stage, "slow")
      {other, _} = Stage.client(stage, "other")
      for client <- [slow, other], do: subscribed(client, [{"a", 1}])
      Stage.say(slow, {:stuck, true})
      for n <- 1..1_500, do: Mote.send(other.socket, {:feed, Packets.publish("a", "#{n}")})
      assert length(Stage.heard(other)) == 1_500
      assert length(Stage.heard(slow)) == 1_001
      assert [{:puback, 1}, _] = publish(other, "a", "x", qos: 1)
      assert [{:publish, "a", "x", qos: 1, id: 1}] = Stage.heard(slow)
    end

    test "and one that takes no long packets gets none", %{stage: stage} do
      {client, _} = Stage.client(stage, "one", properties: <<0x27, 20::32>>)
      subscribed(client, [{"a", 0}])

      assert publish(client, "a", String.duplicate("x", 14)) == [
               {:publish, "a", String.duplicate("x", 14), []}
             ]

      assert publish(client, "a", String.duplicate("x", 15)) == []
    end
  end
end
