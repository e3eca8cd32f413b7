defmodule Broker.Properties do
  # The properties of MQTT 5, both ways: a table, and what each type is on the wire (chapter 2.2.2 of the standard).
  #
  # Invariants:
  # 1. A property is where the standard allows it, has a value that it allows, and is there once; only user properties repeat.
  # 2. Properties keep their order.
  @moduledoc false
  use Mote.Behaviour

  alias Broker.Wire

  # Which value is the least that is allowed, and the packets that clients may send it in.
  @table %{
    0x01 => {:payload_format, :bit, 0, [:publish, :will]},
    0x02 => {:message_expiry, :u32, 0, [:publish, :will]},
    0x03 => {:content_type, :text, "", [:publish, :will]},
    0x08 => {:response_topic, :text, "", [:publish, :will]},
    0x09 => {:correlation_data, :binary, "", [:publish, :will]},
    0x0B => {:subscription, :varint, 1, [:subscribe]},
    0x11 => {:session_expiry, :u32, 0, [:connect, :disconnect]},
    0x12 => {:assigned_client, :text, "", []},
    0x15 => {:authentication_method, :text, "", [:connect]},
    0x16 => {:authentication_data, :binary, "", [:connect]},
    0x17 => {:request_problem, :bit, 0, [:connect]},
    0x18 => {:will_delay, :u32, 0, [:will]},
    0x19 => {:request_response, :bit, 0, [:connect]},
    0x1F => {:reason, :text, "", [:disconnect, :puback]},
    0x21 => {:receive_maximum, :u16, 1, [:connect]},
    0x22 => {:topic_alias_maximum, :u16, 0, [:connect]},
    0x23 => {:topic_alias, :u16, 1, [:publish]},
    0x24 => {:maximum_qos, :bit, 0, []},
    0x26 =>
      {:user, :pair, {"", ""}, [:connect, :will, :publish, :puback, :subscribe, :unsubscribe, :disconnect]},
    0x27 => {:maximum_packet, :u32, 1, [:connect]}
  }

  @ids Map.new(@table, fn {id, {name, type, _, _}} -> {name, {id, type}} end)

  @doc "The properties that a packet begins with, as a list of names and values."
  defpure parse(bytes, packet) do
    with {:ok, size, rest} when size <= byte_size(rest) <- Wire.varint(bytes) do
      part = binary_part(rest, 0, size)
      rest = binary_part(rest, size, byte_size(rest) - size)
      with {:ok, properties} <- fields(part, packet, []), do: {:ok, properties, rest}
    else
      _ -> :error
    end
  end

  defpurep fields("", _packet, found), do: {:ok, Enum.reverse(found)}

  defpurep fields(<<id, bytes::binary>>, packet, found) do
    with %{^id => {name, type, least, packets}} <- @table,
         {:ok, value, rest} <- read(type, bytes),
         true <- value >= least and packet in packets,
         true <- name == :user or not List.keymember?(found, name, 0) do
      fields(rest, packet, [{name, value} | found])
    else
      _ -> :error
    end
  end

  defpurep read(:bit, <<bit, rest::binary>>) when bit < 2, do: {:ok, bit, rest}
  defpurep read(:u16, <<n::16, rest::binary>>), do: {:ok, n, rest}
  defpurep read(:u32, <<n::32, rest::binary>>), do: {:ok, n, rest}
  defpurep read(:binary, bytes), do: Wire.binary(bytes)
  defpurep read(:text, bytes), do: Wire.text(bytes)

  defpurep read(:varint, bytes) do
    with :more <- Wire.varint(bytes), do: :error
  end

  defpurep read(:pair, bytes) do
    with {:ok, key, rest} <- Wire.text(bytes),
         {:ok, value, rest} <- Wire.text(rest),
         do: {:ok, {key, value}, rest}
  end

  defpurep read(_type, _bytes), do: :error

  @doc "Writes properties, without the size that goes before them."
  defpure write(properties) do
    for {name, value} <- properties, into: "" do
      {id, type} = @ids[name]
      <<id, value(type, value)::binary>>
    end
  end

  defpurep value(:bit, bit), do: <<bit>>
  defpurep value(:u16, n), do: <<n::16>>
  defpurep value(:u32, n), do: <<n::32>>
  defpurep value(:varint, n), do: Wire.from_varint(n)
  defpurep value(:pair, {key, value}), do: Wire.from_binary(key) <> Wire.from_binary(value)
  defpurep value(_, bytes), do: Wire.from_binary(bytes)
end
