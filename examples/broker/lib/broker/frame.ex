defmodule Broker.Frame do
  # The packets that the broker sends (chapter 3 of the standards), as bytes for a socket.
  @moduledoc false
  use Mote.Behaviour

  alias Broker.{Properties, Wire}

  # Reason codes of a refused CONNECT in MQTT 3.1.1: all others are "not authorized".
  @older %{0x00 => 0, 0x84 => 1, 0x85 => 2, 0x88 => 3, 0x86 => 4}

  @doc """
  The answer to a CONNECT.

      iex> IO.iodata_to_binary(Broker.Frame.connack(4, 0x84, false, []))
      <<0x20, 2, 0, 1>>
  """
  defpure connack(4, code, present, _properties), do: frame(0x20, [bit(present), Map.get(@older, code, 5)])

  defpure connack(5, code, present, properties),
    do: frame(0x20, [bit(present), code | sized(Properties.write(properties))])

  defpurep bit(true), do: 1
  defpurep bit(false), do: 0

  @doc """
  A message, for a client of a version. `id` is `nil` with QoS 0; `how` is a list of `:retain` and `:dup`, `now` the
  millisecond of its clock.
  """
  defpure publish(version, message, id, how, subscription, now) do
    %{topic: topic, payload: payload} = message

    flags =
      Enum.reduce(how, if(id, do: 0x32, else: 0x30), fn flag, sum ->
        sum + if(flag == :dup, do: 8, else: 1)
      end)

    id = if id, do: <<id::16>>, else: ""

    properties =
      if version == 5, do: sized(left(message, now) <> message.properties <> given(subscription)), else: ""

    head = [<<byte_size(topic)::16>>, topic, id, properties, payload]
    frame(flags, head)
  end

  # A message that is kept says how many seconds are left of it.
  defpurep left(%{expires: nil}, _now), do: ""

  defpurep left(%{expires: expires}, now),
    do: Properties.write(message_expiry: div(max(expires - now, 0) + 999, 1_000))

  defpurep given(nil), do: ""
  defpurep given(subscription), do: Properties.write(subscription: subscription)

  @doc "The answer to a PUBLISH of QoS 1."
  defpure puback(id), do: <<0x40, 2, id::16>>

  @doc "The answer to a SUBSCRIBE: a code for each filter."
  defpure suback(4, id, codes), do: frame(0x90, [<<id::16>> | codes])
  defpure suback(5, id, codes), do: frame(0x90, [<<id::16, 0>> | codes])

  @doc "The answer to an UNSUBSCRIBE: a code for each filter, which MQTT 3.1.1 does not have."
  defpure unsuback(4, id, _codes), do: <<0xB0, 2, id::16>>
  defpure unsuback(5, id, codes), do: frame(0xB0, [<<id::16, 0>> | codes])

  @doc "The answer to a PINGREQ."
  defpure pong(), do: <<0xD0, 0>>

  @doc "Says why the broker closes a connection. Clients of MQTT 3.1.1 are not told."
  defpure disconnect(4, _code), do: ""
  defpure disconnect(5, code), do: <<0xE0, 1, code>>

  defpurep frame(first, body),
    do: IO.iodata_to_binary([first, Wire.from_varint(IO.iodata_length(body)) | body])

  defpurep sized(bytes), do: [Wire.from_varint(byte_size(bytes)) | bytes]
end
