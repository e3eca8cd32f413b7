defmodule Broker.Packets do
  @moduledoc "The side of the client: writes what clients send, and reads what brokers send. Kept apart from the code that it tests."

  def connect(id, opts \\ []) do
    version = opts[:version] || 5
    will = opts[:will]
    clean = if Keyword.get(opts, :clean, true), do: 2, else: 0

    flags =
      case will do
        nil -> clean
        will -> clean + 4 + 8 * (will[:qos] || 0) + if(will[:retain], do: 32, else: 0)
      end

    rest =
      if will,
        do: [properties(version, will[:properties]), text(will[:topic]), text(will[:payload])],
        else: []

    packet(0x10, [
      text("MQTT"),
      <<version, flags, opts[:keep_alive] || 0::16>>,
      properties(version, opts[:properties]),
      text(id)
      | rest
    ])
  end

  def publish(topic, payload, opts \\ []) do
    qos = opts[:qos] || 0
    id = if qos > 0, do: <<opts[:id] || 1::16>>, else: ""

    first = 0x30 + 2 * qos + if(opts[:retain], do: 1, else: 0) + if(opts[:dup], do: 8, else: 0)

    packet(first, [text(topic), id, properties(opts[:version] || 5, opts[:properties]), payload])
  end

  def subscribe(id, filters, opts \\ []) do
    filters = for {filter, options} <- filters, do: [text(filter), options]
    packet(0x82, [<<id::16>>, properties(opts[:version] || 5, opts[:properties]), filters])
  end

  def unsubscribe(id, filters, opts \\ []),
    do: packet(0xA2, [<<id::16>>, properties(opts[:version] || 5, nil), Enum.map(filters, &text/1)])

  def puback(id), do: <<0x40, 2, id::16>>
  def ping, do: <<0xC0, 0>>
  def disconnect(code \\ 0, properties \\ ""), do: packet(0xE0, [code, properties(5, properties)])

  def packet(first, body) do
    body = IO.iodata_to_binary(body)
    <<first>> <> varint(byte_size(body)) <> body
  end

  def text(text), do: <<byte_size(text)::16, text::binary>>

  def varint(n) when n < 128, do: <<n>>
  def varint(n), do: <<1::1, rem(n, 128)::7>> <> varint(div(n, 128))

  # Those of clients are written by hand.
  defp properties(4, _), do: ""
  defp properties(5, bytes), do: [varint(byte_size(bytes || "")), bytes || ""]

  @doc "All packets in the bytes, which have no part of another one."
  def read("", _version), do: []

  def read(<<first, rest::binary>>, version) do
    {size, rest} = number(rest)
    body = binary_part(rest, 0, size)
    rest = binary_part(rest, size, byte_size(rest) - size)
    [one(first, body, version) | read(rest, version)]
  end

  defp one(0x20, <<present, code>>, 4), do: {:connack, code, present}
  defp one(0x20, <<present, code, rest::binary>>, 5), do: {:connack, code, present, sized(rest)}

  defp one(first, <<size::16, topic::binary-size(size), rest::binary>>, version) when first in 0x30..0x3F do
    <<3::4, dup::1, qos::2, retain::1>> = <<first>>
    {id, rest} = if qos == 0, do: {nil, rest}, else: take_id(rest)
    {properties, payload} = if version == 5, do: prefix(rest), else: {"", rest}

    {:publish, topic, payload,
     for(
       {key, value} <- [qos: qos, id: id, dup: dup, retain: retain, properties: properties],
       value not in [0, nil, ""],
       do: {key, value}
     )}
  end

  defp one(0x40, <<id::16>>, _), do: {:puback, id}
  defp one(0x90, <<id::16, codes::binary>>, 4), do: {:suback, id, :binary.bin_to_list(codes)}
  defp one(0x90, <<id::16, 0, codes::binary>>, 5), do: {:suback, id, :binary.bin_to_list(codes)}
  defp one(0xB0, <<id::16>>, 4), do: {:unsuback, id}
  defp one(0xB0, <<id::16, 0, codes::binary>>, 5), do: {:unsuback, id, :binary.bin_to_list(codes)}
  defp one(0xD0, "", _), do: :pong
  defp one(0xE0, <<code>>, 5), do: {:disconnect, code}

  defp take_id(<<id::16, rest::binary>>), do: {id, rest}

  defp sized(bytes) do
    {properties, ""} = prefix(bytes)
    properties
  end

  defp prefix(bytes) do
    {size, rest} = number(bytes)
    :erlang.split_binary(rest, size)
  end

  defp number(<<0::1, n::7, rest::binary>>), do: {n, rest}

  defp number(<<1::1, n::7, rest::binary>>) do
    {more, rest} = number(rest)
    {n + 128 * more, rest}
  end
end
