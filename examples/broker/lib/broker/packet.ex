defmodule Broker.Packet do
  # The packets that clients send (chapter 3 of the standards). An error is the reason code of MQTT 5 that says what is wrong.
  #
  # Invariants:
  # 1. What is parsed is whole, and all of it is checked: flags, reserved bits, texts, names of topics, and that nothing is left
  #    over.
  # 2. No memory is asked for before the size is known to be allowed.
  @moduledoc false
  use Mote.Behaviour
  import Bitwise

  alias Broker.{Filter, Message, Properties, Wire}

  @malformed {:error, 0x81}
  @protocol {:error, 0x82}
  @version {:error, 0x84}
  @bad_client {:error, 0x85}
  @too_large {:error, 0x95}
  @alias_invalid {:error, 0x94}
  @qos {:error, 0x9B}

  # What receivers of a message get of its properties, beside the time that is left.
  @passed_on [:payload_format, :content_type, :response_topic, :correlation_data, :user]

  @doc """
  The first packet of a buffer, and what follows it. `version` is that of the client, `nil` before its CONNECT.

  Returns `{:ok, packet, rest}`, `{:more, n}` if at least `n` bytes are missing, or `{:error, code}`. A CONNECT that is to be
  refused is `{:refuse, version, code}`.

      iex> Broker.Packet.parse(<<0xC0, 0, 0xE0>>, 4, 100)
      {:ok, :ping, <<0xE0>>}
      iex> Broker.Packet.parse(<<0x30, 5, 0, 1, ?a>>, 4, 100)
      {:more, 2}
      iex> Broker.Packet.parse(<<0x30, 99>>, 4, 100)
      {:error, 0x95}
  """
  defpure parse(<<first, _::binary>>, nil, _limit) when first != 0x10, do: @protocol

  defpure parse(<<first, rest::binary>> = buffer, version, limit) do
    case Wire.varint(rest) do
      {:ok, size, rest} ->
        missing = size - byte_size(rest)

        cond do
          byte_size(buffer) + missing > limit ->
            @too_large

          missing > 0 ->
            {:more, missing}

          true ->
            body = binary_part(rest, 0, size)
            rest = binary_part(rest, size, byte_size(rest) - size)
            with {:ok, packet} <- packet(first >>> 4, first &&& 15, body, version), do: {:ok, packet, rest}
        end

      :more ->
        {:more, 1}

      :error ->
        @malformed
    end
  end

  defpure parse("", _version, _limit), do: {:more, 2}

  defpurep packet(1, 0, bytes, nil), do: connect(bytes)
  defpurep packet(3, flags, bytes, version), do: publish(flags &&& 1, flags >>> 1, bytes, version)

  defpurep packet(4, 0, <<id::16, rest::binary>>, version) when id > 0,
    do: reason({:puback, id}, rest, version, :puback)

  defpurep packet(8, 2, bytes, version), do: request(:subscribe, bytes, version)
  defpurep packet(10, 2, bytes, version), do: request(:unsubscribe, bytes, version)
  defpurep packet(12, 0, "", _version), do: {:ok, :ping}
  defpurep packet(14, 0, bytes, version), do: reason(:disconnect, bytes, version, :disconnect)
  # A second CONNECT, what only servers send, the packets of QoS 2, and AUTH, which nobody has agreed upon.
  defpurep packet(type, _, _, _) when type in [1, 2, 5, 6, 7, 9, 11, 13, 15], do: @protocol
  defpurep packet(_type, _flags, _bytes, _version), do: @malformed

  # -- CONNECT -------------------------------------------------------------------------------------------------

  defpurep connect(<<4::16, "MQTT", version, flags, keep_alive::16, rest::binary>>) when version in 4..5 do
    bit = fn n -> flags >>> n &&& 1 end
    will_qos = flags >>> 3 &&& 3

    with true <- bit.(0) == 0 and will_qos < 3 and (bit.(2) == 1 or (flags &&& 0x38) == 0),
         true <- version == 5 or bit.(6) <= bit.(7),
         {:ok, properties, rest} <- properties(version, rest, :connect),
         {:ok, id, rest} <- Wire.text(rest),
         {:ok, will, rest} <- will(bit.(2), will_qos, bit.(5), version, rest),
         {:ok, _user, rest} <- if(bit.(7) == 1, do: Wire.text(rest), else: {:ok, nil, rest}),
         {:ok, _password, ""} <- if(bit.(6) == 1, do: Wire.binary(rest), else: {:ok, nil, rest}) do
      refusal =
        cond do
          will_qos == 2 -> @qos
          id == "" and version == 4 and bit.(1) == 0 -> @bad_client
          # No way to authenticate is offered.
          List.keymember?(properties, :authentication_method, 0) -> {:error, 0x8C}
          true -> nil
        end

      case refusal do
        nil ->
          clean = bit.(1) == 1

          {:ok,
           {:connect,
            %{
              version: version,
              id: id,
              clean: clean,
              keep_alive: keep_alive,
              will: will,
              properties: properties
            }}}

        {:error, code} ->
          {:ok, {:refuse, version, code}}
      end
    else
      {:error, _} = error -> error
      _ -> @malformed
    end
  end

  defpurep connect(<<4::16, "MQTT", version, _::binary>>),
    do: {:ok, {:refuse, min(max(version, 4), 5), elem(@version, 1)}}

  defpurep connect(<<6::16, "MQIsdp", _::binary>>), do: {:ok, {:refuse, 4, elem(@version, 1)}}
  defpurep connect(_), do: @malformed

  defpurep will(0, _qos, _retain, _version, rest), do: {:ok, nil, rest}

  defpurep will(1, qos, retain, version, bytes) do
    with {:ok, properties, rest} <- properties(version, bytes, :will),
         {:ok, topic, rest} <- Wire.text(rest),
         {:ok, levels} <- Filter.topic(topic),
         {:ok, payload, rest} <- Wire.binary(rest) do
      {:ok,
       {message(topic, levels, payload, qos, retain, properties), Keyword.get(properties, :will_delay, 0)},
       rest}
    end
  end

  # -- PUBLISH -------------------------------------------------------------------------------------------------

  defpurep publish(retain, qos, bytes, version) do
    # DUP is the third bit of what is left of the flags; it says nothing about QoS 0.
    with true <- qos in [0, 1, 2, 5, 6],
         true <- (qos &&& 3) < 2 or @qos,
         {:ok, topic, rest} <- Wire.text(bytes),
         {:ok, id, rest} <- id(qos &&& 1, rest),
         {:ok, properties, payload} <- properties(version, rest, :publish),
         false <- properties != [] and List.keymember?(properties, :topic_alias, 0) and @alias_invalid,
         {:ok, levels} <- Filter.topic(topic) do
      {:ok, {:publish, message(topic, levels, payload, qos &&& 1, retain, properties), id}}
    else
      {:error, _} = error -> error
      _ -> @malformed
    end
  end

  defpurep id(0, rest), do: {:ok, nil, rest}
  defpurep id(1, <<id::16, rest::binary>>) when id > 0, do: {:ok, id, rest}
  defpurep id(_, _), do: :error

  defpurep message(topic, levels, payload, qos, retain, properties) do
    message = %Message{topic: topic, levels: levels, payload: payload, qos: qos, retain: retain == 1}

    case properties do
      [] ->
        message

      _ ->
        passed_on = Enum.filter(properties, fn {name, _} -> name in @passed_on end)
        %{message | properties: Properties.write(passed_on), lasts: properties[:message_expiry]}
    end
  end

  # -- SUBSCRIBE and UNSUBSCRIBE -------------------------------------------------------------------------------

  defpurep request(kind, <<id::16, rest::binary>>, version) when id > 0 do
    with {:ok, properties, rest} <- properties(version, rest, kind),
         {:ok, [_ | _] = filters} <- filters(kind, rest, version, properties[:subscription], []) do
      {:ok, {kind, id, filters}}
    else
      {:ok, []} -> @protocol
      {:error, _} = error -> error
      _ -> @malformed
    end
  end

  defpurep request(_kind, _bytes, _version), do: @malformed

  # What goes with a subscription is a map of its options; with the end of one, nothing.
  defpurep filters(_kind, "", _version, _subscription, found), do: {:ok, Enum.reverse(found)}

  defpurep filters(kind, bytes, version, subscription, found) do
    with {:ok, name, rest} <- Wire.text(bytes),
         {:ok, group, levels} <- Filter.filter(name),
         {:ok, options, rest} <- options(kind, rest, version, subscription),
         # A shared subscription has no use for "no local".
         false <- options != nil and group != nil and options.no_local and @protocol do
      filters(kind, rest, version, subscription, [{{group, levels}, options} | found])
    end
  end

  defpurep options(:unsubscribe, rest, _version, _subscription), do: {:ok, nil, rest}

  defpurep options(:subscribe, <<byte, rest::binary>>, version, subscription)
           when (byte &&& 3) < 3 and byte < 0x30 and (version == 5 or byte < 3) do
    options = %{
      qos: min(byte &&& 3, 1),
      no_local: (byte &&& 4) != 0,
      as_published: (byte &&& 8) != 0,
      retained: byte >>> 4,
      subscription: subscription
    }

    {:ok, options, rest}
  end

  defpurep options(_kind, _bytes, _version, _subscription), do: :error

  # -- parts ---------------------------------------------------------------------------------------------------

  # What may end a packet of MQTT 5: a reason code, and properties.
  defpurep reason(packet, "", _version, _kind), do: {:ok, {packet, 0, []}}
  defpurep reason(packet, <<code>>, 5, _kind), do: {:ok, {packet, code, []}}

  defpurep reason(packet, <<code, rest::binary>>, 5, kind) do
    case Properties.parse(rest, kind) do
      {:ok, properties, ""} -> {:ok, {packet, code, properties}}
      _ -> @malformed
    end
  end

  defpurep reason(_packet, _bytes, _version, _kind), do: @malformed

  defpurep properties(4, bytes, _packet), do: {:ok, [], bytes}
  defpurep properties(5, bytes, packet), do: Properties.parse(bytes, packet)
end
