defmodule Mote.Net.LimitsTest do
  # Peers that do not read, lines that are full, and addresses of sockets that are gone.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.{Net, NetRig}

  defmodule Sessions do
    use Mote.Behaviour

    # Tells another actor first, in the words of the machine.
    defactor forward(owner, other) do
      {:connected, socket} ->
        send other, {:connected, socket}
        send owner, {:connected, socket}
        become sink()
    end

    defactor log(answers) do
      {customer, :all} -> send customer, answers
      answer -> become log([answer | answers])
    end

    defactor deaf() do
      :nothing -> become sink()
    end
  end

  defp accepted(machine, accept) do
    {_, port} = NetRig.listen(machine, accept)
    NetRig.pair(port)
  end

  defp ask(socket, request) do
    {:ok, answer} = Mote.ask(socket, request, 30_000)
    answer
  end

  # Writes more than the system takes from a peer that does not read.
  defp write_much(socket) do
    data = :binary.copy("0123456789abcdef", 2_097_152)
    Mote.send(socket, {nil, {:write, data}})
    eventually(fn -> match?(%{bytes_out: n} when n > 0, ask(socket, :counters)) end)
    data
  end

  test "a connection is not read from while much waits to be written, and is then" do
    {client, socket} = accepted(NetRig.machine(1), NetRig.tell(self()))
    data = write_much(socket)
    :ok = :gen_tcp.send(client, "next")
    assert ask(socket, {:read, 4, 100}) == {:error, :timeout}
    reader = Mote.async(socket, {:read, 4})
    assert {:ok, ^data} = :gen_tcp.recv(client, byte_size(data), 60_000)
    assert Mote.await(reader, 30_000) == {:ok, "next"}
  end

  test "a write that is refused ends the connection if nobody hears of it" do
    machine = NetRig.machine(1, memory: 32_000_000)
    {client, socket} = accepted(machine, NetRig.tell(self()))
    shared = Mote.share(machine, :binary.copy("x", 4_000_000))
    reader = Mote.async(socket, {:read, 4})
    assert ask(socket, {:write, "before"}) == :ok
    assert ask(socket, {:write, List.duplicate(shared, 12)}) == {:error, :no_memory}
    Mote.send(socket, {nil, {:write, "it"}})
    Mote.send(socket, {nil, {:write, List.duplicate(shared, 12)}})
    Mote.send(socket, {nil, {:write, "after"}})
    assert Mote.await(reader, 30_000) == {:error, :no_memory}
    assert :gen_tcp.recv(client, 8, 30_000) == {:ok, "beforeit"}
    assert :gen_tcp.recv(client, 0, 30_000) == {:error, :closed}
    assert ask(socket, {:write, "more"}) == {:error, :closed}
  end

  describe "a peer that never reads" do
    setup do
      machine = NetRig.machine(1)
      {_, port} = NetRig.listen(machine, NetRig.tell(self()), max_unsent: 1_000_000)
      %{machine: machine, port: port, text: :binary.copy("x", 100_000)}
    end

    # The system takes some megabytes. On the thread of the socket answers are there before what comes later.
    defp refused(socket, text, log, written \\ 0) do
      Mote.send(socket, {log, {:write, text}})
      %{bytes_out: out} = ask(socket, :counters)

      case Enum.reject(ask(log, :all), &(&1 == :ok)) do
        [] -> refused(socket, text, log, written + byte_size(text))
        reasons -> {reasons, written - out, written}
      end
    end

    test "is written to as far as the bound, and has all of that when it reads", context do
      %{machine: machine, port: port, text: text} = context
      log = Mote.create(machine, Sessions.log([]), sponsor: :net)
      {client, socket} = NetRig.pair(port)
      assert {[error: :overloaded], waits, written} = refused(socket, text, log)
      assert waits in 800_000..1_000_000
      assert ask(socket, {:write, text}) == {:error, :overloaded}
      assert {:ok, read} = :gen_tcp.recv(client, written, 60_000)
      assert read == :binary.copy("x", written)
      # And more after that, a write of any length among it.
      assert ask(socket, {:write, "more"}) == :ok
      long = Mote.async(socket, {:write, List.duplicate(text, 100)})
      assert {:ok, "more" <> _} = :gen_tcp.recv(client, 10_000_004, 60_000)
      assert Mote.await(long, 30_000) == :ok
    end

    test "is bounded as well where a dialer or a process has connected", context do
      %{machine: machine, text: text} = context
      {:ok, server} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
      {:ok, port} = :inet.port(server)
      place = {{127, 0, 0, 1}, port}
      dialer = Net.dialer(machine, allow: [place], max_unsent: 300_000)
      {:ok, dialed} = ask(dialer, {:connect, place})
      {:ok, connected} = Net.connect(machine, place, max_unsent: 300_000)

      for socket <- [dialed, connected] do
        log = Mote.create(machine, Sessions.log([]), sponsor: :net)
        assert {[error: :overloaded], waits, _written} = refused(socket, text, log)
        assert waits in 200_000..300_000
      end
    end

    test "is lost by those who write without a customer, and costs the machine no more", context do
      %{machine: machine, port: port, text: text} = context
      {_deaf, socket} = NetRig.pair(port)
      {reads, other} = NetRig.pair(port)
      reader = Mote.async(socket, {:read, 1})
      taken = Task.async(fn -> :gen_tcp.recv(reads, 300 * byte_size(text), 60_000) end)

      # One takes what it gets, one nothing.
      for _ <- 1..300 do
        Mote.send(socket, {nil, {:write, text}})
        assert ask(other, {:write, text}) == :ok
      end

      assert Mote.await(reader, 30_000) == {:error, :overloaded}
      assert {:ok, all} = Task.await(taken, 60_000)
      assert byte_size(all) == 300 * byte_size(text)
      assert ask(socket, {:write, text}) == {:error, :closed}
      assert %{sponsors: %{net: %{net: %{errors: 1}}}} = Mote.info(machine)
    end
  end

  test "options of listeners are checked" do
    machine = NetRig.machine(1)
    {_, _port} = NetRig.listen(machine, NetRig.tell(self()), max_unsent: :infinity)

    assert_raise ArgumentError, ~r/:max_unsent to be a positive number of bytes or :infinity, got: 0/, fn ->
      Net.listen(machine, accept: NetRig.tell(self()), max_unsent: 0)
    end
  end

  test "a request for more than there may be is refused" do
    {_client, socket} = accepted(NetRig.machine(1), NetRig.tell(self()))
    assert ask(socket, {:read, 67_108_865}) == {:error, :bad_request}
    assert ask(socket, {:read, 67_108_864, 0}) == {:error, :timeout}
    part = :binary.copy("x", 1_048_576)
    assert ask(socket, {:write, [List.duplicate(part, 64), "x"]}) == {:error, :too_long}
    assert ask(socket, {:write, List.duplicate([], 600_000)}) == {:error, :too_long}
    assert ask(socket, {:write, List.duplicate([], 400_000)}) == :ok
  end

  test "an address of a socket whose sponsor was removed leads to no other socket" do
    machine = NetRig.machine(1)
    {:ok, old} = Net.listen(machine, accept: NetRig.tell(self()))
    :ok = Mote.remove_sponsor(machine, :net)
    :ok = Mote.add_sponsor(machine, :other, io: true)
    {:ok, new} = Net.listen(machine, accept: NetRig.tell(self()))
    assert ask(old, :local) == {:error, :closed}
    assert ask(old, :close) == :ok
    assert {:ok, _} = ask(new, :local)
  end

  test "who is told of a connection by its session, and ignores that, does not end it" do
    machine = NetRig.machine(1)
    deaf = Mote.create(machine, Sessions.deaf(), sponsor: :net)
    {client, socket} = accepted(machine, Sessions.forward(self(), deaf))
    :ok = Mote.drain(machine)
    assert %{counters: %{ignored: 1}} = Mote.info(machine)
    assert ask(socket, {:write, "alive"}) == :ok
    assert :gen_tcp.recv(client, 5, 30_000) == {:ok, "alive"}
  end

  if match?({:unix, :linux}, :os.type()) do
    test "a Unix-domain listener whose line is full refuses by a name" do
      machine = NetRig.machine(1)
      path = Path.join(System.tmp_dir!(), "mote_net_#{System.unique_integer([:positive])}.sock")
      on_exit(fn -> File.rm(path) end)

      {:ok, _} = Net.listen(machine, path: path, accept: NetRig.tell(self()), backlog: 1, max_connections: 1)

      {:ok, _first} = Net.connect(machine, path)
      assert_receive {:connected, _}, 5_000
      # Nobody is accepted any more, and two or three wait.
      refused = Enum.find_value(1..10, fn _ -> with {:ok, _} <- Net.connect(machine, path), do: nil end)
      assert refused == {:error, :eagain}
    end
  end
end
