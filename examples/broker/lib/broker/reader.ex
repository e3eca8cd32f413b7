defmodule Broker.Reader do
  # Reads what a client sends, packet by packet: a packet is a turn. The accepting end of a connection.
  #
  # Invariants:
  # 1. The first packet is a CONNECT, and comes in time; nothing is done for a client before.
  # 2. One read is under way, or none while there is something to do. So a client that sends faster than its packets are handled
  #    waits in TCP.
  # 3. The keep-alive is the time that a read may take, one and a half times what the client has said. What has begun is read to its
  #    end, so that one byte at a time wins no time.
  # 4. A client that has a session is written to by that alone, since what two actors write has no order, and a client wants its
  #    CONNACK first and why it is closed last. The session's last write is answered to the reader, which closes then.
  @moduledoc false
  use Mote.Behaviour

  alias Broker.{Frame, Packet}

  @window 64
  @most 268_435_460
  # Milliseconds that a client has to take why it is refused.
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
        {:ok, {:refuse, version, code}, _} -> refuse(socket, Frame.connack(version, code, false, []))
        {:error, _code} -> close(socket)
        {:more, n} -> wait(env, socket, buffer, n)
      end

    {:error, _reason} ->
      close(socket)
  end

  # The directory has the session of that name: a new one, or one that was there. It is reached by way of the directory, since it may be
  # about to end.
  defactor entering(link, buffer, place, attach) do
    _put ->
      {_root, shard, name} = place
      send shard, {self(), {:to, name, attach}}
      become attaching(link, buffer, place, attach)
  end

  defactor attaching(link, buffer, place, attach) do
    {:session, session} -> step(%{link | session: session}, buffer)
    # It has ended: {Mote.Directory, :unknown_key}, or :again.
    ended when ended == :again or ended == {Mote.Directory, :unknown_key} -> put(link, buffer, place, attach)
    :ok -> hang_up(link.socket)
    :late -> close(link.socket)
  end

  defactor reader(link, buffer) do
    {:ok, bytes} -> step(link, if(buffer == "", do: bytes, else: buffer <> bytes))
    :next -> step(link, buffer)
    {:error, :timeout} -> leave(link, true, nil, Frame.disconnect(link.version, 0x8D))
    {:error, _reason} -> lose(link)
    # The session has written the last.
    :ok -> hang_up(link.socket)
    :late -> close(link.socket)
  end

  # What still comes is thrown away, since a socket that is closed before all is read would take along what was written last.
  defactor closing(socket) do
    :ok -> hang_up(socket)
    {:ok, _bytes} -> send socket, {self(), {:read, :some}}
    # Of a connection that was taken over, the last read still waits.
    {:error, :busy} -> :reads
    {:error, _reason} -> close(socket)
    :late -> close(socket)
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
      will: will(connect.will)
    }

    hello = [{:maximum_qos, 1}, {:maximum_packet, env.limit} | assigned]

    link = %{
      root: env.root,
      limit: env.limit,
      socket: socket,
      version: version,
      session: nil,
      patience: if(keep_alive == 0, do: :infinity, else: 1_500 * keep_alive)
    }

    place = {env.root, Mote.Directory.shard(env.sessions, name), name}
    put(link, rest, place, {:attach, session, connect.clean, hello})
  end

  defeffect put(link, buffer, {root, shard, name} = place, attach) do
    # On this thread, which has the socket.
    send shard, {self(), {:put, name, create(Broker.Session.unused({name, root, shard}))}}
    become entering(link, buffer, place, attach)
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
        leave(link, true, nil, Frame.disconnect(link.version, code))
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
    if id, do: send(link.session, {self(), {:write, Frame.puback(id)}})
    :go_on
  end

  defeffect handle(link, :ping, _size, _buffer) do
    send link.session, {self(), {:write, Frame.pong()}}
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

  # The session is told, and writes the farewell.
  defeffect leave(link, kept_will, expiry, farewell) do
    send link.session, {self(), {:left, kept_will, expiry, farewell}}
    become closing(link.socket)
  end

  # Nobody is there to be written to.
  defeffect lose(link) do
    send link.session, {self(), {:left, true, nil, nil}}
    close(link.socket)
  end

  defeffect refuse(socket, farewell) do
    send socket, {self(), {:write, farewell}}
    send_after @farewell, self(), :late
    become closing(socket)
  end

  defeffect hang_up(socket) do
    send socket, {nil, {:shutdown, :write}}
    send socket, {self(), {:read, :some}}
    become closing(socket)
  end

  defeffect close(socket) do
    send socket, {nil, :close}
    become sink()
  end
end
