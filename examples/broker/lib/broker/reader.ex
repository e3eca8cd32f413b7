defmodule Broker.Reader do
  # Reads what a client sends, packet by packet: a packet is a turn. The accepting end of a connection.
  #
  # Invariants:
  # 1. The first packet is a CONNECT, and comes in time; nothing is done for a client before.
  # 2. One read is under way, or none while there is something to do. So a client that sends faster than its packets are handled
  #    waits in TCP.
  # 3. The keep-alive is the time that a read may take, one and a half times what the client has said. What has begun is read to its
  #    end, so that one byte at a time wins no time.
  # 4. The socket is closed once, by `closing`, and the session hears of it before.
  @moduledoc false
  use Mote.Behaviour

  alias Broker.{Frame, Packet}

  @window 64
  @most 268_435_460
  # Milliseconds that a client has to take why its connection is closed.
  @farewell 2_000

  @doc "What a listener starts. `env` is a map: root, sessions, limit (bytes of a packet), patience (milliseconds for the CONNECT)."
  defactor door(env) do
    {:connected, socket} ->
      read(socket, "", 2, env.patience)
      become greeting(env, socket, "")
  end

  defactor greeting(env, socket, buffer) do
    {:ok, bytes} ->
      buffer = buffer <> bytes

      case Packet.parse(buffer, nil, env.limit) do
        {:ok, {:connect, connect}, rest} -> enter(env, socket, connect, rest)
        {:ok, {:refuse, version, code}, _} -> close(socket, Frame.connack(version, code, false, []))
        {:error, _code} -> close(socket, "")
        {:more, n} -> wait(env, socket, buffer, n)
      end

    {:error, _reason} ->
      close(socket, "")
  end

  # The session answers.
  defactor entering(link, buffer) do
    {:session, session} -> step(%{link | session: session}, buffer)
    {:close, code} -> close(link.socket, Frame.disconnect(link.version, code))
  end

  defactor reader(link, buffer) do
    {:ok, bytes} -> step(link, if(buffer == "", do: bytes, else: buffer <> bytes))
    :next -> step(link, buffer)
    {:error, :timeout} -> fail(link, 0x8D)
    {:error, _reason} -> leave(link, true, nil, "")
    {:close, code} -> close(link.socket, Frame.disconnect(link.version, code))
  end

  # What was written is out, or cannot be. What still comes is thrown away, since a socket that is closed before it is read would
  # take the farewell along.
  defactor closing(socket, timer) do
    :ok ->
      send socket, {nil, {:shutdown, :write}}
      send socket, {self(), {:read, :some}}

    {:ok, _bytes} ->
      send socket, {self(), {:read, :some}}

    # Of a connection that was taken over, the last read still waits.
    {:error, :busy} ->
      :reads

    _ended ->
      cancel_timer(timer)
      send socket, {nil, :close}
      become sink()
  end

  # -- CONNECT -------------------------------------------------------------------------------------------------

  defeffect wait(env, socket, buffer, n) do
    read(socket, buffer, n, env.patience)
    become greeting(env, socket, buffer)
  end

  defeffect enter(env, socket, connect, rest) do
    %{version: version, id: id, keep_alive: keep_alive, properties: properties} = connect

    name = if id == "", do: "mote-" <> random(), else: id
    assigned = if id == "", do: [assigned_client: name], else: []

    session = %{
      reader: self(),
      socket: socket,
      version: version,
      window: min(Keyword.get(properties, :receive_maximum, @window), @window),
      most: Keyword.get(properties, :maximum_packet, @most),
      expiry: expiry(version, connect.clean, properties),
      will: will(connect.will),
      hello: [{:maximum_qos, 1}, {:maximum_packet, env.limit} | assigned]
    }

    link = %{
      root: env.root,
      limit: env.limit,
      socket: socket,
      version: version,
      session: nil,
      patience: if(keep_alive == 0, do: :infinity, else: 1_500 * keep_alive)
    }

    Mote.Directory.send(env.sessions, name, {self(), {:attach, session, connect.clean}})
    become entering(link, rest)
  end

  defpurep random(), do: Base.encode16(for(_ <- 1..4, into: "", do: <<:rand.uniform(0xFFFFFFFF)::32>>))

  # In MQTT 3.1.1 a session that is not clean lasts for ever.
  defpurep expiry(4, clean, _properties), do: if(clean, do: 0, else: 0xFFFFFFFF)
  defpurep expiry(5, _clean, properties), do: Keyword.get(properties, :session_expiry, 0)

  defpurep will(nil), do: nil
  defpurep will({message, delay}), do: {dated(message), delay}

  # -- a packet ------------------------------------------------------------------------------------------------

  defeffect step(link, buffer) do
    case Packet.parse(buffer, link.version, link.limit) do
      {:ok, packet, rest} ->
        if handle(link, packet, byte_size(buffer) - byte_size(rest), buffer) == :go_on, do: go_on(link, rest)

      {:more, n} ->
        read(link.socket, buffer, n, link.patience)
        become reader(link, buffer)

      {:error, code} ->
        fail(link, code)
    end
  end

  defeffect go_on(link, "") do
    read(link.socket, "", 2, link.patience)
    become reader(link, "")
  end

  defeffect go_on(link, rest) do
    send self(), :next
    become reader(link, rest)
  end

  defeffect handle(link, {:publish, message, id}, size, buffer) do
    message = dated(%{message | from: link.session})

    plain = message.qos == 0 and not message.retain and message.expires == nil
    message = if plain, do: %{message | frame: {link.version, binary_part(buffer, 0, size)}}, else: message
    send link.root, {:publish, message}
    if id, do: write(link, Frame.puback(id))
    :go_on
  end

  defeffect handle(link, :ping, _size, _buffer) do
    write(link, Frame.pong())
    :go_on
  end

  # With what is wrong beside the number: the message has arrived, and that is all.
  defeffect handle(link, {{:puback, id}, _code, _properties}, _size, _buffer) do
    send link.session, {self(), {:acknowledged, id}}
    :go_on
  end

  # 4: with the will.
  defeffect handle(link, {:disconnect, code, properties}, _size, _buffer) do
    leave(link, code == 4, properties[:session_expiry], "")
    :ended
  end

  # SUBSCRIBE and UNSUBSCRIBE.
  defeffect handle(link, request, _size, _buffer) do
    send link.session, {self(), request}
    :go_on
  end

  defpurep dated(%{lasts: nil} = message), do: message

  defpurep dated(message),
    do: %{message | expires: System.monotonic_time(:millisecond) + 1_000 * message.lasts}

  # -- the socket ----------------------------------------------------------------------------------------------

  # So many bytes are missing at least. With nothing begun, whatever is there.
  defeffect read(socket, "", _missing, patience), do: send(socket, {self(), spec(:some, patience)})
  defeffect read(socket, _buffer, missing, patience), do: send(socket, {self(), spec(missing, patience)})

  defpurep spec(what, :infinity), do: {:read, what}
  defpurep spec(what, patience), do: {:read, what, patience}

  defeffect write(link, frame), do: send(link.socket, {nil, {:write, frame}})

  defeffect fail(link, code), do: leave(link, true, nil, Frame.disconnect(link.version, code))

  defeffect leave(link, kept_will, expiry, farewell) do
    send link.session, {self(), {:left, kept_will, expiry}}
    close(link.socket, farewell)
  end

  defeffect close(socket, "") do
    send socket, {nil, :close}
    become sink()
  end

  defeffect close(socket, farewell) do
    send socket, {self(), {:write, farewell}}
    become closing(socket, send_after(@farewell, self(), :late))
  end
end
