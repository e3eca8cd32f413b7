defmodule Mote.Net.BadPeersTest do
  # Peers that come in masses, go in the middle, or say too little or too much. All are real sockets on loopback.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.NetRig, only: [ask: 2, asks: 2]

  alias Mote.NetRig

  @localhost {127, 0, 0, 1}

  defp net(machine), do: Mote.info(machine).sponsors.net.net
  defp turns(machine), do: Enum.sum(for thread <- Mote.info(machine).sponsors.net.threads, do: thread.turns)

  defp came(socket, bytes), do: eventually(fn -> match?(%{bytes_in: ^bytes}, ask(socket, :counters)) end)

  defp serves(client) do
    :ok = :gen_tcp.send(client, "hello")
    assert :gen_tcp.recv(client, 5, 30_000) == {:ok, "hello"}
  end

  # Its end is a reset.
  defp break_off(client) do
    :ok = :inet.setopts(client, linger: {true, 0})
    :ok = :gen_tcp.close(client)
  end

  # A listener that serves one connection, which is there, and lets others wait.
  defp busy(backlog) do
    machine = NetRig.machine(1)
    opts = [backlog: backlog, max_connections: 1]
    {listener, port} = NetRig.listen(machine, NetRig.echo(), opts)
    first = NetRig.client(port)
    serves(first)
    {machine, listener, port, first}
  end

  describe "a flood" do
    test "of connections beyond the backlog waits in the system, and keeps nobody from being served" do
      {machine, listener, port, first} = busy(4)

      # Each asks for a connection, and waits for no answer.
      flood =
        for _ <- 1..300 do
          {:ok, socket} = :socket.open(:inet, :stream, :tcp)
          _ = :socket.connect(socket, %{family: :inet, addr: @localhost, port: port}, :nowait)
          socket
        end

      before = turns(machine)
      serves(first)
      assert ask(listener, :counters) == %{connections: 1}
      # An echo and a question: a thread that looks at the line again and again would have run many more.
      assert turns(machine) - before < 50
      Enum.each(flood, &:socket.close/1)
      :ok = :gen_tcp.close(first)
      # The system tries again until there is room in the line.
      serves(NetRig.client(port))
      eventually(fn -> ask(listener, :counters) == %{connections: 1} end)
      # The line is short, so of the 300 few have come.
      assert net(machine).accepted < 20
      assert %{accept_paused: 0, errors: errors} = net(machine)
      assert errors < 20
    end

    test "of connections that are broken off in the line leaves nothing" do
      {machine, listener, port, first} = busy(128)
      for client <- for(_ <- 1..100, do: NetRig.client(port)), do: break_off(client)
      serves(first)
      :ok = :gen_tcp.close(first)
      last = NetRig.client(port)
      serves(last)
      assert ask(listener, :counters) == %{connections: 1}
      assert net(machine).open == 2
      :ok = :gen_tcp.close(last)
      eventually(fn -> ask(listener, :counters) == %{connections: 0} end)
    end
  end

  describe "a peer that breaks off" do
    setup do
      machine = NetRig.machine(1)
      {_, port} = NetRig.listen(machine, NetRig.tell(self()))
      {client, socket} = NetRig.pair(port)
      %{machine: machine, client: client, socket: socket}
    end

    for {what, read, part} <- [
          {"a line", {:line, 100}, "half a li"},
          {"a packet", {:packet, 2, 100}, <<0, 20, "half">>},
          {"what ends with a pattern", {:until, "\r\n\r\n", 100}, "half\r\n"},
          {"bytes of a number", 20, "half"}
        ] do
      test "in the middle of #{what} is told to whoever reads", %{client: client, socket: socket} do
        part = unquote(part)
        reader = asks(socket, {:read, unquote(Macro.escape(read))})
        :ok = :gen_tcp.send(client, part)
        came(socket, byte_size(part))
        break_off(client)
        assert Mote.await(reader, 30_000) == {:error, :reset}
        assert ask(socket, {:read, :some}) == {:error, :closed}
      end
    end

    test "while much waits for it is told to all who write and read", context do
      %{machine: machine, client: client, socket: socket} = context
      reader = asks(socket, {:read, 1})
      writers = for _ <- 1..3, do: asks(socket, {:write, :binary.copy("0123456789abcdef", 300_000)})
      assert {:error, %{reason: :timeout}} = Mote.drain(machine, 10)
      break_off(client)
      assert Mote.await(reader, 30_000) == {:error, :reset}
      # Those whose bytes the system had taken were told so.
      assert {:error, :reset} = Mote.await(List.last(writers), 30_000)
      assert Mote.drain(machine, 30_000) == :ok
      assert net(machine).open == 1
    end
  end

  if match?({:unix, :linux}, :os.type()) do
    test "a connection whose other end has gone and said nothing ends with the next bytes to it" do
      machine = NetRig.machine(1)
      {_, port} = NetRig.listen(machine, NetRig.tell(self()))
      {:ok, client} = :socket.open(:inet, :stream, :tcp)
      :ok = :socket.connect(client, %{family: :inet, addr: @localhost, port: port})
      assert_receive {:connected, socket}, 5_000
      assert ask(socket, {:set, [keepalive: true]}) == :ok
      finish = half_open(client)
      # Nothing tells of it, and a read ends by its own time.
      assert ask(socket, {:read, 1, 50}) == {:error, :timeout}
      assert ask(socket, {:write, "anybody there?"}) == :ok
      finish.()
      assert ask(socket, {:read, 1}) == {:error, :reset}
      assert net(machine).open == 1
    end

    # Where it may (TCP_REPAIR takes CAP_NET_ADMIN), the socket goes without a word. Else it goes later, and since there are bytes that it
    # has not read, as a reset.
    defp half_open(client) do
      case :socket.setopt_native(client, {6, 19}, <<1::32-native>>) do
        :ok ->
          :ok = :socket.close(client)
          fn -> :ok end

        {:error, _reason} ->
          fn -> :socket.close(client) end
      end
    end
  end

  describe "a peer that is slow" do
    test "wins no time by a byte now and then" do
      machine = NetRig.machine(1, clock: :manual)
      {_, port} = NetRig.listen(machine, NetRig.tell(self()))
      {client, socket} = NetRig.pair(port)
      reader = asks(socket, {:read, {:line, 100}, 1_000})

      for n <- 1..3 do
        :ok = :gen_tcp.send(client, "#{n}")
        came(socket, n)
        Mote.advance(machine, 333)
      end

      assert %{counters: %{timers: 1}} = Mote.info(machine)
      Mote.advance(machine, 1)
      assert Mote.await(reader, 30_000) == {:error, :timeout}
      :ok = :gen_tcp.send(client, "\n")
      assert ask(socket, {:read, {:line, 100}}) == {:ok, "123\n"}
    end
  end

  describe "a megabyte" do
    test "without an end of line is read as far as the line may go" do
      machine = NetRig.machine(1)
      {_, port} = NetRig.listen(machine, NetRig.tell(self()))
      {client, socket} = NetRig.pair(port)
      text = :binary.copy("x", 1_048_576)
      sender = Task.async(fn -> :gen_tcp.send(client, [text, "\n"]) end)
      assert ask(socket, {:read, {:line, 1_000}}) == {:error, :too_long}
      assert ask(socket, {:read, {:line, 4_000}}) == {:error, :too_long}
      assert ask(socket, :counters).bytes_in == 4_000
      assert ask(socket, {:read, {:line, 1_048_577}}) == {:ok, text <> "\n"}
      assert Task.await(sender) == :ok
    end
  end
end
