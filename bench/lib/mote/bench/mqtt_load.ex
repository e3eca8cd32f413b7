defmodule Mote.Bench.MqttLoad do
  # Clients of an MQTT broker on this computer, and their load: messages of 64 bytes and QoS 0 that go out as soon as the last ones
  # have arrived, so nothing is lost. Whatever is started here ends with the process that starts it.
  @moduledoc false

  import Bitwise

  alias Mote.Bench.Run

  @payload String.duplicate("x", 64)
  @localhost {127, 0, 0, 1}
  @parts 4

  @enforce_keys [:pids, :count]
  defstruct [:pids, :count]

  @type t :: %__MODULE__{pids: [pid], count: :counters.counters_ref()}

  @doc "Connects the clients of a load, `:fan` or `:pairs`, so many of them, and returns when they are ready."
  @spec start(:fan | :pairs, :inet.port_number(), pos_integer) :: t
  def start(kind, port, clients) do
    {pids, count, ready} = if kind == :fan, do: fan(port, clients), else: pairs(port, clients)
    wait(count, ready)
    %__MODULE__{pids: pids, count: count}
  end

  @doc "Has them send while a function runs, and returns how many messages have arrived meanwhile, and what that returns."
  @spec during(t, (... -> result)) :: {non_neg_integer, result} when result: term
  def during(%__MODULE__{pids: pids, count: count}, fun) do
    for pid <- pids, do: send(pid, :go)
    Process.sleep(300)
    before = :counters.get(count, 1)
    result = fun.()
    messages = :counters.get(count, 1) - before
    for pid <- pids, do: send(pid, :pause)
    rest(count)
    {messages, result}
  end

  @doc "Ends them and their connections."
  @spec stop(t) :: :ok
  def stop(%__MODULE__{pids: pids}) do
    for pid <- pids do
      monitor = Process.monitor(pid)
      Process.unlink(pid)
      Process.exit(pid, :kill)
      receive do: ({:DOWN, ^monitor, :process, _, _} -> :ok)
    end

    :ok
  end

  # Whatever takes longer than a minute will never end.
  defp wait(count, n, tries \\ 6_000)

  defp wait(_count, n, 0), do: raise(Run.Error, message: "fewer than #{n} messages have arrived in a minute")

  defp wait(count, n, tries),
    do: unless(:counters.get(count, 1) >= n, do: Process.sleep(10) && wait(count, n, tries - 1))

  # Until nothing arrives any more.
  defp rest(count) do
    n = :counters.get(count, 1)
    Process.sleep(300)
    unless :counters.get(count, 1) == n, do: rest(count)
  end

  # One publishes to all, when all have got what was sent before.
  defp fan(port, clients) do
    count = :counters.new(1, [])
    frame = publish("fan")

    subscribers =
      for part <- parts(clients), do: spawn_link(fn -> listen(port, part, count, byte_size(frame)) end)

    publisher =
      spawn_link(fn ->
        socket = connect(port, "publisher")
        wait(count, clients)
        :gen_tcp.send(socket, frame)
        wait(count, 2 * clients)
        publish_on(socket, frame, count, clients)
      end)

    {[publisher | subscribers], count, 2 * clients}
  end

  defp publish_on(socket, frame, count, clients) do
    receive do: (:go -> :ok)
    publishing(socket, frame, count, clients)
  end

  defp publishing(socket, frame, count, clients) do
    n = :counters.get(count, 1)
    :gen_tcp.send(socket, frame)
    arrived(count, n + clients)

    receive do
      :pause -> publish_on(socket, frame, count, clients)
    after
      0 -> publishing(socket, frame, count, clients)
    end
  end

  defp arrived(count, n) do
    unless :counters.get(count, 1) >= n do
      receive after: (1 -> :ok)
      arrived(count, n)
    end
  end

  defp listen(port, part, count, size) do
    sockets = for n <- part, do: subscriber(port, "fan", n)
    :counters.add(count, 1, length(sockets))
    for socket <- sockets, do: :inet.setopts(socket, active: true)
    listening(count, size, 0)
  end

  defp listening(count, size, bytes) do
    receive do
      {:tcp, _, data} ->
        bytes = bytes + byte_size(data)
        :counters.add(count, 1, div(bytes, size))
        listening(count, size, rem(bytes, size))

      word when word in [:go, :pause] ->
        listening(count, size, bytes)

      {:tcp_closed, _} ->
        exit(:closed_by_the_broker)
    end
  end

  # Each publishes to one of its own.
  defp pairs(port, clients) do
    count = :counters.new(1, [])
    workers = for part <- parts(clients), do: spawn_link(fn -> pair(port, part, count) end)
    {workers, count, length(workers)}
  end

  defp pair(port, part, count) do
    pairs =
      Map.new(part, fn n ->
        topic = "pair/#{n}"
        subscriber = subscriber(port, topic, n)
        :inet.setopts(subscriber, active: true)
        {subscriber, {connect(port, "publisher #{n}"), publish(topic)}}
      end)

    :counters.add(count, 1, 1)
    pairing(pairs, count, %{}, false)
  end

  # A pair goes on when its message is there: what is there of those that are not has its bytes in `parts`.
  defp pairing(pairs, count, parts, on) do
    receive do
      {:tcp, socket, data} ->
        {publisher, frame} = Map.fetch!(pairs, socket)
        got = Map.get(parts, socket, 0) + byte_size(data)

        if got >= byte_size(frame) do
          :counters.add(count, 1, 1)
          if on, do: :gen_tcp.send(publisher, frame)
          pairing(pairs, count, Map.delete(parts, socket), on)
        else
          pairing(pairs, count, Map.put(parts, socket, got), on)
        end

      :pause ->
        pairing(pairs, count, parts, false)

      :go ->
        for {_, {publisher, frame}} <- pairs, do: :gen_tcp.send(publisher, frame)
        pairing(pairs, count, parts, true)

      {:tcp_closed, _} ->
        exit(:closed_by_the_broker)
    end
  end

  defp parts(clients), do: Enum.chunk_every(1..clients, max(div(clients, @parts), 1))

  defp subscriber(port, topic, n) do
    socket = connect(port, "subscriber #{n}")
    :ok = :gen_tcp.send(socket, <<0x82, byte_size(topic) + 5, 1::16, byte_size(topic)::16, topic::binary, 0>>)
    {:ok, <<0x90, 3, 1::16, 0>>} = :gen_tcp.recv(socket, 5)
    socket
  end

  @doc "Connects one that says nothing more. Raises if the broker does not take it."
  @spec connect(:inet.port_number(), String.t()) :: :gen_tcp.socket()
  def connect(port, id) do
    {:ok, socket} =
      :gen_tcp.connect(@localhost, port, [:binary, active: false, nodelay: true, buffer: 65_536])

    body = <<4::16, "MQTT", 4, 2, 0::16, byte_size(id)::16, id::binary>>
    :ok = :gen_tcp.send(socket, <<0x10, byte_size(body)>> <> body)
    {:ok, <<0x20, 2, 0, 0>>} = :gen_tcp.recv(socket, 4)
    socket
  end

  defp publish(topic) do
    size = 2 + byte_size(topic) + byte_size(@payload)
    <<0x30, size &&& 0x7F, byte_size(topic)::16, topic::binary, @payload::binary>>
  end
end
