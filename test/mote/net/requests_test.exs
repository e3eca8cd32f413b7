defmodule Mote.Net.RequestsTest do
  # What sockets are asked, by real clients on loopback.
  use ExUnit.Case, async: true

  import Mote.NetRig, only: [ask: 2, asks: 2]

  alias Mote.{Net, NetRig}

  defmodule Doors do
    use Mote.Behaviour

    # Answers lines in capitals until the peer is gone, and says so.
    defactor lines(owner) do
      {:connected, socket} ->
        send socket, {self(), {:read, {:line, 100}}}
        become served(owner, socket)
    end

    defactor served(owner, socket) do
      {:ok, line} ->
        send socket, {self(), {:write, [String.upcase(line), "!\n"]}}

      :ok ->
        send socket, {self(), {:read, {:line, 100}}}

      {:error, reason} ->
        send owner, {:over, reason}
        become sink()
    end
  end

  test "the sockets by which most has come and gone are found" do
    machine = NetRig.machine(2)
    {_, port} = NetRig.listen(machine, NetRig.tell(self()))

    [quiet, middle, busy] =
      for n <- [0, 10, 1_000] do
        {client, socket} = NetRig.pair(port)
        if n > 0, do: :ok = :gen_tcp.send(client, String.duplicate("x", n))
        if n > 0, do: assert({:ok, _} = Mote.ask!(socket, {:read, n}))
        assert Mote.ask!(socket, {:write, String.duplicate("y", 1_001 - n)}) == :ok
        socket
      end

    assert [%{address: ^busy, bytes_in: 1_000, behaviour: :socket}, %{address: ^middle, bytes_in: 10}] =
             Mote.top(machine, by: :bytes_in)

    assert [%{address: ^quiet, bytes_out: 1_001}, %{address: ^middle}] =
             Mote.top(machine, by: :bytes_out, n: 2)
  end

  setup do
    machine = NetRig.machine(2)
    {:ok, listener} = Net.listen(machine, accept: NetRig.tell(self()))
    {:ok, %{local: {ip, port}, peer: nil}} = Net.info(listener)
    %{machine: machine, listener: listener, ip: ip, port: port}
  end

  defp answer(question), do: Mote.await(question, 30_000)

  defp until(done?, left \\ 5_000) do
    cond do
      done?.() -> :ok
      left == 0 -> flunk("it never came")
      true -> Process.sleep(1) && until(done?, left - 1)
    end
  end

  describe "reads" do
    test "of each kind answer with what they ask for, and leave the rest", context do
      {client, socket} = NetRig.pair(context.port)
      :ok = :gen_tcp.send(client, "abcdefgh\nij\r\n\r\nk" <> <<0, 3>> <> "lmnop")
      assert ask(socket, {:read, 3}) == {:ok, "abc"}
      assert ask(socket, {:read, 0}) == {:ok, ""}
      assert ask(socket, {:read, {:line, 10}}) == {:ok, "defgh\n"}
      assert ask(socket, {:read, {:until, "\r\n\r\n", 10}}) == {:ok, "ij\r\n\r\n"}
      assert ask(socket, {:read, 1}) == {:ok, "k"}
      assert ask(socket, {:read, {:packet, 2, 3}}) == {:ok, "lmn"}
      assert ask(socket, {:read, :some}) == {:ok, "op"}
    end

    test "wait for what comes slowly", context do
      {client, socket} = NetRig.pair(context.port)
      reader = asks(socket, {:read, {:line, 100}})
      for byte <- ~c"slow\n", do: :ok = :gen_tcp.send(client, [byte])
      assert answer(reader) == {:ok, "slow\n"}
    end

    test "one at a time", context do
      {client, socket} = NetRig.pair(context.port)
      reader = asks(socket, {:read, 3})
      assert ask(socket, {:read, :some}) == {:error, :busy}
      :ok = :gen_tcp.send(client, "abc")
      assert answer(reader) == {:ok, "abc"}
    end

    test "are limited, and lose nothing", context do
      {client, socket} = NetRig.pair(context.port)
      :ok = :gen_tcp.send(client, "abcdef\n")
      assert ask(socket, {:read, {:line, 4}}) == {:error, :too_long}
      assert ask(socket, {:read, {:line, 10}}) == {:ok, "abcdef\n"}
      :ok = :gen_tcp.send(client, <<9, "abcdefghi">>)
      assert ask(socket, {:read, {:packet, 1, 4}}) == {:error, :too_long}
      assert ask(socket, {:read, {:packet, 1, 9}}) == {:ok, "abcdefghi"}
    end

    test "end in time, and lose nothing", context do
      {client, socket} = NetRig.pair(context.port)
      :ok = :gen_tcp.send(client, "abc")
      assert ask(socket, {:read, 5, 20}) == {:error, :timeout}
      :ok = :gen_tcp.send(client, "de")
      assert ask(socket, {:read, 5, 5_000}) == {:ok, "abcde"}
      assert ask(socket, {:read, 5, 0}) == {:error, :timeout}
      assert %{counters: %{timers: 0}} = Mote.info(context.machine)
    end

    test "of a megabyte in one line", context do
      {client, socket} = NetRig.pair(context.port)
      line = String.duplicate("x", 1_048_576) <> "\n"
      reader = asks(socket, {:read, {:line, 2_000_000}})
      :ok = :gen_tcp.send(client, [line, "more"])
      assert answer(reader) == {:ok, line}
      assert ask(socket, {:read, 4}) == {:ok, "more"}
    end

    test "end when the peer sends no more; what came before is there", context do
      {client, socket} = NetRig.pair(context.port)
      :ok = :gen_tcp.send(client, "rest")
      :ok = :gen_tcp.shutdown(client, :write)
      assert ask(socket, {:read, {:line, 100}}) == {:error, :closed}
      assert ask(socket, {:read, :some}) == {:ok, "rest"}
      assert ask(socket, {:read, :some}) == {:error, :closed}
      # Half-closed: it can still be written to.
      assert ask(socket, {:write, "bye"}) == :ok
      assert :gen_tcp.recv(client, 3, 5_000) == {:ok, "bye"}
    end

    test "tell of a reset, and the socket is closed then", context do
      {client, socket} = NetRig.pair(context.port)
      reader = asks(socket, {:read, 1})
      :ok = :inet.setopts(client, linger: {true, 0})
      :ok = :gen_tcp.close(client)
      assert answer(reader) == {:error, :reset}
      assert ask(socket, {:write, "x"}) == {:error, :closed}
      assert ask(socket, :close) == :ok
    end
  end

  describe "writes" do
    test "of iodata arrive in order", context do
      {client, socket} = NetRig.pair(context.port)
      for n <- 1..100, do: Mote.send(socket, {nil, {:write, ["line ", [Integer.to_string(n)], ?\n | ""]}})
      assert ask(socket, {:write, []}) == :ok
      expected = for n <- 1..100, into: "", do: "line #{n}\n"
      assert :gen_tcp.recv(client, byte_size(expected), 5_000) == {:ok, expected}
      assert %{bytes_out: n} = ask(socket, :counters)
      assert n == byte_size(expected)
    end

    test "are answered when the system has taken them, and not before", context do
      {client, socket} = NetRig.pair(context.port)
      data = :binary.copy("0123456789abcdef", 1_048_576)
      writer = Task.async(fn -> Mote.ask(socket, {:write, data}, 60_000) end)
      # The peer does not read: the machine has the rest, and is not quiet.
      until(fn -> match?(%{bytes_out: n} when n > 0, ask(socket, :counters)) end)
      assert Task.yield(writer, 50) == nil
      assert {:error, %{reason: :timeout}} = Mote.drain(context.machine, 50)
      assert {:ok, ^data} = :gen_tcp.recv(client, byte_size(data), 60_000)
      assert Task.await(writer, 60_000) == {:ok, :ok}
      assert Mote.drain(context.machine, 5_000) == :ok
    end

    test "after the end of writing are refused, and what came before has gone", context do
      {client, socket} = NetRig.pair(context.port)
      Mote.send(socket, {nil, {:write, "last"}})
      assert ask(socket, {:shutdown, :write}) == :ok
      assert ask(socket, {:write, "more"}) == {:error, :closed}
      assert :gen_tcp.recv(client, 0, 5_000) == {:ok, "last"}
      assert :gen_tcp.recv(client, 0, 5_000) == {:error, :closed}
    end

    test "end when the socket is closed", context do
      {client, socket} = NetRig.pair(context.port)
      data = :binary.copy("x", 33_554_432)
      writer = Task.async(fn -> Mote.ask(socket, {:write, data}, 60_000) end)
      until(fn -> match?(%{bytes_out: n} when n > 0, ask(socket, :counters)) end)
      assert ask(socket, :close) == :ok
      assert Task.await(writer) == {:ok, {:error, :closed}}
      :gen_tcp.close(client)
      assert Mote.drain(context.machine, 5_000) == :ok
    end

    test "that are more than the memory are refused" do
      machine = NetRig.machine(1, memory: 32_000_000)
      {_, port} = NetRig.listen(machine, NetRig.tell(self()))
      {_client, socket} = NetRig.pair(port)
      shared = Mote.share(machine, :binary.copy("x", 4_000_000))
      assert ask(socket, {:write, List.duplicate(shared, 12)}) == {:error, :no_memory}
      assert ask(socket, {:write, "little"}) == :ok
    end
  end

  describe "a socket" do
    test "has addresses, counters and options", context do
      {client, socket} = NetRig.pair(context.port)
      {:ok, peer} = :inet.sockname(client)
      assert ask(socket, :peer) == {:ok, peer}
      assert ask(socket, :local) == {:ok, {context.ip, context.port}}
      assert ask(socket, {:set, [nodelay: false, keepalive: true]}) == :ok
      assert ask(socket, {:set, [colour: true]}) == {:error, :bad_request}
      assert {:ok, %{counters: %{bytes_in: 0, bytes_out: 0}, peer: ^peer}} = Net.info(socket)
      assert ask(context.listener, :counters) == %{connections: 1}

      assert %{sponsors: %{net: %{net: %{open: 2, accepted: 1}}, main: %{net: nil}}} =
               Mote.info(context.machine)
    end

    test "answers what is no request, and ignores what has no customer", context do
      {_client, socket} = NetRig.pair(context.port)

      for request <- [
            :nothing,
            {:read},
            {:read, -1},
            {:read, {:line, 0}},
            {:read, {:packet, 3, 1}},
            {:read, {:until, "", 1}},
            {:read, 1, -1},
            {:write, [256]},
            {:write, :atom},
            {:shutdown, :up},
            {:set, :nodelay},
            "text",
            nil
          ] do
        assert ask(socket, request) == {:error, :bad_request}, inspect(request)
      end

      assert ask(context.listener, {:read, 1}) == {:error, :bad_request}
      Mote.send(socket, :hello)
      assert {:ok, _} = ask(socket, :peer)
      assert %{counters: %{ignored: ignored}} = Mote.info(context.machine)
      assert ignored >= 1
    end

    test "is used by actors of other sponsors", context do
      {:ok, listener} = Net.listen(context.machine, accept: Doors.lines(self()))
      {:ok, %{local: {ip, port}}} = Net.info(listener)
      {:ok, client} = :gen_tcp.connect(ip, port, [:binary, active: false, packet: :line])
      :ok = :gen_tcp.send(client, "hello\nworld\n")
      assert :gen_tcp.recv(client, 0, 5_000) == {:ok, "HELLO\n"}
      assert :gen_tcp.recv(client, 0, 5_000) == {:ok, "!\n"}
      assert :gen_tcp.recv(client, 0, 5_000) == {:ok, "WORLD\n"}
      :ok = :gen_tcp.close(client)
      assert_receive {:over, reason} when reason in [:closed, :reset], 5_000
    end

    test "connects to listeners of others, and to those of Unix domains", context do
      {:ok, theirs} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
      {:ok, port} = :inet.port(theirs)
      {:ok, socket} = Net.connect(context.machine, {{127, 0, 0, 1}, port})
      {:ok, other} = :gen_tcp.accept(theirs, 5_000)
      assert ask(socket, {:write, "ping"}) == :ok
      assert :gen_tcp.recv(other, 4, 5_000) == {:ok, "ping"}
      :ok = :gen_tcp.send(other, "pong")
      assert ask(socket, {:read, 4}) == {:ok, "pong"}

      path = Path.join(System.tmp_dir!(), "mote_net_#{System.unique_integer([:positive])}.sock")
      {:ok, listener} = Net.listen(context.machine, path: path, accept: NetRig.tell(self()))
      assert {:ok, %{local: {:local, ^path}}} = Net.info(listener)
      {:ok, socket} = Net.connect(context.machine, path)
      assert_receive {:connected, theirs}, 5_000
      assert ask(theirs, {:write, "over a file"}) == :ok
      assert ask(socket, {:read, :some}) == {:ok, "over a file"}
      assert Net.listen(context.machine, path: path, accept: NetRig.tell(self())) == {:error, :eaddrinuse}
      File.rm!(path)
      assert Net.connect(context.machine, path) == {:error, :enoent}
    end

    test "is not connected where nobody listens", context do
      {:ok, theirs} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
      {:ok, port} = :inet.port(theirs)
      :ok = :gen_tcp.close(theirs)
      assert Net.connect(context.machine, {{127, 0, 0, 1}, port}) == {:error, :econnrefused}
    end
  end

  describe "mistakes" do
    test "of callers raise", context do
      accept = NetRig.tell(self())
      listen = &Net.listen(context.machine, &1)
      assert_raise ArgumentError, ~r/:accept/, fn -> listen.([]) end
      assert_raise ArgumentError, ~r/among :accept/, fn -> listen.(accept: accept, colour: 1) end
      assert_raise ArgumentError, ~r/port from 0/, fn -> listen.(accept: accept, port: 70_000) end
      assert_raise ArgumentError, ~r/IP address/, fn -> listen.(accept: accept, ip: {1, 2, 3}) end
      assert_raise ArgumentError, ~r/:backlog/, fn -> listen.(accept: accept, backlog: 0) end
      assert_raise ArgumentError, ~r/:max_connections/, fn -> listen.(accept: accept, max_connections: 0) end

      assert_raise ArgumentError, ~r/I\/O sponsor.*:main is none/, fn ->
        listen.(accept: accept, sponsor: :main)
      end

      assert_raise Mote.Error, ~r/:nowhere/, fn -> listen.(accept: accept, sponsor: :nowhere) end

      {:ok, plain} = Mote.start_link()
      assert_raise ArgumentError, ~r/there is none/, fn -> Net.listen(plain, accept: accept) end
      Mote.stop(plain)
      assert_raise Mote.Error, ~r/not a running machine/, fn -> Net.listen(plain, accept: accept) end
      :ok = Mote.add_sponsor(context.machine, :other, io: true)
      assert_raise ArgumentError, ~r/several/, fn -> listen.(accept: accept) end
      assert_raise ArgumentError, ~r/boolean/, fn -> Mote.add_sponsor(context.machine, :x, io: 1) end
    end

    test "with a port in use are an error", context do
      assert Net.listen(context.machine, accept: NetRig.tell(self()), port: context.port) ==
               {:error, :eaddrinuse}

      assert Net.listen(context.machine, accept: NetRig.tell(self()), ip: {192, 0, 2, 1}) ==
               {:error, :eaddrnotavail}
    end

    test "with seeded machines are an error" do
      Process.flag(:trap_exit, true)

      assert {:error, %Mote.Error{reason: :start} = error} =
               Mote.start_link(schedule: {:seeded, 1}, sponsors: [main: [], net: [io: true]])

      assert Exception.message(error) =~ "seeded"
    end
  end
end
