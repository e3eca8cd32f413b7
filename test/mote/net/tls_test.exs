defmodule Mote.Net.TlsTest do
  # Sockets with TLS, beside Erlang's own.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.NetRig, only: [listen: 3, machine: 1, machine: 2]

  alias Mote.{Certificates, Net, NetRig}

  @moduletag :tmp_dir

  setup %{tmp_dir: dir} do
    {:ok, _} = Application.ensure_all_started(:ssl)
    %{files: Certificates.write!(dir), machine: machine(2)}
  end

  # A client of Erlang's, that trusts the server's root.
  defp client(port, files, opts \\ []) do
    defaults = [
      :binary,
      active: false,
      verify: :verify_peer,
      cacertfile: files.server.root,
      server_name_indication: ~c"a.example",
      log_level: :none
    ]

    :ssl.connect({127, 0, 0, 1}, port, merged(defaults, opts), 10_000)
  end

  defp merged(defaults, opts) do
    names = Keyword.keys(opts)
    Enum.reject(defaults, &(is_tuple(&1) and elem(&1, 0) in names)) ++ opts
  end

  # A server of Erlang's, that does something with its one connection.
  defp server(files, opts, act) do
    opts = files.server.identity ++ [:binary, active: false, reuseaddr: true, log_level: :none] ++ opts
    {:ok, listener} = :ssl.listen(0, opts)
    {:ok, {_ip, port}} = :ssl.sockname(listener)

    task =
      Task.async(fn ->
        {:ok, socket} = :ssl.transport_accept(listener)
        with {:ok, socket} <- :ssl.handshake(socket, 10_000), do: act.(socket)
      end)

    {port, task}
  end

  defp trusts(files, opts \\ []),
    do: Keyword.merge([cacertfile: files.server.root, server_name: "a.example"], opts)

  defp connect(machine, port, tls), do: Net.connect(machine, {{127, 0, 0, 1}, port}, tls: tls)

  defp errors(machine), do: Mote.info(machine).sponsors.net.net.errors

  describe "a server" do
    for version <- [:"tlsv1.2", :"tlsv1.3"] do
      test "echoes what Erlang's client sends by #{version}", %{machine: machine, files: files} do
        {_, port} = listen(machine, NetRig.echo(), tls: files.server.identity)
        {:ok, client} = client(port, files, versions: [unquote(version)])
        # More than one record, more than one visit, and more than the system's buffers have.
        text = :crypto.strong_rand_bytes(3_000_000)
        sender = Task.async(fn -> :ssl.send(client, text) end)
        assert {:ok, ^text} = :ssl.recv(client, byte_size(text), 60_000)
        assert Task.await(sender) == :ok
      end
    end

    if System.find_executable("openssl") do
      for version <- ["tls1_2", "tls1_3"] do
        test "echoes what openssl s_client sends by #{version}", %{machine: machine, files: files} do
          tls = files.server.identity ++ [cacertfile: files.client.root, alpn: ["mqtt"]]
          {_, port} = listen(machine, NetRig.echo(), tls: tls)
          [certfile: cert, keyfile: key] = files.client.identity

          args =
            ~w(s_client -connect 127.0.0.1:#{port} -#{unquote(version)} -servername a.example -alpn h2,mqtt -verify_return_error) ++
              ~w(-verify_hostname a.example -CAfile #{files.server.root} -cert #{cert} -key #{key})

          opts = [:binary, :exit_status, :stderr_to_stdout, args: args]
          client = Port.open({:spawn_executable, System.find_executable("openssl")}, opts)
          said(client, "ALPN protocol: mqtt")
          Port.command(client, "there and back\n")
          said(client, "there and back")
          Port.close(client)
        end
      end

      # What a program says comes in any pieces.
      defp said(client, expected, so_far \\ "") do
        unless so_far =~ expected do
          assert_receive {^client, {:data, more}}, 30_000, "only #{inspect(so_far)} has come"
          said(client, expected, so_far <> more)
        end
      end
    end

    test "says what was agreed on", %{machine: machine, files: files, tmp_dir: dir} do
      other = Certificates.write!(dir, "b.example")

      {_, port} =
        listen(machine, NetRig.tell(self()),
          tls:
            files.server.identity ++
              [
                hosts: %{"B.example" => other.server.identity},
                alpn: ["h2", "mqtt"],
                cacertfile: other.client.root
              ]
        )

      ours = other.client.identity ++ [alpn_advertised_protocols: ["mqtt", "h2"]]
      {:ok, client} = client(port, other, [server_name_indication: ~c"b.example"] ++ ours)
      assert :ssl.negotiated_protocol(client) == {:ok, "h2"}
      assert_receive {:connected, socket}, 10_000
      assert {:ok, agreed} = Mote.ask!(socket, :tls)
      assert %{version: :"tlsv1.3", alpn: "h2", server_name: "b.example", certificate: der} = agreed
      assert [{:Certificate, ^der, _}] = :public_key.pem_decode(File.read!(other.client.identity[:certfile]))

      # Any other name is the usual one's.
      {:ok, _client} = client(port, files, other.client.identity)
      assert_receive {:connected, socket}, 10_000
      assert {:ok, %{server_name: "a.example", alpn: nil}} = Mote.ask!(socket, :tls)
    end

    test "lets nobody in who has no certificate of those that it trusts", %{machine: machine, files: files} do
      tls = files.server.identity ++ [cacertfile: files.client.root]
      {_, port} = listen(machine, NetRig.tell(self()), tls: tls)
      assert {:error, {:tls_alert, _}} = client(port, files, versions: [:"tlsv1.2"])
      eventually(fn -> errors(machine) == 1 end)
      refute_received {:connected, _socket}
      {:ok, _client} = client(port, files, files.client.identity)
      assert_receive {:connected, _socket}, 10_000
    end

    test "closes what speaks something else, and tells no session", %{machine: machine, files: files} do
      {listener, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity, max_connections: 1)
      client = NetRig.client(port)
      :ok = :gen_tcp.send(client, "GET / HTTP/1.1\r\n\r\n")
      # An alert, and the end.
      assert {:ok, <<21, _::binary>>} = :gen_tcp.recv(client, 0, 5_000)
      assert {:error, _} = :gen_tcp.recv(client, 0, 5_000)
      eventually(fn -> match?({:ok, %{counters: %{connections: 0}}}, Net.info(listener)) end)
      refute_received {:connected, _socket}
      # There is room for another one.
      assert {:ok, _client} = client(port, files)
      assert_receive {:connected, _socket}, 10_000
    end

    test "closes what says nothing for half a minute", %{files: files} do
      machine = machine(1, clock: :manual)
      {listener, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity)
      client = NetRig.client(port)
      eventually(fn -> match?({:ok, %{counters: %{connections: 1}}}, Net.info(listener)) end)
      Mote.advance(machine, 29_999)
      assert {:ok, %{counters: %{connections: 1}}} = Net.info(listener)
      Mote.advance(machine, 1)
      # An alert, and the end.
      assert {:ok, <<21, _::binary>>} = :gen_tcp.recv(client, 0, 5_000)
      assert {:error, :closed} = :gen_tcp.recv(client, 0, 5_000)
      refute_received {:connected, _socket}
    end

    test "tells an end from one that was cut off", %{machine: machine, files: files} do
      {_, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity)
      {:ok, client} = client(port, files)
      assert_receive {:connected, socket}, 10_000
      :ok = :ssl.send(client, "last")
      :ok = :ssl.close(client)
      assert Mote.ask!(socket, {:read, 4}) == {:ok, "last"}
      assert Mote.ask!(socket, {:read, 4}) == {:error, :closed}

      # A relay that ends both sides, as somebody between the two may.
      {relay, relayed} = relay(port)
      {:ok, client} = client(relay, files)
      assert_receive {:connected, socket}, 10_000
      :ok = :ssl.send(client, "half")
      assert Mote.ask!(socket, {:read, 4}) == {:ok, "half"}
      send(relayed, :cut)
      assert Mote.ask!(socket, {:read, 4}) == {:error, :reset}
    end

    test "ends its side when it is asked to, after what waits", %{machine: machine, files: files} do
      {_, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity)
      {:ok, client} = client(port, files)
      assert_receive {:connected, socket}, 10_000
      text = :crypto.strong_rand_bytes(1_000_000)
      written = Task.async(fn -> Mote.ask!(socket, {:write, text}, 60_000) end)
      eventually(fn -> Mote.info(machine).sponsors.net.net.bytes_out > 0 end)
      assert Mote.ask!(socket, {:shutdown, :write}) == :ok
      assert {:ok, ^text} = :ssl.recv(client, 1_000_000, 60_000)
      assert Task.await(written) == :ok
      assert {:error, :closed} = :ssl.recv(client, 1, 5_000)
    end

    test "goes on writing when it reads no more", %{machine: machine, files: files} do
      {_, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity)
      {:ok, client} = client(port, files)
      assert_receive {:connected, socket}, 10_000
      assert Mote.ask!(socket, {:shutdown, :read}) == :ok
      assert Mote.ask!(socket, {:read, 1}) == {:error, :closed}
      assert Mote.ask!(socket, {:write, "still here"}) == :ok
      assert :ssl.recv(client, 10, 5_000) == {:ok, "still here"}

      # While bytes wait, and somebody waits for a read.
      {:ok, client} = client(port, files)
      assert_receive {:connected, socket}, 10_000
      text = :crypto.strong_rand_bytes(20_000_000)

      [reader, writer] =
        for request <- [{:read, 1}, {:write, text}],
            do: Task.async(fn -> Mote.ask!(socket, request, 60_000) end)

      eventually(fn -> Mote.info(machine).sponsors.net.net.bytes_out > 10 end)
      assert Mote.ask!(socket, {:shutdown, :both}) == :ok
      assert {:ok, ^text} = :ssl.recv(client, 20_000_000, 60_000)
      assert Task.await_many([reader, writer], 60_000) == [{:error, :closed}, :ok]
      assert {:error, :closed} = :ssl.recv(client, 1, 5_000)
    end
  end

  describe "a client" do
    test "gives up a server that says nothing for half a minute, and whoever asks is told", %{files: files} do
      machine = machine(1, clock: :manual)
      {:ok, silent} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
      {:ok, port} = :inet.port(silent)
      tasks = start_supervised!(Task.Supervisor)
      open = fn -> Mote.info(machine).sponsors.net.net.open end

      for is_killed <- [true, false] do
        connect = &Net.connect(machine, {{127, 0, 0, 1}, port}, tls: trusts(files), timeout: &1)
        task = Task.Supervisor.async_nolink(tasks, fn -> connect.(:infinity) end)
        {:ok, peer} = :gen_tcp.accept(silent)
        # It has greeted.
        assert {:ok, <<22, _::binary>>} = :gen_tcp.recv(peer, 0, 5_000)
        # And its caller waits to hear how that ends.
        eventually(fn -> waits_for_answer?(task.pid) end)
        if is_killed, do: Task.shutdown(task, :brutal_kill)
        assert open.() == 1
        eventually(fn -> Mote.advance(machine, 30_000) == :ok and open.() == 0 end)
        unless is_killed, do: assert(Task.await(task) == {:error, :timeout})
      end
    end

    test "talks to Erlang's server, which speaks first", %{machine: machine, files: files} do
      {port, task} =
        server(files, [alpn_preferred_protocols: ["mqtt"]], fn socket ->
          :ok = :ssl.send(socket, "hello\n")
          {:ok, text} = :ssl.recv(socket, 500_000, 30_000)
          :ok = :ssl.send(socket, text)
          # Until it is closed.
          :ssl.recv(socket, 1, 30_000)
        end)

      assert {:ok, socket} = connect(machine, port, trusts(files, alpn: ["mqtt"]))
      assert Mote.ask!(socket, {:read, {:line, 100}}) == {:ok, "hello\n"}
      text = :crypto.strong_rand_bytes(500_000)
      assert Mote.ask!(socket, {:write, text}, 30_000) == :ok
      assert Mote.ask!(socket, {:read, 500_000}, 30_000) == {:ok, text}
      assert {:ok, %{alpn: "mqtt", certificate: <<_::binary>>}} = Mote.ask!(socket, :tls)
      assert Mote.ask!(socket, :close) == :ok
      assert Task.await(task) == {:error, :closed}
    end

    test "presents a certificate to a server of its own kind", %{machine: machine, files: files} do
      tls = files.server.identity ++ [cacertfile: files.client.root]
      {_, port} = listen(machine, NetRig.echo(), tls: tls)
      assert {:ok, socket} = connect(machine, port, trusts(files, files.client.identity))
      assert Mote.ask!(socket, {:write, "to and fro"}) == :ok
      assert Mote.ask!(socket, {:read, 10}) == {:ok, "to and fro"}
    end

    test "trusts nobody whom it does not know", %{machine: machine, files: files, tmp_dir: dir} do
      {_, port} = listen(machine, NetRig.tell(self()), tls: files.server.identity)

      assert connect(machine, port, trusts(files, server_name: "b.example")) ==
               {:error, :hostname_check_failed}

      assert connect(machine, port, cacertfile: files.server.root) == {:error, :hostname_check_failed}
      assert connect(machine, port, trusts(files, cacertfile: files.client.root)) == {:error, :unknown_ca}

      long_ago = [validity: {{2000, 1, 1}, {2001, 1, 1}}]
      old = Certificates.write!(dir, "d.example", peer: long_ago)
      {_, port} = listen(machine, NetRig.tell(self()), tls: old.server.identity)
      tls = [cacertfile: old.server.root, server_name: "d.example"]
      assert connect(machine, port, tls) == {:error, :certificate_expired}
      refute_received {:connected, _socket}
    end

    test "hears of a server that has no TLS", %{machine: machine, files: files} do
      {_, port} = listen(machine, NetRig.echo(), [])
      # It gets its own greeting back.
      assert {:error, reason} = connect(machine, port, trusts(files))
      assert reason in [:unexpected_message, :decode_error, :handshake_failure]
    end
  end

  describe "options" do
    test "name what cannot be used", %{machine: machine, files: files, tmp_dir: dir} do
      accept = NetRig.echo()
      [certfile: cert, keyfile: key] = files.server.identity
      missing = Path.join(dir, "none.pem")
      another = Path.join(dir, "another.pem")
      File.write!(another, Certificates.new_key())

      for {tls, message} <- [
            {[certfile: missing, keyfile: key], ~r/cannot read :certfile of :tls, .*no such file/},
            {[certfile: cert], ~r/:keyfile of :tls to be the path of a file, got: nil/},
            {[certfile: cert, keyfile: cert], ~r/there is no private key in PEM/},
            {[certfile: key, keyfile: key], ~r/there is no certificate in PEM/},
            {[certfile: cert, keyfile: another], ~r/expected :tls to be usable: /},
            {[certfile: cert, keyfile: key, ca: cert], ~r/options among :certfile, /},
            {[certfile: cert, keyfile: key, alpn: "h2"], ~r/:alpn of :tls to be names/},
            {[certfile: cert, keyfile: key, cacertfile: key], ~r/there is no certificate to trust/},
            {[certfile: cert, keyfile: key, hosts: [1]], ~r/:hosts of :tls to be names with their files/}
          ] do
        assert_raise ArgumentError, message, fn -> Net.listen(machine, accept: accept, tls: tls) end
      end

      assert_raise ArgumentError, ~r/:server_name of :tls/, fn ->
        Net.connect(machine, Path.join(dir, "socket"), tls: [cacertfile: cert])
      end
    end

    test "are refused by a library that was built without TLS" do
      assert_raise ArgumentError, ~r/config :mote, tls: true/, fn -> Net.Tls.refused!(:no_tls) end
    end

    test "of a socket without TLS there is nothing to say", %{machine: machine} do
      {_, port} = listen(machine, NetRig.tell(self()), [])
      {_client, socket} = NetRig.pair(port)
      assert Mote.ask!(socket, :tls) == {:error, :bad_request}
    end
  end

  defp waits_for_answer?(pid) do
    info = Process.info(pid, [:status, :current_stacktrace])

    info[:status] == :waiting and
      Enum.any?(info[:current_stacktrace], &match?({Mote.Machine.Question, _, _, _}, &1))
  end

  # A port that leads to another one, until its process is told to cut.
  defp relay(port) do
    {:ok, listener} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
    {:ok, relay} = :inet.port(listener)

    relayed =
      spawn_link(fn ->
        {:ok, here} = :gen_tcp.accept(listener)
        there = NetRig.client(port)
        for socket <- [here, there], do: :inet.setopts(socket, active: true)
        relayed(here, there)
      end)

    {relay, relayed}
  end

  defp relayed(here, there) do
    receive do
      {:tcp, ^here, data} -> :gen_tcp.send(there, data)
      {:tcp, ^there, data} -> :gen_tcp.send(here, data)
      :cut -> exit(:normal)
    end

    relayed(here, there)
  end
end
