defmodule Broker.ClientsTest do
  # The broker over the loopback, with clients that others have written, and with such as break the rules.
  use ExUnit.Case, async: true

  alias Broker.{Clients, Packets}

  # Milliseconds: several times the patience for one client.
  @moduletag timeout: 300_000

  # As patient as the tests, unless they say otherwise.
  setup context do
    options = [port: 0, max_packet: 200_000, patience: context[:patience] || 60_000]
    {:ok, broker} = start_supervised({Broker, options})
    {:ok, broker: broker, port: Broker.port(broker)}
  end

  describe "mosquitto" do
    @describetag :mosquitto

    for version <- ["mqttv311", "mqttv5"] do
      test "publishes and subscribes, #{version}", %{port: port} do
        version = ["-V", unquote(version)]
        exact = Clients.subscriber(port, version ++ ~w(-t a/b -q 1))
        plus = Clients.subscriber(port, version ++ ~w(-t +/b -t a/+/c))
        all = Clients.subscriber(port, version ++ ~w(-t # -q 1))
        assert Clients.publish(port, version ++ ~w(-t a/b -m one)) == 0
        assert Clients.publish(port, version ++ ~w(-t a/x/c -m two -q 1)) == 0
        assert Clients.publish(port, version ++ ~w(-t a/b -m three -q 1)) == 0
        assert Clients.messages(exact, 2) == ["a/b 0 0 one", "a/b 1 0 three"]
        assert Clients.messages(plus, 3) == ["a/b 0 0 one", "a/x/c 0 0 two", "a/b 0 0 three"]
        assert Clients.messages(all, 3) == ["a/b 0 0 one", "a/x/c 1 0 two", "a/b 1 0 three"]
        for client <- [exact, plus, all], do: Clients.signal(client, "INT")
      end

      test "retains, and forgets, #{version}", %{port: port} do
        version = ["-V", unquote(version)]
        for n <- 1..3, do: assert(Clients.publish(port, version ++ ~w(-t r/#{n} -m at#{n} -r)) == 0)
        assert Clients.publish(port, version ++ ~w(-t r/2 -n -r)) == 0
        client = Clients.subscriber(port, version ++ ~w(-t r/#))
        assert Enum.sort(Clients.messages(client, 2)) == ["r/1 0 1 at1", "r/3 0 1 at3"]
        Clients.signal(client, "INT")
      end

      test "keeps a session, and leaves a will, #{version}", %{port: port} do
        version = ["-V", unquote(version)]

        lasting =
          version ++ ~w(-i lasting -c -q 1 -t kept) ++ if("mqttv5" in version, do: ~w(-x 100), else: [])

        client = Clients.subscriber(port, lasting ++ ~w(--will-topic gone --will-payload lasting))
        witness = Clients.subscriber(port, version ++ ~w(-t gone))
        Clients.signal(client, "KILL")
        assert Clients.messages(witness, 1) == ["gone 0 0 lasting"]
        for n <- 1..3, do: assert(Clients.publish(port, version ++ ~w(-t kept -m missed#{n} -q 1)) == 0)
        client = Clients.start_subscriber(port, lasting)
        assert Clients.messages(client, 3) == for(n <- 1..3, do: "kept 1 0 missed#{n}")
        for client <- [client, witness], do: Clients.signal(client, "INT")
      end
    end

    test "shares a subscription", %{port: port} do
      workers = for _ <- 1..2, do: Clients.subscriber(port, ~w(-V mqttv5 -q 1 -t $share/workers/jobs/+))
      for n <- 1..6, do: assert(Clients.publish(port, ~w(-t jobs/#{n} -m x -q 1)) == 0)
      done = for worker <- workers, do: Clients.messages(worker, 3)
      assert done |> Enum.concat() |> Enum.sort() == for(n <- 1..6, do: "jobs/#{n} 1 0 x")
      for client <- workers, do: Clients.signal(client, "INT")
    end
  end

  @tag :paho
  test "paho-mqtt", %{port: port} do
    script = Path.expand("support/paho_client.py", __DIR__)
    {out, status} = System.cmd(Clients.python(), [script, "#{port}"], stderr_to_stdout: true)

    each = fn name, code ->
      """
      #{name} connected 0 False
      #{name} subscribed [1]
      #{name} message #{name}/a/b of QoS 0 0 False
      #{name} message #{name}/a/b of QoS 1 1 False
      #{name} long 100000
      #{name} many 1000 True
      #{name} will #{name}/will/two lost #{code} False
      """
    end

    assert out ==
             each.("3.1.1", 1) <>
               each.("5", 1) <>
               """
               3.1.1 session True kept/3.1.1 missed 1 False
               5 session True kept/5 missed 1 False
               taken over 142
               properties [('key', 'value')] text/plain True
               done
               """

    assert status == 0
  end

  describe "a client that breaks the rules over a socket" do
    defp client(port, id, opts \\ []) do
      {:ok, socket} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])
      :ok = :gen_tcp.send(socket, Packets.connect(id, opts))
      version = opts[:version] || 5
      {:ok, <<0x20, size, _::binary>> = connack} = :gen_tcp.recv(socket, 0)
      ^size = byte_size(connack) - 2
      {socket, version}
    end

    # What comes until the broker closes.
    defp until_closed({socket, version}, bytes \\ "") do
      case :gen_tcp.recv(socket, 0, 60_000) do
        {:ok, more} ->
          until_closed({socket, version}, bytes <> more)

        {:error, :closed} ->
          :gen_tcp.close(socket)
          Packets.read(bytes, version)
      end
    end

    for {what, bytes, code} <- [
          {"too long a packet", Broker.Packets.packet(0x30, String.duplicate("x", 300_000)), 0x95},
          {"a second CONNECT", Broker.Packets.connect("again"), 0x82},
          {"wildcards in what is published", Broker.Packets.publish("a/#", "x"), 0x90},
          {"what is no UTF-8", Broker.Packets.publish(<<0xFF>>, "x"), 0x81},
          {"a bad type", Broker.Packets.packet(0, ""), 0x81}
        ] do
      test what, %{port: port} do
        {socket, _} = client = client(port, "bad")
        :gen_tcp.send(socket, unquote(bytes))
        assert until_closed(client) == [{:disconnect, unquote(code)}]
        {socket, _} = client = client(port, "bad", version: 4)
        bytes = if unquote(code) == 0x82, do: Packets.packet(0x20, ""), else: unquote(bytes)
        :gen_tcp.send(socket, bytes)
        assert until_closed(client) == []
      end
    end

    @tag patience: 200
    test "says nothing, or not enough", %{port: port} do
      {:ok, silent} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])
      {:ok, half} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])
      :ok = :gen_tcp.send(half, <<0x10, 99>>)
      for socket <- [silent, half], do: assert(until_closed({socket, 5}) == [])
    end

    test "is silent for longer than it has said", %{port: port} do
      assert until_closed(client(port, "short", keep_alive: 1)) == [{:disconnect, 0x8D}]
    end

    test "is taken over", %{port: port} do
      first = client(port, "same")
      {socket, _} = client(port, "same")
      assert until_closed(first) == [{:disconnect, 0x8E}]
      :ok = :gen_tcp.send(socket, Packets.ping())
      assert :gen_tcp.recv(socket, 2) == {:ok, <<0xD0, 0>>}
    end

    test "reads nothing, and keeps nobody else waiting", %{port: port} do
      {deaf, _} = client(port, "deaf")
      {other, _} = client(port, "other")

      for socket <- [deaf, other] do
        :ok = :gen_tcp.send(socket, Packets.subscribe(1, [{"a", 0}]))
        if socket == other, do: {:ok, <<0x90, 4, _::binary>>} = :gen_tcp.recv(socket, 6)
      end

      message = Packets.publish("a", String.duplicate("x", 100_000))

      for _ <- 1..200 do
        :ok = :gen_tcp.send(other, message)
        assert {:ok, ^message} = :gen_tcp.recv(other, byte_size(message))
      end

      :gen_tcp.close(deaf)
      :ok = :gen_tcp.send(other, Packets.ping())
      assert :gen_tcp.recv(other, 2) == {:ok, <<0xD0, 0>>}
    end
  end

  test "a broker that is stopped listens no more, and another one can take its place" do
    {:ok, broker} = Broker.start_link(port: 0)
    port = Broker.port(broker)
    client = client(port, "one")
    machine = Process.monitor(Broker.machine(broker))
    :ok = GenServer.stop(broker)
    assert_receive {:DOWN, ^machine, :process, _, _}, 60_000
    assert until_closed(client) == []
    assert {:error, :econnrefused} = :gen_tcp.connect({127, 0, 0, 1}, port, [])
    {:ok, broker} = Broker.start_link(port: port)
    client(port, "one")
    GenServer.stop(broker)
  end

  test "a port that is in use is an error", %{port: port} do
    Process.flag(:trap_exit, true)
    assert Broker.start_link(port: port) == {:error, :eaddrinuse}
  end
end
