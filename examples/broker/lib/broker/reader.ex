defmodule Broker.Reader do
  # Reads what a client sends, packet by packet: a packet is a turn. The accepting end of a connection.
  #
  # Invariants:
  # 1. The first packet is a CONNECT, and comes in time; nothing is done for a client before.
  # 2. One read is under way, or none while there is something to do. So a client that sends faster than its packets are handled
  #    waits in TCP.
  # 3. The keep-alive is the time that a read may take, one and a half times what the client has said. What has begun is read to its
  #    end, so that one byte at a time wins no time.
  # 4. What a connection keeps is little: there are many, and most are idle. Clients that want the same share their terms: version,
  #    window and most (what the client takes), expiry (seconds that its session lasts without a connection), will (`{message, seconds}`
  #    or `nil`).
  # 5. A client that has a session is written to by that alone, since what two actors write has no order, and a client wants its
  #    CONNACK first and why it is closed last. The session's last write is answered to the reader, which closes then.
  @moduledoc false
  use Mote.Behaviour

  alias Broker.{Frame, Packet}

  @window 64
  @most 268_435_460
  # Milliseconds that a client has to take why it is refused.
  @farewell 2_000
  # In MQTT 3.1.1 a session that is not clean lasts for ever.
  @never 0xFFFFFFFF
  # The terms of most clients.
  @usual for version <- [4, 5],
             expiry <- [0, @never],
             do: %{version: version, window: @window, most: @most, expiry: expiry, will: nil}

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
  defactor entering(env, link, patience, buffer, name, attach) do
    _put ->
      send Mote.Directory.shard(env.sessions, name), {self(), {:to, name, attach}}
      become attaching(env, link, patience, buffer, name, attach)
  end

  defactor attaching(env, link, patience, buffer, name, attach) do
    {:session, session} ->
      {_reader, socket, terms} = link
      step(env, socket, terms, session, patience, buffer)

    # It has ended: {Mote.Directory, :unknown_key}, or :again.
    ended when ended == :again or ended == {Mote.Directory, :unknown_key} ->
      put(env, link, patience, buffer, name, attach)

    :ok ->
      hang_up(elem(link, 1))

    :late ->
      close(elem(link, 1))
  end

  # `patience`: the milliseconds that a read may take, or `:infinity`.
  defactor reader(env, socket, terms, session, patience, buffer) do
    {:ok, bytes} ->
      step(env, socket, terms, session, patience, if(buffer == "", do: bytes, else: buffer <> bytes))

    :next ->
      step(env, socket, terms, session, patience, buffer)

    {:error, :timeout} ->
      leave(socket, session, true, nil, Frame.disconnect(terms.version, 0x8D))

    {:error, _reason} ->
      lose(socket, session)

    # The session has written the last.
    :ok ->
      hang_up(socket)

    :late ->
      close(socket)
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

    terms = %{
      version: version,
      window: min(Keyword.get(properties, :receive_maximum, @window), @window),
      most: Keyword.get(properties, :maximum_packet, @most),
      expiry: expiry(version, connect.clean, properties),
      will: will(connect.will)
    }

    link = {self(), socket, Enum.find(@usual, terms, fn usual -> usual == terms end)}
    patience = if keep_alive == 0, do: :infinity, else: 1_500 * keep_alive
    hello = [{:maximum_qos, 1}, {:maximum_packet, env.limit} | assigned]
    put(env, link, patience, rest, name, {:attach, link, connect.clean, hello})
  end

  defeffect put(env, link, patience, buffer, name, attach) do
    # On this thread, which has the socket.
    send Mote.Directory.shard(env.sessions, name),
         {self(), {:put, name, create(Broker.Session.unused(env, name))}}

    become entering(env, link, patience, buffer, name, attach)
  end

  defpurep random(), do: Base.encode16(for(_ <- 1..4, into: "", do: <<:rand.uniform(0xFFFFFFFF)::32>>))

  defpurep expiry(4, clean, _properties), do: if(clean, do: 0, else: @never)
  defpurep expiry(5, _clean, properties), do: Keyword.get(properties, :session_expiry, 0)

  defpurep will(nil), do: nil
  defpurep will({message, delay}), do: {dated(message), delay}

  # -- a packet ------------------------------------------------------------------------------------------------

  # The buffer begins with it.
  defeffect step(env, socket, terms, session, patience, buffer) do
    case Packet.parse(buffer, terms.version, env.limit) do
      {:ok, {:publish, message, id}, rest} ->
        frame = {terms.version, binary_part(buffer, 0, byte_size(buffer) - byte_size(rest))}
        publish(env.root, session, message, frame)
        if id, do: send(session, {self(), {:write, Frame.puback(id)}})
        go_on(env, socket, terms, session, patience, rest)

      # 4: with the will.
      {:ok, {:disconnect, code, properties}, _rest} ->
        leave(socket, session, code == 4, properties[:session_expiry], "")

      {:ok, packet, rest} ->
        send session, {self(), request(packet)}
        go_on(env, socket, terms, session, patience, rest)

      {:more, n} ->
        read(socket, buffer, n, patience)
        become reader(env, socket, terms, session, patience, buffer)

      {:error, code} ->
        leave(socket, session, true, nil, Frame.disconnect(terms.version, code))
    end
  end

  defeffect go_on(env, socket, terms, session, patience, rest) do
    if rest == "", do: read(socket, "", 2, patience), else: send(self(), :next)
    become reader(env, socket, terms, session, patience, rest)
  end

  defeffect publish(root, session, message, frame) do
    message = dated(%{message | from: session})
    plain = message.qos == 0 and not message.retain and message.expires == nil
    send root, {:publish, if(plain, do: %{message | frame: frame}, else: message)}
  end

  # What is asked of the session.
  defpurep request(:ping), do: {:write, Frame.pong()}
  # With what is wrong beside the number: the message has arrived, and that is all.
  defpurep request({{:puback, id}, _code, _properties}), do: {:acknowledged, id}
  # SUBSCRIBE and UNSUBSCRIBE.
  defpurep request(packet), do: packet

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
  defeffect leave(socket, session, kept_will, expiry, farewell) do
    send session, {self(), {:left, kept_will, expiry, farewell}}
    become closing(socket)
  end

  # Nobody is there to be written to.
  defeffect lose(socket, session) do
    send session, {self(), {:left, true, nil, nil}}
    close(socket)
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
