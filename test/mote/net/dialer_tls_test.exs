defmodule Mote.Net.DialerTlsTest do
  # Connections with TLS that actors make.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.NetRig, only: [listen: 3, machine: 1, machine: 2]

  alias Mote.{Certificates, Net, NetRig}

  @moduletag :tmp_dir
  @localhost {127, 0, 0, 1}

  defmodule Actors do
    use Mote.Behaviour

    # Sends what it is asked to by a connection of its own, and answers with what was agreed on and with what comes back.
    defactor client(dialer) do
      {customer, {place, text}} -> send dialer, {create(connects(customer, text)), {:connect, place}}
    end

    defactor connects(customer, text) do
      {:ok, socket} ->
        send socket, {nil, {:write, text}}
        send socket, {self(), :tls}
        become agreed(customer, socket, byte_size(text))

      error ->
        send customer, error
        become sink()
    end

    defactor agreed(customer, socket, size) do
      {:ok, agreed} ->
        send socket, {self(), {:read, size}}
        become reads(customer, agreed)
    end

    defactor reads(customer, agreed) do
      answer ->
        send customer, {agreed, answer}
        become sink()
    end
  end

  setup %{tmp_dir: dir} do
    {:ok, _} = Application.ensure_all_started(:ssl)
    %{files: Certificates.write!(dir), machine: machine(2)}
  end

  defp dialer(machine, tls, allow \\ [{:any, :any}]), do: Net.dialer(machine, allow: allow, tls: tls)

  defp trusts(files, opts \\ []),
    do: Keyword.merge([cacertfile: files.server.root, server_name: "a.example"], opts)

  defp ask(actor, request), do: Mote.ask!(actor, request, 30_000)
  defp client(machine, dialer), do: Mote.create(machine, Actors.client(dialer), sponsor: :net)
  defp connect(dialer, port), do: ask(dialer, {:connect, {@localhost, port}})

  # More than one record of bytes, and more than the system's buffers have.
  defp text, do: :crypto.strong_rand_bytes(300_000)

  test "are sealed, with a name, a protocol and a certificate", %{machine: machine, files: files} do
    tls = files.server.identity ++ [cacertfile: files.client.root, alpn: ["h2", "mqtt"]]
    {_, port} = listen(machine, NetRig.echo(), tls: tls)
    {_, telling} = listen(machine, NetRig.tell(self()), tls: tls)
    ours = trusts(files, files.client.identity ++ [alpn: ["mqtt"]])
    dialer = dialer(machine, ours, [{@localhost, port}, {@localhost, telling}])
    client = client(machine, dialer)

    for _ <- 1..3 do
      text = text()
      assert {agreed, {:ok, ^text}} = Mote.ask!(client, {{@localhost, port}, text}, 60_000)
      assert %{version: :"tlsv1.3", alpn: "mqtt", certificate: <<_::binary>>} = agreed
    end

    # Of the server all see what they have asked for, and shown.
    {:ok, _socket} = connect(dialer, telling)
    assert_receive {:connected, socket}, 10_000
    assert {:ok, %{server_name: "a.example", certificate: der}} = ask(socket, :tls)
    assert [{:Certificate, ^der, _}] = :public_key.pem_decode(File.read!(files.client.identity[:certfile]))
    assert ask(dialer, {:connect, {{127, 0, 0, 2}, port}}) == {:error, :eacces}
  end

  test "are made to Erlang's servers by both versions", %{machine: machine, files: files} do
    client = client(machine, dialer(machine, trusts(files)))

    for version <- [:"tlsv1.2", :"tlsv1.3"] do
      opts = files.server.identity ++ [:binary, active: false, versions: [version], log_level: :none]
      {:ok, listener} = :ssl.listen(0, opts)
      {:ok, {_ip, port}} = :ssl.sockname(listener)

      task =
        Task.async(fn ->
          {:ok, socket} = :ssl.transport_accept(listener)
          {:ok, socket} = :ssl.handshake(socket, 30_000)
          {:ok, text} = :ssl.recv(socket, 7, 30_000)
          :ok = :ssl.send(socket, String.upcase(text))
          :ssl.recv(socket, 1, 30_000)
        end)

      assert {%{version: ^version}, {:ok, "THE CAT"}} = ask(client, {{@localhost, port}, "the cat"})
      # Nobody holds it any more.
      :ok = Mote.gc(machine)
      assert Task.await(task, 60_000) == {:error, :closed}
    end
  end

  test "without a name are to the address", %{machine: machine, files: files, tmp_dir: dir} do
    {_, named} = listen(machine, NetRig.echo(), tls: files.server.identity)
    here = Certificates.write!(dir, "127.0.0.1")
    {_, port} = listen(machine, NetRig.echo(), tls: here.server.identity)
    assert connect(dialer(machine, cacertfile: files.server.root), named) == {:error, :hostname_check_failed}
    dialer = dialer(machine, cacertfile: here.server.root)
    assert {:ok, _socket} = connect(dialer, port)
    # The same address, and another one.
    assert {:ok, _socket} = ask(dialer, {:connect, {{0, 0, 0, 0, 0, 65_535, 32_512, 1}, port}})
    {_, other} = listen(machine, NetRig.echo(), ip: {127, 0, 0, 2}, tls: here.server.identity)
    assert ask(dialer, {:connect, {{127, 0, 0, 2}, other}}) == {:error, :hostname_check_failed}
  end

  test "fail for whoever has asked, and leave nothing", %{machine: machine, files: files} do
    {_, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity)
    {_, plain} = listen(machine, NetRig.echo(), [])
    {:ok, free} = :gen_tcp.listen(0, ip: @localhost)
    {:ok, nobody} = :inet.port(free)
    :ok = :gen_tcp.close(free)
    stranger = dialer(machine, trusts(files, cacertfile: files.client.root))
    before = Mote.info(machine).sponsors.net.net.open
    assert connect(stranger, port) == {:error, :unknown_ca}
    dialer = dialer(machine, trusts(files))
    assert connect(dialer, nobody) == {:error, :econnrefused}
    assert {:error, reason} = connect(dialer, plain)
    assert reason in [:unexpected_message, :decode_error, :handshake_failure]
    refute_received {:connected, _socket}
    # The session of the one that went away without TLS holds its socket no more.
    eventually(fn -> Mote.gc(machine) == :ok and Mote.info(machine).sponsors.net.net.open == before end)
  end

  test "are given up when a server says nothing, in half a minute or in the time of the request", %{
    files: files
  } do
    machine = machine(1, clock: :manual)
    {:ok, silent} = :gen_tcp.listen(0, [:binary, active: false, ip: @localhost])
    {:ok, port} = :inet.port(silent)
    dialer = dialer(machine, trusts(files))

    for {request, ms} <- [
          {{:connect, {@localhost, port}}, 30_000},
          {{:connect, {@localhost, port}, 2_000}, 2_000},
          {{:connect, {@localhost, port}, 60_000}, 30_000}
        ] do
      asked = Mote.async(dialer, request)
      {:ok, peer} = :gen_tcp.accept(silent, 10_000)
      # It has greeted, so the handshake is under way.
      assert {:ok, <<22, _::binary>>} = :gen_tcp.recv(peer, 0, 10_000)
      eventually(fn -> Mote.info(machine).counters.timers == 1 end)
      Mote.advance(machine, ms - 1)
      assert Mote.info(machine).sponsors.net.net.open == 1
      Mote.advance(machine, 1)
      assert Mote.await(asked, 30_000) == {:error, :timeout}
    end
  end

  test "have options that are checked", %{machine: machine, files: files} do
    assert_raise ArgumentError, ~r/:server_name of :tls/, fn ->
      dialer(machine, [cacertfile: files.server.root], [{:any, :any}, "/path"])
    end

    assert_raise ArgumentError, ~r/:tls of Mote.Net.dialer\/2 to have options among/, fn ->
      dialer(machine, trusts(files, hosts: []))
    end

    assert_raise ArgumentError, ~r/no name of a server/, fn ->
      dialer(machine, trusts(files, server_name: "-"))
    end

    assert %Mote.Address{} = dialer(machine, trusts(files), ["/path"])
  end
end
