defmodule Mote.Net.DialerTest do
  # Connections that actors make.
  use ExUnit.Case, async: true
  doctest Mote.Net

  import Mote.Eventually

  alias Mote.{Net, NetRig}

  @localhost {127, 0, 0, 1}

  defmodule Actors do
    use Mote.Behaviour

    # Passes on what comes, both ways, to a connection of its own.
    defactor proxy(dialer, place) do
      {:connected, socket} ->
        send dialer, {self(), {:connect, place}}
        become dialing(socket)
    end

    defactor dialing(socket) do
      {:ok, other} ->
        pass(socket, other)
        pass(other, socket)
        become sink()

      {:error, reason} ->
        send socket, {nil, {:write, Atom.to_string(reason)}}
        send socket, {nil, {:shutdown, :write}}
        become sink()
    end

    defeffect pass(from, to) do
      send create(passes(from, to)), :begin
    end

    defactor passes(from, to) do
      :begin ->
        send from, {self(), {:read, :some}}

      {:ok, data} ->
        send to, {nil, {:write, data}}
        send from, {self(), {:read, :some}}

      {:error, _reason} ->
        send to, {nil, {:shutdown, :write}}
        become sink()
    end
  end

  defp server do
    {:ok, server} = :gen_tcp.listen(0, [:binary, active: false, ip: @localhost, backlog: 100])
    {:ok, port} = :inet.port(server)
    {server, port}
  end

  defp ask(actor, request), do: Mote.ask!(actor, request, 30_000)

  test "a session connects, on each thread" do
    machine = NetRig.machine(2)
    {_, echo} = NetRig.listen(machine, NetRig.echo())
    dialer = Net.dialer(machine, allow: [{@localhost, echo}])
    {_, port} = NetRig.listen(machine, Actors.proxy(dialer, {@localhost, echo}))

    for client <- for(_ <- 1..6, do: NetRig.client(port)) do
      :ok = :gen_tcp.send(client, "there and back")
      assert :gen_tcp.recv(client, 14, 30_000) == {:ok, "there and back"}
    end

    assert Mote.info(machine).sponsors.net.net.connected == 6
  end

  test "a session learns why there is no connection" do
    machine = NetRig.machine(1)
    {server, closed} = server()
    :ok = :gen_tcp.close(server)
    dialer = Net.dialer(machine, allow: [{@localhost, closed}])

    for {place, reason} <- [{{@localhost, closed}, "econnrefused"}, {{@localhost, 1}, "eacces"}] do
      {_, port} = NetRig.listen(machine, Actors.proxy(dialer, place))
      assert :gen_tcp.recv(NetRig.client(port), 0, 30_000) == {:ok, reason}
    end
  end

  test "only what is allowed is connected to" do
    machine = NetRig.machine(1)
    {_server, port} = server()
    {_other, other} = server()

    try_all = fn allow ->
      dialer = Net.dialer(machine, allow: allow)

      for place <- [
            {@localhost, port},
            {{0, 0, 0, 0, 0, 65_535, 32_512, 1}, port},
            {@localhost, other},
            {{127, 0, 0, 2}, port}
          ] do
        case ask(dialer, {:connect, place}) do
          {:ok, _socket} -> :ok
          {:error, reason} -> reason
        end
      end
    end

    first..last = min(port, other)..max(port, other)
    assert try_all.([]) == [:eacces, :eacces, :eacces, :eacces]
    assert try_all.([{@localhost, port}]) == [:ok, :ok, :eacces, :eacces]
    assert try_all.([{{0, 0, 0, 0, 0, 65_535, 32_512, 1}, port}]) == [:ok, :ok, :eacces, :eacces]
    assert try_all.([{@localhost, :any}]) == [:ok, :ok, :ok, :eacces]
    assert try_all.([{@localhost, first..last}]) == [:ok, :ok, :ok, :eacces]
    assert try_all.([{@localhost, (last + 1)..65_535}, "/path"]) == [:eacces, :eacces, :eacces, :eacces]
    # Nobody listens at 127.0.0.2.
    assert try_all.([{{{127, 0, 0, 0}, 8}, port}]) == [:ok, :ok, :eacces, :econnrefused]
    assert try_all.([{{{127, 0, 0, 0}, 31}, port}]) == [:ok, :ok, :eacces, :eacces]
    assert try_all.([{{{126, 0, 0, 0}, 8}, :any}]) == [:eacces, :eacces, :eacces, :eacces]
    assert try_all.([{{{0, 0, 0, 0}, 0}, port}]) == [:ok, :ok, :eacces, :econnrefused]
    assert try_all.([{:any, port}]) == [:ok, :ok, :eacces, :econnrefused]
  end

  test "a path in the file system is connected to if it is that one" do
    machine = NetRig.machine(1)
    path = Path.join(System.tmp_dir!(), "mote_net_#{System.unique_integer([:positive])}.sock")
    on_exit(fn -> File.rm(path) end)
    {:ok, _} = Net.listen(machine, path: path, accept: NetRig.echo())
    dialer = Net.dialer(machine, allow: [path])
    assert {:ok, socket} = ask(dialer, {:connect, path})
    assert ask(socket, {:write, "x"}) == :ok
    assert ask(socket, {:read, 1}) == {:ok, "x"}
    assert ask(dialer, {:connect, path <> "2"}) == {:error, :eacces}
    :ok = File.rm(path)
    assert ask(dialer, {:connect, path}) == {:error, :enoent}
  end

  if match?({:unix, :linux}, :os.type()) do
    test "a connection that takes too long is given up" do
      machine = NetRig.machine(1)
      {:ok, server} = :gen_tcp.listen(0, backlog: 1, ip: @localhost)
      {:ok, port} = :inet.port(server)
      dialer = Net.dialer(machine, allow: [{@localhost, port}])
      connect = fn -> ask(dialer, {:connect, {@localhost, port}, 300}) end
      # Nobody accepts: some wait, and the next ones are not answered.
      answers = Stream.repeatedly(connect) |> Enum.take(6)
      assert Enum.uniq(for {:error, reason} <- answers, do: reason) == [:timeout]
      made = for {:ok, socket} <- answers, do: socket
      assert Mote.info(machine).sponsors.net.net.open == length(made)
      for socket <- made, do: assert(ask(socket, :close) == :ok)
    end
  end

  test "a connection that nobody takes is closed, and so is one whose customer is gone" do
    machine = NetRig.machine(1)
    {_server, port} = server()
    dialer = Net.dialer(machine, allow: [{@localhost, port}])
    for _ <- 1..5, do: Mote.send(dialer, {nil, {:connect, {@localhost, port}}})
    eventually(fn -> Mote.info(machine).sponsors.net.net.connected == 5 end)

    eventually(fn ->
      :ok = Mote.gc(machine)
      Mote.info(machine).sponsors.net.net.open == 0
    end)
  end

  test "a dialer whose sponsor is removed says that it is closed" do
    machine = NetRig.machine(1)
    {_server, port} = server()
    dialer = Net.dialer(machine, allow: [{@localhost, port}])
    :ok = Mote.remove_sponsor(machine, :net)
    assert ask(dialer, {:connect, {@localhost, port}}) == {:error, :closed}
    :ok = Mote.add_sponsor(machine, :other, io: true)
    assert ask(dialer, {:connect, {@localhost, port}}) == {:error, :closed}
  end

  test "of an image it connects to nothing" do
    sponsors = [main: [threads: 1], net: [threads: 1, io: true]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors)
    {_server, port} = server()
    dialer = Net.dialer(machine, allow: [{@localhost, port}])
    path = Path.join(System.tmp_dir!(), "mote_net_#{System.unique_integer([:positive])}.image")
    on_exit(fn -> File.rm(path) end)
    {:ok, _} = Mote.save(machine, path, names: %{dialer: dialer})
    Mote.stop(machine)
    {:ok, machine} = Mote.start_link(image: path, sponsors: sponsors)
    %{dialer: dialer} = Mote.names(machine)
    assert ask(dialer, {:connect, {@localhost, port}}) == {:error, :closed}
  end

  test "what is no request is refused, and so is what cannot be allowed" do
    machine = NetRig.machine(1)
    dialer = Net.dialer(machine, allow: [{:any, :any}])

    for request <- [
          :info,
          {:connect, :somewhere},
          {:connect, {@localhost, -1}},
          {:connect, {"127.0.0.1", 80}},
          {:connect, ""},
          {:connect, {@localhost, 80}, -1},
          {:listen, {@localhost, 0}}
        ],
        do: assert(ask(dialer, request) == {:error, :bad_request})

    for bad <- [
          {@localhost, 65_536},
          {@localhost, 9..8//-1},
          {{@localhost, 33}, 1},
          {{1, 2, 3}, 1},
          {{127, 0, 0, 256}, 1},
          :any,
          "",
          "a\0b"
        ],
        do: assert_raise(ArgumentError, ~r/expected an IP/, fn -> Net.dialer(machine, allow: [bad]) end)

    assert_raise ArgumentError, ~r/:allow .* list of places/, fn -> Net.dialer(machine, []) end
    plain = start_supervised!({Mote, sponsors: [main: [threads: 1]]}, id: :plain)
    assert_raise ArgumentError, ~r/expected an I\/O sponsor/, fn -> Net.dialer(plain, allow: []) end
  end
end
