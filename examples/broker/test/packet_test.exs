defmodule Broker.PacketTest do
  use ExUnit.Case, async: true

  doctest Broker.Filter
  doctest Broker.Frame
  doctest Broker.Outgoing
  doctest Broker.Packet

  alias Broker.{Frame, Message, Outgoing, Packet, Packets, Properties, Wire}

  @limit 10_000

  defp parse(bytes, version \\ 5), do: Packet.parse(bytes, version, @limit)

  # Which of the first bytes are a packet.
  defp prefixes(bytes, version) do
    for n <- 0..(byte_size(bytes) - 1) do
      {:more, missing} = Packet.parse(binary_part(bytes, 0, n), version, @limit)
      assert missing in 1..(byte_size(bytes) - n)
    end
  end

  test "numbers of one to four bytes, both ways" do
    for n <- [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455] do
      assert Wire.from_varint(n) == Packets.varint(n)
      assert Wire.varint(Wire.from_varint(n) <> "rest") == {:ok, n, "rest"}

      for size <- 0..(byte_size(Wire.from_varint(n)) - 1) do
        assert Wire.varint(binary_part(Wire.from_varint(n), 0, size)) == :more
      end
    end

    assert Wire.varint(<<0x80, 0x80, 0x80, 0x80, 1>>) == :error
  end

  test "a packet is whole, however it comes; what follows it stays" do
    for {bytes, version} <- [
          {Packets.connect("one", keep_alive: 5), nil},
          {Packets.connect("one", version: 4, clean: false, will: [topic: "t", payload: "gone", qos: 1]),
           nil},
          {Packets.publish("a/b", "hello", qos: 1, id: 7), 5},
          {Packets.publish("a/b", String.duplicate("x", 200), version: 4), 4},
          {Packets.subscribe(1, [{"a/+", 1}, {"$share/g/#", 0x28}]), 5},
          {Packets.unsubscribe(1, ["a/+"]), 5},
          {Packets.puback(9), 4},
          {Packets.ping(), 4},
          {Packets.disconnect(4), 5}
        ] do
      prefixes(bytes, version)
      assert {:ok, packet, ""} = parse(bytes, version)
      assert {:ok, ^packet, <<0xC0>>} = parse(bytes <> <<0xC0>>, version)
    end
  end

  test "what a CONNECT says" do
    will = [topic: "gone/one", payload: "bye", qos: 1, retain: true, properties: <<0x18, 5::32, 0x01, 1>>]

    bytes =
      Packets.connect("one",
        keep_alive: 30,
        clean: false,
        will: will,
        properties: <<0x11, 60::32, 0x21, 9::16>>
      )

    assert {:ok, {:connect, connect}, ""} = parse(bytes, nil)

    assert %{
             version: 5,
             id: "one",
             clean: false,
             keep_alive: 30,
             properties: [session_expiry: 60, receive_maximum: 9]
           } = connect

    assert {%Message{topic: "gone/one", levels: ["gone", "one"], payload: "bye", qos: 1, retain: true} =
              message, 5} = connect.will

    assert message.properties == <<0x01, 1>>

    # A name and a password are read, and mean nothing.
    body = [
      Packets.text("MQTT"),
      <<4, 0xC2, 0::16>>,
      Packets.text("a"),
      Packets.text("name"),
      Packets.text("secret")
    ]

    assert {:ok, {:connect, %{id: "a", clean: true, will: nil}}, ""} = parse(Packets.packet(0x10, body), nil)
  end

  test "a CONNECT that is refused, in the words of its version" do
    text = &Packets.text/1
    connect = &Packets.packet(0x10, [text.("MQTT"), <<&1, &2, 0::16>> | &3])
    assert {:ok, {:refuse, 4, 0x84}, _} = parse(connect.(3, 2, [text.("a")]), nil)
    assert {:ok, {:refuse, 5, 0x84}, _} = parse(connect.(6, 2, [text.("a")]), nil)

    assert {:ok, {:refuse, 4, 0x84}, _} =
             parse(Packets.packet(0x10, [text.("MQIsdp"), <<3, 2, 0::16>>, text.("a")]), nil)

    assert {:ok, {:refuse, 4, 0x85}, _} = parse(connect.(4, 0, [text.("")]), nil)

    assert {:ok, {:refuse, 5, 0x9B}, _} =
             parse(Packets.connect("a", will: [topic: "t", payload: "", qos: 2]), nil)

    method = <<0x15>> <> text.("SCRAM")
    assert {:ok, {:refuse, 5, 0x8C}, _} = parse(Packets.connect("a", properties: method), nil)
  end

  test "what is malformed" do
    text = &Packets.text/1
    connect = &Packets.packet(0x10, [text.("MQTT"), <<&1, &2, 0::16>> | &3])

    for {bytes, version} <- [
          # A name that is not that of the protocol; a reserved bit; a will of QoS 3; a QoS without a will; a password without a name.
          {Packets.packet(0x10, [text.("HTTP"), <<4, 2, 0::16>>, text.("a")]), nil},
          {connect.(4, 3, [text.("a")]), nil},
          {connect.(4, 0x1E, [text.("a"), text.("t"), text.("")]), nil},
          {connect.(4, 0x0A, [text.("a")]), nil},
          {connect.(4, 0x42, [text.("a"), text.("secret")]), nil},
          # Less than it says, and more.
          {connect.(4, 2, [<<0, 9, "a">>]), nil},
          {connect.(4, 2, [text.("a"), "more"]), nil},
          {connect.(4, 2, [text.(<<0xFF>>)]), nil},
          {connect.(4, 2, [text.(<<"a", 0>>)]), nil},
          # QoS 3, a repetition of QoS 0, a number 0, a text that is no UTF-8 (a half of a pair of UTF-16).
          {Packets.publish("a", "", qos: 3), 5},
          {Packets.publish("a", "", dup: true), 5},
          {Packets.publish("a", "", qos: 1, id: 0), 5},
          {Packets.publish(<<0xED, 0xA0, 0x80>>, ""), 5},
          {Packets.packet(0x30, [<<0, 5, "a">>]), 4},
          # Flags.
          {Packets.packet(0x80, [<<1::16, 0>>, text.("a"), 0]), 5},
          {Packets.packet(0xC1, ""), 4},
          {Packets.packet(0xC0, "x"), 4},
          {Packets.packet(0x41, <<1::16>>), 4},
          # Filters and options.
          {Packets.subscribe(1, [{"a/#/b", 0}]), 5},
          {Packets.subscribe(1, [{"a+", 0}]), 5},
          {Packets.subscribe(1, [{"", 0}]), 5},
          {Packets.subscribe(1, [{"a", 3}]), 5},
          {Packets.subscribe(1, [{"a", 0x40}]), 5},
          {Packets.subscribe(1, [{"a", 0x30}]), 5},
          {Packets.subscribe(1, [{"a", 4}], version: 4), 4},
          {Packets.subscribe(0, [{"a", 0}]), 5},
          {Packets.subscribe(1, [{String.duplicate("/", 300), 0}]), 5},
          {Packets.packet(0, ""), 5},
          {<<0xC0, 0x80, 0x80, 0x80, 0x80, 0>>, 5},
          # What 3.1.1 does not have.
          {Packets.packet(0xE0, <<0>>), 4},
          {Packets.packet(0x40, <<1::16, 0>>), 4}
        ] do
      assert {bytes, parse(bytes, version)} == {bytes, {:error, 0x81}}
    end
  end

  test "other errors have codes of their own" do
    assert parse(Packets.connect("a")) == {:error, 0x82}
    assert parse(Packets.ping(), nil) == {:error, 0x82}
    assert parse(Packets.packet(0x20, <<0, 0>>)) == {:error, 0x82}
    assert parse(Packets.packet(0x62, <<1::16>>)) == {:error, 0x82}
    assert parse(Packets.packet(0xF0, "")) == {:error, 0x82}
    assert parse(Packets.subscribe(1, [])) == {:error, 0x82}
    assert parse(Packets.subscribe(1, [{"$share/g/a", 4}])) == {:error, 0x82}

    for topic <- ["a/+", "#", String.duplicate("/", 300)],
        do: assert(parse(Packets.publish(topic, "")) == {:error, 0x90})

    assert parse(Packets.publish("", "")) == {:error, 0x82}
    assert parse(Packets.publish("a", "", properties: <<0x23, 1::16>>)) == {:error, 0x94}
    assert parse(Packets.publish("a", "", qos: 2)) == {:error, 0x9B}
    assert parse(<<0x30>> <> Packets.varint(@limit)) == {:error, 0x95}
    assert parse(<<0x30>> <> Packets.varint(@limit - 3)) == {:more, @limit - 3}
  end

  test "properties: each once, where it belongs, with values that are allowed" do
    user = <<0x26>> <> Packets.text("key") <> Packets.text("value")
    all = <<byte_size(user) * 2 + 5, 0x02, 9::32>> <> user <> user

    assert {:ok, [message_expiry: 9, user: {"key", "value"}, user: {"key", "value"}] = properties, "x"} =
             Properties.parse(all <> "x", :publish)

    assert <<byte_size(all) - 1>> <> Properties.write(properties) == all

    for {bytes, packet} <- [
          {<<0x02, 9::32>>, :connect},
          {<<0x02, 9::32, 0x02, 9::32>>, :publish},
          {<<0x01, 2>>, :publish},
          {<<0x21, 0::16>>, :connect},
          {<<0x27, 0::32>>, :connect},
          {<<0x0B, 0>>, :subscribe},
          {<<0x0B, 0x80>>, :subscribe},
          {<<0x7E, 0>>, :connect},
          {<<0x11, 1>>, :connect},
          {<<0x26, 0, 1, "k">>, :publish},
          {<<0x12, 0, 1, "a">>, :connect}
        ] do
      assert {bytes, Properties.parse(<<byte_size(bytes)>> <> bytes, packet)} == {bytes, :error}
    end

    assert Properties.parse(<<5, 0>>, :publish) == :error
  end

  test "what others get of a message, for either version" do
    properties = <<0x02, 60::32, 0x03>> <> Packets.text("text/plain")
    assert {:ok, {:publish, message, nil}, ""} = parse(Packets.publish("a", "x", properties: properties))
    assert %{lasts: 60, properties: passed_on} = message
    message = %{message | expires: 60_000}

    assert Packets.read(Frame.publish(4, message, nil, [], nil, 0), 4) == [{:publish, "a", "x", []}]

    assert Packets.read(Frame.publish(5, message, 7, [:dup, :retain], 300, 1), 5) ==
             [
               {:publish, "a", "x",
                qos: 1,
                id: 7,
                dup: 1,
                retain: 1,
                properties: <<0x02, 60::32>> <> passed_on <> <<0x0B, 0xAC, 2>>}
             ]
  end

  test "a window of messages, numbers that go round, and what has expired" do
    message = fn n -> %{expires: nil, n: n} end

    out =
      Enum.reduce(1..5, %Outgoing{last: 0xFFFE}, fn n, out ->
        elem(Outgoing.put(out, message.(n), 3, 0), 1)
      end)

    assert [{0xFFFF, %{n: 1}}, {1, %{n: 2}}, {2, %{n: 3}}] = out.sent
    assert {[{3, %{n: 4}}], out} = Outgoing.acknowledged(out, 1, 3, 0)
    assert {[], out} = Outgoing.acknowledged(out, 77, 3, 0)
    # A number that is still in use is left out.
    assert {[{3, %{n: 5}}], %{waits: 0}} = Outgoing.acknowledged(%{out | last: 1}, 3, 3, 0)

    {[], out} = Outgoing.put(%Outgoing{}, %{expires: 10}, 0, 0)
    {[], out} = Outgoing.put(out, message.(2), 0, 0)
    assert {[{1, %{n: 2}}], _} = Outgoing.pump(out, 1, 10)

    out = Enum.reduce(1..2_000, %Outgoing{}, fn n, out -> elem(Outgoing.put(out, message.(n), 1, 0), 1) end)
    assert %{sent: [{1, %{n: 1}}], waits: 1_000} = out
  end
end
