defmodule Mote.Net.UdpTest do
  # Datagrams, with real peers on loopback.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.{Net, NetRig}

  @localhost {127, 0, 0, 1}

  defmodule Actors do
    use Mote.Behaviour

    # Sends each datagram back, and says when it cannot.
    defactor echo(socket) do
      :begin ->
        send socket, {self(), {:read, 1_500}}

      {:ok, {peer, bytes}} ->
        send socket, {nil, {:write_to, peer, [bytes, "!"]}}
        send socket, {self(), {:read, 1_500}}
    end
  end

  defp udp(machine, opts \\ []) do
    {:ok, socket} = Net.udp(machine, opts)
    {:ok, %{local: {_ip, port}}} = Net.info(socket)
    {socket, port}
  end

  defp peer do
    {:ok, peer} = :gen_udp.open(0, [:binary, active: false, ip: @localhost])
    {:ok, port} = :inet.port(peer)
    {peer, port}
  end

  defp ask(socket, request), do: Mote.ask!(socket, request, 30_000)

  test "an actor reads and answers them" do
    machine = NetRig.machine(2)
    {socket, port} = udp(machine)
    Mote.send(Mote.create(machine, Actors.echo(socket)), :begin)
    {peer, _} = peer()

    for n <- 1..20 do
      :ok = :gen_udp.send(peer, @localhost, port, "#{n}")
      assert {:ok, {@localhost, ^port, answer}} = :gen_udp.recv(peer, 0, 30_000)
      assert answer == "#{n}!"
    end
  end

  test "they come whole, with their peer, and what is cut off is said" do
    {socket, port} = udp(NetRig.machine(1))
    {peer, from} = peer()
    for bytes <- ["one", "", "too long", "after"], do: :ok = :gen_udp.send(peer, @localhost, port, bytes)
    assert ask(socket, {:read, 5}) == {:ok, {{@localhost, from}, "one"}}
    assert ask(socket, {:read, 5}) == {:ok, {{@localhost, from}, ""}}
    assert ask(socket, {:read, 5}) == {:cut, {{@localhost, from}, "too l"}}
    assert ask(socket, {:read, 5}) == {:ok, {{@localhost, from}, "after"}}
    assert ask(socket, {:read, 5, 0}) == {:error, :timeout}
    assert ask(socket, :counters) == %{bytes_in: 16, bytes_out: 0}
    waits = Mote.async(socket, {:read, 5})
    eventually(fn -> ask(socket, {:read, 5, 0}) == {:error, :busy} end)
    :ok = :gen_udp.send(peer, @localhost, port, "late")
    assert Mote.await(waits, 30_000) == {:ok, {{@localhost, from}, "late"}}
  end

  test "the largest there are go both ways" do
    {socket, port} = udp(NetRig.machine(1))
    {peer, from} = peer()
    :ok = :inet.setopts(peer, sndbuf: 200_000, recbuf: 200_000, buffer: 200_000)
    bytes = :crypto.strong_rand_bytes(65_507)
    :ok = :gen_udp.send(peer, @localhost, port, bytes)
    assert ask(socket, {:read, 65_536}) == {:ok, {{@localhost, from}, bytes}}
    assert ask(socket, {:write_to, {@localhost, from}, bytes}) == :ok
    assert {:ok, {@localhost, ^port, ^bytes}} = :gen_udp.recv(peer, 0, 30_000)
  end

  test "one that the system refuses keeps none of the others, and the socket is open" do
    {socket, port} = udp(NetRig.machine(1))
    {peer, from} = peer()
    to = {@localhost, from}

    asked =
      for request <- [
            {:write_to, to, "first"},
            {:write_to, to, :binary.copy("x", 65_508)},
            {:write, "to whom?"},
            {:write_to, to, ["sec", ["ond"]]}
          ],
          do: Mote.async(socket, request)

    answers = for asked <- asked, do: Mote.await(asked, 30_000)
    assert answers == [:ok, {:error, :emsgsize}, {:error, :edestaddrreq}, :ok]

    for expected <- ["first", "second"],
        do: assert({:ok, {@localhost, ^port, ^expected}} = :gen_udp.recv(peer, 0, 30_000))

    Mote.send(socket, {nil, {:write_to, to, :binary.copy("x", 65_508)}})
    assert ask(socket, {:write_to, to, "third"}) == :ok
    assert {:ok, {@localhost, ^port, "third"}} = :gen_udp.recv(peer, 0, 30_000)
  end

  test "a socket with one peer hears nobody else, and learns that nobody listens" do
    machine = NetRig.machine(1)
    {peer, from} = peer()
    {stranger, _} = peer()
    {socket, port} = udp(machine, peer: {@localhost, from})
    assert ask(socket, :peer) == {:ok, {@localhost, from}}
    :ok = :gen_udp.send(stranger, @localhost, port, "stranger")
    assert ask(socket, {:write, "hello"}) == :ok
    assert {:ok, {@localhost, ^port, "hello"}} = :gen_udp.recv(peer, 0, 30_000)
    :ok = :gen_udp.send(peer, @localhost, port, "peer")
    assert ask(socket, {:read, 100}) == {:ok, {{@localhost, from}, "peer"}}
    :ok = :gen_udp.close(peer)
    assert ask(socket, {:write, "anybody?"}) == :ok
    assert ask(socket, {:read, 100}) == {:error, :econnrefused}
    assert ask(socket, {:read, 100, 0}) == {:error, :timeout}
  end

  test "they go over IPv6 as well" do
    machine = NetRig.machine(1)

    case Net.udp(machine, ip: {0, 0, 0, 0, 0, 0, 0, 1}) do
      {:ok, server} ->
        {:ok, %{local: place}} = Net.info(server)
        {client, _} = udp(machine, peer: place)
        assert ask(client, {:write, "six"}) == :ok
        assert {:ok, {from, "six"}} = ask(server, {:read, 100})
        assert ask(server, {:write_to, from, "6"}) == :ok
        assert ask(client, {:read, 100}) == {:ok, {place, "6"}}

      # A computer without.
      {:error, :eaddrnotavail} ->
        :none
    end
  end

  test "what is no request to such a socket is refused" do
    {socket, _} = udp(NetRig.machine(1))

    for request <- [
          {:read, :some},
          {:read, {:line, 10}},
          {:read, -1},
          {:write, [:no_bytes]},
          {:write_to, {@localhost, 65_536}, "x"},
          {:write_to, {{1, 2, 3}, 1}, "x"},
          {:write_to, {{1, 2, 3, 256}, 1}, "x"},
          {:shutdown, :write}
        ],
        do: assert(ask(socket, request) == {:error, :bad_request})

    {:ok, listener} = Net.listen(NetRig.machine(1), accept: NetRig.echo())
    assert ask(listener, {:write_to, {@localhost, 1}, "x"}) == {:error, :bad_request}
  end

  test "one that nobody holds is closed, a port in use is refused, and so are other options" do
    machine = NetRig.machine(1)
    {held, port} = udp(machine)
    assert Net.udp(machine, port: port) == {:error, :eaddrinuse}
    # Only this process has them.
    Task.await(
      Task.async(fn ->
        for _ <- 1..10, do: udp(machine)
        :done
      end)
    )

    eventually(fn ->
      :ok = Mote.gc(machine)
      Mote.info(machine).sponsors.net.net.open == 1
    end)

    assert ask(held, :close) == :ok
    assert ask(held, {:read, 1}) == {:error, :closed}
    assert_raise ArgumentError, ~r/to be among :port/, fn -> Net.udp(machine, accept: NetRig.echo()) end
    assert_raise ArgumentError, ~r/expected an IP address/, fn -> Net.udp(machine, peer: "/path") end
  end
end
