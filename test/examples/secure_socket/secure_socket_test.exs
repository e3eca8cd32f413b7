defmodule SecureSocketTest do
  # The whole example over real sockets on the loopback interface.
  use ExUnit.Case, async: true

  alias SecureSocket.{Crypto, Echo, RawPeer}

  @secret "sixteen bytes at least"

  setup context do
    # A place for everybody who waits for a packet, and for those that go on meanwhile.
    io = [beam: true, max_concurrency: 200, timeout: :infinity]
    machine = start_supervised!({Mote, sponsors: [main: [threads: context[:threads] || 1], io: io]})
    crypto = start_supervised!(Crypto)
    {:ok, listener} = SecureSocket.listen(0, context[:listen] || [])
    {:ok, port} = :inet.port(listener)
    opts = Keyword.merge([secret: @secret, crypto: crypto, owner: self(), idle: 60_000], context[:opts] || [])
    %{machine: machine, crypto: crypto, listener: listener, port: port, opts: opts}
  end

  # A server that was connected to by a peer: {server, what connect gave}.
  defp accept(%{machine: machine, listener: listener, opts: opts}, connect) do
    connecting = Task.async(connect)
    {:ok, server} = SecureSocket.accept(machine, listener, opts)
    {server, Task.await(connecting, 60_000)}
  end

  defp pair(%{machine: machine, port: port, opts: opts} = context) do
    {server, {:ok, client}} = accept(context, fn -> SecureSocket.connect(machine, port, opts) end)
    {server, client}
  end

  defp with_raw(%{listener: listener} = context) do
    test = self()

    accept(context, fn ->
      peer = RawPeer.connect(listener, @secret)
      :ok = :gen_tcp.controlling_process(peer.socket, test)
      peer
    end)
  end

  # What blocks are charged for, without the room in them: a first packet may take a block of each kind.
  defp used(machine) do
    %{charged: charged, holes: holes} = Mote.info(machine).memory
    charged - holes
  end

  # The connection ended for this reason, and that was told once; its socket and processes are gone.
  defp assert_ended(connection, why) do
    assert_receive {:secure_socket, ^connection, {:closed, ^why}}
    assert SecureSocket.read(connection) == {:error, why}
    assert SecureSocket.write(connection, "late") == {:error, why}
    ref = Process.monitor(connection.driver)
    assert_receive {:DOWN, ^ref, :process, _, _}
    refute_received {:secure_socket, ^connection, _}
    assert SecureSocket.close(connection) == :ok
  end

  test "packets go both ways, of all sizes", context do
    {server, client} = pair(context)

    for size <- [0, 1, 100, 16_384, 16_385, 300_000, 1_048_576] do
      data = :crypto.strong_rand_bytes(size)
      writing = Task.async(fn -> SecureSocket.write(client, data) end)
      assert SecureSocket.read(server) == {:ok, data}
      assert Task.await(writing, 60_000) == :ok
      assert SecureSocket.write(server, "got #{size}") == :ok
      assert SecureSocket.read(client) == {:ok, "got #{size}"}
    end

    assert SecureSocket.close(client) == :ok
    assert_ended(client, :closed_here)
    assert SecureSocket.read(server) == {:error, :closed}
    assert_ended(server, :closed)
  end

  test "what many write at once arrives whole, each writer's packets in their order", context do
    {server, client} = pair(context)

    writers =
      for w <- 1..8 do
        Task.async(fn ->
          for n <- 1..25,
              do:
                :ok =
                  SecureSocket.write(client, :erlang.term_to_binary({w, n, :binary.copy(<<w>>, n * w * 9)}))
        end)
      end

    packets =
      for _ <- 1..200 do
        {:ok, data} = SecureSocket.read(server)
        {w, n, bytes} = :erlang.binary_to_term(data)
        assert bytes == :binary.copy(<<w>>, n * w * 9)
        {w, n}
      end

    Task.await_many(writers, 60_000)
    for w <- 1..8, do: assert(for({^w, n} <- packets, do: n) == Enum.to_list(1..25))
  end

  test "everything that was written before closing arrives", context do
    {server, client} = pair(context)
    packets = for n <- 1..50, do: :binary.copy(<<n>>, n * 100)

    writing =
      Task.async(fn ->
        for packet <- packets, do: :ok = SecureSocket.write(client, packet)
        SecureSocket.close(client)
      end)

    for packet <- packets, do: assert(SecureSocket.read(server) == {:ok, packet})
    Task.await(writing, 60_000)
    assert_receive {:secure_socket, ^client, {:closed, :closed_here}}
    # The first error may be asked for long before the owner has read what it is told.
    assert SecureSocket.read(server) == {:error, :closed}
    assert_ended(server, :closed)
  end

  test "nothing of the data is in what travels", context do
    {server, peer} = with_raw(context)
    assert SecureSocket.write(server, "a plain word") == :ok
    {:ok, bytes} = :gen_tcp.recv(peer.socket, 4 + 12 + 32, 20_000)
    assert <<12::32, data::binary-size(12), hmac::binary>> = bytes
    assert data != "a plain word" and peer.open.(0, data, hmac) == {:opened, "a plain word"}
  end

  test "an actor reads and writes as a process does", %{machine: machine} = context do
    {server, client} = pair(context)
    Mote.send(Mote.create(machine, Echo.echo(server.reads, server.writes)), :start)

    for n <- 1..20 do
      assert SecureSocket.write(client, "packet #{n}") == :ok
      assert SecureSocket.read(client) == {:ok, "packet #{n}"}
    end

    SecureSocket.close(client)
    assert_receive {:secure_socket, ^server, {:closed, :closed}}
  end

  # Both packets over a real socket, the second part only when the system has delivered the first.
  test "a stream that is split at every byte", context do
    data = ["abc", "de"]

    for at <- 1..(2 * 36 + 5 - 1) do
      {server, peer} = with_raw(context)
      stream = Enum.map_join(Enum.with_index(data), fn {data, n} -> peer.seal.(n, data) end)
      <<one::binary-size(at), two::binary>> = stream
      first = Task.async(fn -> SecureSocket.read(server) end)
      :ok = RawPeer.send(peer, one)
      wait_for(server, at)
      :ok = RawPeer.send(peer, two)
      assert Task.await(first, 60_000) == {:ok, "abc"}
      assert SecureSocket.read(server) == {:ok, "de"}
      :gen_tcp.close(peer.socket)
      assert SecureSocket.read(server) == {:error, :closed}
    end
  end

  # Until the socket has taken so many bytes from the system, beside the hello.
  defp wait_for(connection, bytes) do
    %{socket: socket} = :sys.get_state(connection.driver)
    {:ok, [recv_oct: taken]} = :inet.getstat(socket, [:recv_oct])

    if taken < 16 + bytes do
      Process.sleep(1)
      wait_for(connection, bytes)
    end
  end

  describe "ends with a clear reason, and the peer's connection with it, after" do
    test "a forged packet", context do
      {server, peer} = with_raw(context)
      :ok = RawPeer.send(peer, [peer.seal.(0, "good"), peer.seal.(7, "replayed"), peer.seal.(2, "more")])
      assert SecureSocket.read(server) == {:ok, "good"}
      assert SecureSocket.read(server) == {:error, {:forged, 1}}
      assert_ended(server, {:forged, 1})
      assert :gen_tcp.recv(peer.socket, 0, 20_000) == {:error, :closed}
    end

    @tag opts: [longest: 1_000]
    test "a length that is too much", context do
      {server, peer} = with_raw(context)
      :ok = RawPeer.send(peer, [peer.seal.(0, "good"), <<1_001::32>>])
      assert SecureSocket.read(server) == {:ok, "good"}
      assert SecureSocket.read(server) == {:error, {:too_long, 1_001, 1_000}}
      assert_ended(server, {:too_long, 1_001, 1_000})
      assert :gen_tcp.recv(peer.socket, 0, 20_000) == {:error, :closed}
    end

    test "an early close within each part", context do
      for {size, part, got, wanted} <- [
            {2, :length, 2, 4},
            {9, :data, 5, 8},
            {12, :hmac, 0, 32},
            {43, :hmac, 31, 32}
          ] do
        {server, peer} = with_raw(context)
        :ok = RawPeer.send(peer, binary_part(peer.seal.(0, "12345678"), 0, size))
        :gen_tcp.close(peer.socket)
        assert SecureSocket.read(server) == {:error, {:cut_off, part, got, wanted}}
        assert_ended(server, {:cut_off, part, got, wanted})
      end
    end

    @tag opts: [idle: 500]
    test "silence", context do
      for bytes <- ["", <<0, 0>>, <<0, 0, 0, 9, 1, 2>>] do
        {server, peer} = with_raw(context)
        :ok = RawPeer.send(peer, bytes)
        assert SecureSocket.read(server) == {:error, {:silent, 500}}
        assert_ended(server, {:silent, 500})
        assert :gen_tcp.recv(peer.socket, 0, 20_000) == {:error, :closed}
      end
    end

    @tag opts: [idle: 500, tcp: [sndbuf: 8_192, high_watermark: 8_192]]
    @tag listen: [recbuf: 8_192]
    test "a peer that takes nothing", context do
      {server, peer} = with_raw(context)
      assert {:error, {:stuck, 500}} = write_until_error(server, :binary.copy("x", 100_000), 200)
      assert_ended(server, {:stuck, 500})
      assert is_port(peer.socket)
    end

    @tag capture_log: true
    test "the end of the process that does the cryptography", %{crypto: crypto} = context do
      {server, _client} = pair(context)
      reading = Task.async(fn -> SecureSocket.read(server) end)
      Process.exit(crypto, :kill)
      assert Task.await(reading, 60_000) == {:error, {:gone, :crypto, :killed}}
      assert_ended(server, {:gone, :crypto, :killed})
    end
  end

  defp write_until_error(_connection, _data, 0), do: :never

  defp write_until_error(connection, data, n) do
    with :ok <- SecureSocket.write(connection, data), do: write_until_error(connection, data, n - 1)
  end

  test "a request that is too long or unknown is answered, and harms nothing", context do
    {server, client} = pair(context)

    assert SecureSocket.write(client, :binary.copy("x", 1_048_577)) ==
             {:error, {:too_long, 1_048_577, 1_048_576}}

    assert Mote.ask!(client.writes, :flush) == {:error, {:unknown, :flush}}
    assert Mote.ask!(client.writes, {:write, [1, 2]}) == {:error, {:unknown, {:write, [1, 2]}}}
    assert Mote.ask!(server.reads, :peek) == {:error, {:unknown, :peek}}
    assert SecureSocket.write(client, "x") == :ok
    assert SecureSocket.read(server) == {:ok, "x"}
  end

  test "a connection ends with its owner, also one that is in the middle of reading", context do
    owner = spawn(fn -> receive do: (:end -> :ok) end)
    {server, client} = pair(%{context | opts: Keyword.put(context.opts, :owner, owner)})
    Process.send_after(owner, :end, 300)
    assert SecureSocket.read(server) in [{:error, {:gone, :owner, :normal}}, {:error, :closed}]
    assert SecureSocket.read(client) in [{:error, {:gone, :owner, :normal}}, {:error, :closed}]
  end

  test "closing ends a turn that waits for the peer, with the reason of this side",
       %{machine: machine} = context do
    {server, client} = pair(context)
    reading = for _ <- 1..3, do: Mote.async(server.reads, :read)
    Mote.Eventually.eventually(fn -> Mote.info(machine).sponsors.io.running == 1 end)
    assert SecureSocket.close(server) == :ok
    assert Mote.await_many(reading, :infinity) == List.duplicate({:error, :closed_here}, 3)
    assert_ended(server, :closed_here)
    assert SecureSocket.read(client) == {:error, :closed}
  end

  @tag opts: [idle: 500]
  test "a driver that is killed leaves nobody waiting", context do
    {server, _client} = pair(context)
    Process.exit(server.driver, :kill)
    assert {:error, why} = SecureSocket.read(server)
    assert why in [:closed, {:silent, 500}]
    assert SecureSocket.read(server) == {:error, why}
  end

  defmodule Asker do
    use Mote.Behaviour

    # Asks a connection, and tells what it is told. It counts: the turns of an actor that never becomes may run anywhere.
    defactor asker(reads, test, n) do
      :ask ->
        send reads, {self(), :read}

      answer ->
        send test, {self(), n, answer}
        become n: n + 1
    end
  end

  test "whoever asks stays in the native sponsor", %{machine: machine} = context do
    {server, client} = pair(context)
    asker = Mote.create(machine, Asker.asker(server.reads, self(), 0))
    assert SecureSocket.write(client, "x") == :ok
    assert SecureSocket.close(client) == :ok

    for {answer, n} <- Enum.with_index([{:ok, "x"}, {:error, :closed}, {:error, :closed}]) do
      Mote.send(asker, :ask)
      assert_receive {^asker, ^n, ^answer}
      assert Mote.info(asker).sponsor == :main
    end
  end

  test "a machine without such sponsors is an error", %{port: port, opts: opts} = context do
    machine = start_supervised!({Mote, []}, id: :plain)

    for {wrong, reason} <- [{[readers: :main], :beam_only}, {[], :unknown_sponsor}] do
      {_, connected} = accept(context, fn -> SecureSocket.connect(machine, port, opts ++ wrong) end)
      assert {:error, %Mote.Error{reason: ^reason}} = connected
    end
  end

  @tag opts: [idle: 50]
  test "no connection comes of a peer that says no hello", %{machine: machine, listener: listener, opts: opts} do
    silent = RawPeer.connect(listener)
    assert SecureSocket.accept(machine, listener, opts) == {:error, {:silent, 50}}
    assert {:ok, _hello} = :gen_tcp.recv(silent, 16, 20_000)
    assert :gen_tcp.recv(silent, 0, 20_000) == {:error, :closed}
    gone = RawPeer.connect(listener)
    :gen_tcp.close(gone)
    assert SecureSocket.accept(machine, listener, Keyword.put(opts, :idle, 20_000)) == {:error, :closed}
  end

  test "another secret is found out at the first packet",
       %{machine: machine, port: port, opts: opts} = context do
    other = Keyword.put(opts, :secret, "another one of some bytes")
    {server, {:ok, client}} = accept(context, fn -> SecureSocket.connect(machine, port, other) end)
    assert SecureSocket.write(client, "x") == :ok
    assert SecureSocket.read(server) == {:error, {:forged, 0}}
  end

  test "options that are wrong say so", %{machine: machine, opts: opts} do
    for {wrong, says} <- [
          {[secret: "short"], ~r/secret of at least 16 bytes/},
          {[crypto: :none], ~r/pid of a SecureSocket.Crypto, got: :none/},
          {[idle: 0], ~r/milliseconds, at least 1, got: 0/},
          {[longest: -1], ~r/0 to 4294967295 bytes, got: -1/},
          {[color: :red], ~r/unknown keys \[:color\]/}
        ] do
      assert_raise ArgumentError, says, fn -> SecureSocket.connect(machine, 1, Keyword.merge(opts, wrong)) end
    end
  end

  test "readers whose turns would be aborted while their peers send slowly are refused", context do
    %{machine: machine, port: port, listener: listener, opts: opts} = context
    :ok = Mote.add_sponsor(machine, :hasty, beam: true, timeout: 5_000)
    opts = Keyword.put(opts, :readers, :hasty)
    says = ~r/timeout: :infinity.* the turns of :hasty are aborted after 5000 ms/s
    assert_raise ArgumentError, says, fn -> SecureSocket.connect(machine, port, opts) end
    assert_raise ArgumentError, says, fn -> SecureSocket.accept(machine, listener, opts) end
  end

  # A sender that is faster than the reader waits: in TCP, not in the machine.
  @tag listen: [recbuf: 65_536], opts: [tcp: [sndbuf: 65_536]]
  test "what is not read stays outside of the machine", %{machine: machine} = context do
    {server, client} = pair(context)
    data = :crypto.strong_rand_bytes(65_536)
    before = used(machine)
    writing = Task.async(fn -> for _ <- 1..300, do: :ok = SecureSocket.write(client, data) end)
    assert SecureSocket.read(server) == {:ok, data}
    # The writer is stuck, far from done, and what waits is a few packets at most.
    assert Task.yield(writing, 300) == nil
    # Without the garbage of what was read.
    Mote.Eventually.eventually(fn ->
      Mote.gc(machine)
      used(machine) - before < 2 * 1024 * 1024
    end)

    for _ <- 2..300, do: assert(SecureSocket.read(server) == {:ok, data})
    assert [:ok | _] = Task.await(writing, 60_000)
  end

  @tag threads: 2
  test "fifty connections at once on two threads", %{machine: machine} = context do
    pairs = for _ <- 1..50, do: pair(context)

    for {server, _} <- pairs,
        do: Mote.send(Mote.create(machine, Echo.echo(server.reads, server.writes)), :start)

    pairs
    |> Enum.map(fn {_, client} ->
      Task.async(fn ->
        for n <- 1..10 do
          data = :crypto.strong_rand_bytes(n * 997)
          assert SecureSocket.write(client, data) == :ok
          assert SecureSocket.read(client) == {:ok, data}
        end
      end)
    end)
    |> Task.await_many(60_000)

    for {_, client} <- pairs, do: SecureSocket.close(client)
    for {server, _} <- pairs, do: assert_receive({:secure_socket, ^server, {:closed, :closed}})
  end
end
