defmodule Mote.Net.TroubleTest do
  # What goes wrong with sockets, and who keeps them.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually
  import Mote.NetRig, only: [client: 1, listen: 2, listen: 3, machine: 1, machine: 2]

  alias Mote.{Net, NetRig}

  defmodule Sessions do
    use Mote.Behaviour

    # Holds its socket, and says nothing.
    defactor hold() do
      {:connected, socket} -> become held(socket)
    end

    defactor held(socket) do
      {customer, :socket} -> send customer, socket
    end

    # Reads, and says what has come of it: only the read keeps it.
    defactor reads(owner) do
      {:connected, socket} ->
        send socket, {self(), {:read, :some}}
        become waits(owner, socket)
    end

    defactor waits(owner, socket) do
      {:ok, data} ->
        send owner, {:read, data}
        send socket, {self(), {:read, :some}}

      {:error, reason} ->
        send owner, {:over, reason}
        become sink()
    end

    defactor drops() do
      {:connected, _socket} -> become sink()
    end

    defactor aborts() do
      {:connected, _socket} -> abort(:no_session_today)
    end

    defactor deaf() do
      :nothing -> become sink()
    end
  end

  defp open(machine), do: Mote.info(machine).sponsors.net.net.open

  if match?({:unix, :linux}, :os.type()) do
    describe "a read that gets less than there is goes on" do
      # Everything has come, and the thread has been told of it, before anybody reads.
      defp read_all(machine, socket) do
        {_, port} = listen(machine, NetRig.echo())
        client = client(port)
        :ok = :gen_tcp.send(client, "told")
        assert :gen_tcp.recv(client, 4, 30_000) == {:ok, "told"}
        Mote.ask!(socket, {:read, 6, 10_000})
      end

      test "behind urgent bytes" do
        machine = machine(1)
        {_, port} = listen(machine, NetRig.tell(self()))
        {:ok, client} = :socket.open(:inet, :stream, :tcp)
        :ok = :socket.connect(client, %{family: :inet, addr: {127, 0, 0, 1}, port: port})
        assert_receive {:connected, socket}, 5_000
        :ok = :socket.send(client, "abc")
        :ok = :socket.send(client, "!", [:oob])
        :ok = :socket.send(client, "def")
        assert read_all(machine, socket) == {:ok, "abcdef"}
        :socket.close(client)
      end

      test "behind bytes with files" do
        machine = machine(1)
        path = Path.join(System.tmp_dir!(), "mote_net_#{System.unique_integer([:positive])}.sock")
        on_exit(fn -> File.rm(path) end)
        {:ok, _} = Net.listen(machine, path: path, accept: NetRig.tell(self()))
        {:ok, client} = :socket.open(:local, :stream)
        :ok = :socket.connect(client, %{family: :local, path: path})
        assert_receive {:connected, socket}, 5_000
        file = %{level: :socket, type: :rights, data: <<2::32-native>>}
        :ok = :socket.sendmsg(client, %{iov: ["abc"], ctrl: [file]})
        :ok = :socket.send(client, "def")
        assert read_all(machine, socket) == {:ok, "abcdef"}
        :socket.close(client)
      end
    end
  end

  describe "a connection" do
    test "that nobody holds is closed by a collection" do
      machine = machine(2)
      {_, port} = listen(machine, Sessions.drops())
      clients = for _ <- 1..20, do: client(port)
      eventually(fn -> Mote.info(machine).sponsors.net.net.accepted == 20 end)
      :ok = Mote.drain(machine)
      :ok = Mote.gc(machine)
      for client <- clients, do: assert(:gen_tcp.recv(client, 0, 5_000) == {:error, :closed})
      assert %{open: 1, collected: 20} = Mote.info(machine).sponsors.net.net
    end

    test "that somebody holds stays, and so does one whose read waits" do
      machine = machine(2)
      {_, holding} = listen(machine, Sessions.hold())
      {_, reading} = listen(machine, Sessions.reads(self()))
      {_, telling} = listen(machine, NetRig.tell(self()))
      [_held, reader, teller] = for port <- [holding, reading, telling], do: client(port)
      assert_receive {:connected, socket}, 5_000
      :ok = Mote.drain(machine)

      for n <- 1..3 do
        :ok = Mote.gc(machine)
        :ok = :gen_tcp.send(reader, "#{n}")
        text = "#{n}"
        assert_receive {:read, ^text}, 5_000
      end

      # Nobody holds the session of the first one: it goes, with its socket.
      eventually(fn -> Mote.gc(machine) == :ok and open(machine) == 5 end)
      assert Mote.ask(socket, {:write, "here"}) == {:ok, :ok}
      assert :gen_tcp.recv(teller, 4, 5_000) == {:ok, "here"}
    end

    test "is closed at once when the session cannot begin" do
      machine = machine(2)

      log =
        capture_log(fn ->
          {_, port} = listen(machine, Sessions.aborts())
          assert :gen_tcp.recv(client(port), 0, 5_000) == {:error, :closed}
          assert :gen_tcp.recv(client(port), 0, 5_000) == {:error, :closed}
          {_, port} = listen(machine, Sessions.deaf())
          assert :gen_tcp.recv(client(port), 0, 5_000) == {:error, :closed}
          assert open(machine) == 2
          # What it has to say it says before its end.
          :ok = Mote.stop(machine)
        end)

      assert log =~ "no_session_today"
    end

    test "that answers its session is not taken for one that could not begin" do
      machine = machine(2)
      {_, port} = listen(machine, NetRig.tell(self()))
      client = client(port)
      assert_receive {:connected, socket}, 5_000
      # The same message to an actor that ignores it, when the socket has been used.
      assert {:ok, {:ok, _}} = Mote.ask(socket, :peer)
      deaf = Mote.create(machine, Sessions.deaf(), sponsor: :net)
      :ok = Mote.send(deaf, {:connected, socket})
      :ok = Mote.drain(machine)
      assert Mote.ask(socket, {:write, "alive"}) == {:ok, :ok}
      assert :gen_tcp.recv(client, 5, 5_000) == {:ok, "alive"}
    end

    test "cannot move" do
      machine = machine(2)
      {listener, port} = listen(machine, NetRig.tell(self()))
      _client = client(port)
      assert_receive {:connected, socket}, 5_000
      other = machine(2)

      for address <- [socket, listener] do
        assert {:error, %Mote.Error{reason: :not_movable} = error} = Mote.move(address, other)
        assert error.context.why == :socket
        assert Exception.message(error) =~ "it is a socket"
      end

      assert {:ok, {:ok, _}} = Mote.ask(socket, :peer)
    end
  end

  describe "a listener" do
    test "accepts no more than it may, and goes on when one has gone" do
      machine = machine(2)
      {listener, port} = listen(machine, Sessions.reads(self()), max_connections: 2)
      [first, _second, third] = for _ <- 1..3, do: client(port)
      :ok = :gen_tcp.send(third, "third")
      eventually(fn -> Mote.ask(listener, :counters) == {:ok, %{connections: 2}} end)
      :ok = :gen_tcp.send(first, "first")
      assert_receive {:read, "first"}, 5_000
      refute_received {:read, "third"}
      :ok = :gen_tcp.close(first)
      assert_receive {:over, _}, 5_000
      # Its session is a sink by now, and holds nothing.
      :ok = Mote.gc(machine)
      assert_receive {:read, "third"}, 5_000
      assert Mote.ask(listener, :counters) == {:ok, %{connections: 2}}
    end

    test "lives without anybody who holds it, until it is closed" do
      machine = machine(2)
      {_, port} = listen(machine, Sessions.reads(self()))
      :erlang.garbage_collect()
      :ok = Mote.gc(machine)
      :ok = :gen_tcp.send(client(port), "hello")
      assert_receive {:read, "hello"}, 5_000

      {listener, port} = listen(machine, Sessions.reads(self()))
      assert Mote.ask(listener, :close) == {:ok, :ok}
      assert :gen_tcp.connect({127, 0, 0, 1}, port, []) == {:error, :econnrefused}
      assert Mote.ask(listener, :local) == {:ok, {:error, :closed}}
      assert Net.info(listener) == {:error, :closed}
    end
  end

  describe "the end" do
    test "of a machine closes all sockets" do
      machine = machine(2)
      {_, port} = listen(machine, Sessions.reads(self()))
      client = client(port)
      :ok = :gen_tcp.send(client, "x")
      assert_receive {:read, "x"}, 5_000
      :ok = Mote.stop(machine)
      assert :gen_tcp.recv(client, 0, 5_000) == {:error, :closed}
      assert :gen_tcp.connect({127, 0, 0, 1}, port, []) == {:error, :econnrefused}
    end

    test "of a machine that is killed closes them as well" do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1], net: [threads: 1, io: true]])
      Process.unlink(machine)
      {_, port} = listen(machine, Sessions.reads(self()))
      client = client(port)
      Process.exit(machine, :kill)
      assert :gen_tcp.recv(client, 0, 5_000) == {:error, :closed}
    end

    test "in good order lets what was written go first" do
      machine = machine(2, shutdown: [drain: 10_000])
      {_, port} = listen(machine, NetRig.tell(self()))
      client = client(port)
      assert_receive {:connected, socket}, 5_000
      data = :binary.copy("0123456789abcdef", 262_144)
      :ok = Mote.send(socket, {nil, {:write, data}})
      stop = Task.async(fn -> Mote.stop(machine) end)
      assert {:ok, ^data} = :gen_tcp.recv(client, byte_size(data), 30_000)
      assert Task.await(stop, 30_000) == :ok
      assert :gen_tcp.recv(client, 0, 5_000) == {:error, :closed}
    end

    test "of a sponsor closes its sockets, and tells whoever waits" do
      machine = machine(2)
      {_, port} = listen(machine, Sessions.reads(self()))
      {_, telling} = listen(machine, NetRig.tell(self()))
      [client, _teller] = [client(port), client(telling)]
      assert_receive {:connected, socket}, 5_000
      :ok = :gen_tcp.send(client, "x")
      assert_receive {:read, "x"}, 5_000
      :ok = Mote.remove_sponsor(machine, :net)
      assert_receive {:over, :closed}, 5_000
      assert :gen_tcp.recv(client, 0, 5_000) == {:error, :closed}
      assert Mote.ask(socket, {:read, 1}) == {:ok, {:error, :closed}}
      # A new sponsor of that name has sockets of its own.
      :ok = Mote.add_sponsor(machine, :net, io: true)
      {_, telling} = listen(machine, NetRig.tell(self()))
      # More than the old one had: whatever the numbers of these are, it is none of them.
      for _ <- 1..8 do
        _ = client(telling)
        assert_receive {:connected, _}, 5_000
      end

      assert Mote.ask(socket, {:read, 1}) == {:ok, {:error, :closed}}
    end
  end

  test "an image has no sockets: whoever waits for one is told, in the machine that goes on" do
    machine = machine(2)
    {_, port} = listen(machine, Sessions.reads(self()))
    client = client(port)
    :ok = :gen_tcp.send(client, "x")
    assert_receive {:read, "x"}, 5_000
    {_, telling} = listen(machine, NetRig.tell(self()))
    _teller = client(telling)
    assert_receive {:connected, socket}, 5_000
    :ok = Mote.drain(machine)
    path = Path.join(System.tmp_dir!(), "mote_net_#{System.unique_integer([:positive])}.image")
    on_exit(fn -> File.rm(path) end)
    {:ok, image} = Mote.save(machine, path, names: %{socket: socket})
    assert Enum.any?(image.behaviours, &match?(%{behaviour: :socket}, &1))

    other = machine(2, image: path)
    assert %{socket: closed} = Mote.names(other)
    assert Mote.ask(closed, {:read, 1}) == {:ok, {:error, :closed}}
    # The process that the session told of its end is none that an image has.
    :ok = Mote.drain(other)
    refute Enum.any?(Mote.behaviours(other), &match?(%{behaviour: {Sessions, :waits, 2}}, &1))
    assert {:ok, {:ok, _}} = Mote.ask(socket, :peer)
  end

  test "when there are no more files, accepting pauses, and goes on; nothing is lost" do
    # In a node of its own: the limit is one of processes.
    code = """
    options = [telemetry: [interval: 50], sponsors: [main: [threads: 1], net: [threads: 1, io: true]]]
    {:ok, machine} = Mote.start_link(options)
    {:ok, listener} = Mote.Net.listen(machine, accept: Mote.NetRig.echo())
    {:ok, %{local: {ip, port}}} = Mote.Net.info(listener)
    connect = fn -> with {:ok, client} <- :gen_tcp.connect(ip, port, [:binary, active: false]), do: client end

    serves = fn client ->
      :ok = :gen_tcp.send(client, "hello")
      {:ok, "hello"} = :gen_tcp.recv(client, 5, 30_000)
    end

    # What is loaded needs no file any more.
    for app <- [:kernel, :stdlib, :elixir, :logger, :mote, :telemetry] do
      {:ok, modules} = :application.get_key(app, :modules)
      :ok = :code.ensure_modules_loaded(modules -- [Mote.Measure.Plot.Native])
    end

    serves.(connect.())
    net = fn -> Mote.info(machine).sponsors.net.net end
    fill = fn fill, files ->
      case :file.open(~c"/dev/null", [:read, :raw]) do
        {:ok, file} -> fill.(fill, [file | files])
        {:error, :emfile} -> files
      end
    end

    # Each takes a file that was closed for it, and leaves none for the other side.
    connects = fn connects, [file | files] ->
      :file.close(file)
      client = connect.()
      if is_port(client), do: {client, files}, else: connects.(connects, files)
    end

    {clients, files} = Enum.map_reduce(1..8, fill.(fill, []), fn _, files -> connects.(connects, files) end)
    wait = fn wait, done? -> if done?.(), do: :ok, else: Process.sleep(5) && wait.(wait, done?) end
    wait.(wait, fn -> net.().accept_paused >= 3 end)
    # Some tenths of a second: a thread that looks again and again would have run thousands of turns.
    true = Enum.sum(for thread <- Mote.info(machine).sponsors.net.threads, do: thread.turns) < 200
    # Nor are there any for connections that it makes itself.
    {:error, :emfile} = Mote.Net.connect(machine, {ip, port})
    {:error, :emfile} = Mote.ask!(Mote.Net.dialer(machine, allow: [{ip, port}]), {:connect, {ip, port}})
    Enum.each(files, &:file.close/1)
    Enum.each(clients, serves)
    9 = net.().accepted
    IO.puts("all were served")
    """

    {out, status} = Mote.OtherBEAM.run(code, [], "ulimit -n 96")
    assert status == 0, out
    assert out =~ "all were served"
    assert [_before, _after] = String.split(out, "accepts no connections for the moment")
  end
end
