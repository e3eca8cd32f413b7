defmodule SecureSocket.Driver do
  # The side of the BEAM: the process that owns a socket and ends a connection, and beside it one that writes, since writing
  # can take as long as the peer likes. The socket is passive: the reader's turn takes from it what it needs.
  #
  # Invariants:
  # 1. The first reason counts. Whatever ends the connection, the socket is closed, which ends a turn that waits for it, then
  #    reader and writer are told, then, once, the owner: `{:secure_socket, connection, {:closed, why}}`.
  # 2. Reader and writer hear of every end, also one that they have told themselves: the reader waits for it.
  @moduledoc false
  use GenServer

  alias SecureSocket.{Gate, Reader, Writer}

  # How often a message is tried again that found no memory, and how long it takes then, in milliseconds.
  @tries 100
  @pause 10

  @doc "Starts the processes and actors of a connection. The calling process must be the one that owns the socket."
  @spec start(map) :: {:ok, SecureSocket.t()} | {:error, SecureSocket.Reason.t() | Mote.Error.t()}
  def start(%{socket: socket} = settings) do
    with {:ok, driver} <- GenServer.start(__MODULE__, settings) do
      # Nothing happens before: nobody has the addresses.
      case :gen_tcp.controlling_process(socket, driver) do
        :ok ->
          {:ok, GenServer.call(driver, :connection)}

        {:error, posix} ->
          GenServer.stop(driver)
          {:error, {:tcp, posix}}
      end
    else
      {:error, {:shutdown, error}} -> {:error, error}
    end
  end

  @doc "Sends to an actor and waits for room. Errors are the reasons of `Mote.Error`."
  @spec tell(Mote.Address.t(), term) :: :ok | {:error, atom}
  def tell(address, message, tries \\ @tries) do
    case Mote.send(address, message, on_full: :wait, timeout: :infinity) do
      {:error, %Mote.Error{reason: :no_memory}} when tries > 1 ->
        Process.sleep(@pause)
        tell(address, message, tries - 1)

      {:error, error} ->
        {:error, error.reason}

      :ok ->
        :ok
    end
  rescue
    error in Mote.Error -> {:error, error.reason}
  end

  @impl true
  def init(settings) do
    %{machine: machine, socket: socket, crypto: crypto, session: {seal, open}, idle: idle, longest: longest} =
      settings

    %{sponsor: sponsor, readers: readers} = settings
    driver = self()
    out = spawn_link(fn -> out(socket, idle) end)
    create = &Mote.create(machine, &1, sponsor: sponsor)
    line = {&:gen_tcp.recv(socket, 0, &1), idle}

    reader =
      Mote.create(machine, Reader.reader({line, open, driver, longest, sponsor}, "", 0), sponsor: readers)

    writer = create.(Writer.writer({crypto, seal, out, driver, longest, idle, sponsor}, 0))

    for {what, pid} <- [owner: settings.owner, crypto: crypto, machine: GenServer.whereis(machine)],
        do: :erlang.monitor(:process, pid, tag: {:gone, what})

    connection = %SecureSocket{driver: driver, reads: reader, writes: create.(Gate.gate(writer))}
    {:ok, %{socket: socket, out: out, owner: settings.owner, connection: connection, writer: writer}}
  rescue
    # A machine that is down, or without those sponsors.
    error in Mote.Error -> {:stop, {:shutdown, error}}
  end

  @impl true
  def handle_call(:connection, _from, state), do: {:reply, state.connection, state}
  def handle_call(:close, from, state), do: finish(:closed_here, Map.put(state, :closing, from))

  @impl true
  def handle_info({:fail, why}, state), do: finish(why, state)
  def handle_info({{:gone, what}, _, :process, _, reason}, state), do: finish({:gone, what, reason}, state)

  defp finish(why, state) do
    # A peer that is cut off for what it did gets no farewell.
    unless why in [:closed, :closed_here], do: :inet.setopts(state.socket, linger: {true, 0})
    :gen_tcp.close(state.socket)
    send(state.out, :stop)
    # Those that cannot be told have no machine any more.
    tell(state.connection.reads, {:broken, why})
    tell(state.writer, {:broken, why})
    send(state.owner, {:secure_socket, state.connection, {:closed, why}})
    with %{closing: from} <- state, do: GenServer.reply(from, :ok)
    {:stop, :normal, state}
  end

  # The process that writes.
  defp out(socket, idle) do
    receive do
      {customer, {:write, packet}} ->
        tell(customer, written(:gen_tcp.send(socket, packet), idle))
        out(socket, idle)

      :stop ->
        :ok
    end
  end

  defp written(:ok, _idle), do: :written
  defp written({:error, why}, _idle) when why in [:closed, :einval], do: {:unwritten, :closed}
  defp written({:error, :timeout}, idle), do: {:unwritten, {:stuck, idle}}
  defp written({:error, posix}, _idle), do: {:unwritten, {:tcp, posix}}
end
