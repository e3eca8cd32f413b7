defmodule Mote.NetRig do
  @moduledoc "A machine with sockets, sessions that tests share, and real clients on loopback."

  use Mote.Behaviour

  import ExUnit.Assertions

  @doc "Tells a process of its socket, and lets it go."
  defactor tell(owner) do
    {:connected, socket} ->
      send owner, {:connected, socket}
      become sink()
  end

  @doc "Sends back what comes, and closes with its peer."
  defactor echo() do
    {:connected, socket} ->
      send socket, {self(), {:read, :some}}
      become echoes(socket)
  end

  defactor echoes(socket) do
    {:ok, data} ->
      send socket, {nil, {:write, data}}
      send socket, {self(), {:read, :some}}

    {:error, _reason} ->
      send socket, {nil, :close}
      become sink()
  end

  @doc "A machine of the test, with so many threads for sockets."
  def machine(threads, opts \\ []) do
    sponsors = [main: [threads: 1], net: [threads: threads, io: true]]
    ExUnit.Callbacks.start_supervised!({Mote, [sponsors: sponsors] ++ opts}, id: make_ref())
  end

  @doc "What a socket answers."
  def ask(socket, request) do
    {:ok, answer} = Mote.ask(socket, request, 30_000)
    answer
  end

  @doc "Asks, and returns when the request has come to the socket: what one process asks comes in order."
  def asks(socket, request) do
    question = Mote.async(socket, request)
    {:ok, _} = ask(socket, :local)
    question
  end

  @doc "A listener, and its port."
  def listen(machine, accept, opts \\ []) do
    {:ok, listener} = Mote.Net.listen(machine, [accept: accept] ++ opts)
    {:ok, %{local: {_ip, port}}} = Mote.Net.info(listener)
    {listener, port}
  end

  @doc "A client of that port."
  def client(port) do
    {:ok, client} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false, nodelay: true])
    client
  end

  @doc "A client, and the socket that the machine has for it, of which a session tells."
  def pair(port) do
    client = client(port)
    assert_receive {:connected, socket}, 5_000
    {client, socket}
  end
end
