defmodule SecureSocket.Driver do
  # The side of the BEAM: the process that owns a socket, and beside it one that writes, since writing can take as long
  # as the peer likes. The driver turns what TCP tells into messages to the buffer, one whenever it is asked for more
  # (`active: :once`), and is the one who ends a connection.
  #
  # Invariants:
  # 1. Bytes are taken from TCP only when the buffer has asked for them, and it gets one message for it: `{:data, bytes}`
  #    or `{:ended, why}`.
  # 2. The first reason counts. Whatever ends the connection, the socket is closed, then buffer, reader and writer are
  #    told, then, once, the owner: `{:secure_socket, connection, {:closed, why}}`.
  # 3. A message that the machine does not accept is never dropped in silence: the connection ends.
  @moduledoc false
  use GenServer

  alias SecureSocket.{Buffer, Gate, Reader, Writer}

  # How often a message is tried again that found no memory, and how long it takes then, in milliseconds.
  @tries 100
  @pause 10

  @doc "Starts the processes and actors of a connection. The calling process must be the one that owns the socket."
  @spec start(map) :: {:ok, SecureSocket.t()} | {:error, term}
  def start(%{socket: socket} = settings) do
    {:ok, driver} = GenServer.start(__MODULE__, settings)

    # Nothing happens before: the socket is passive, and nobody has the addresses.
    case :gen_tcp.controlling_process(socket, driver) do
      :ok ->
        {:ok, GenServer.call(driver, :connection)}

      {:error, posix} ->
        GenServer.stop(driver)
        {:error, {:tcp, posix}}
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

    driver = self()
    out = spawn_link(fn -> out(socket, idle) end)
    create = &Mote.create(machine, &1, settings.create)
    buffer = create.(Buffer.buffer({driver, idle}, "", 0))
    reader = create.(Reader.reader({buffer, crypto, open, driver, longest}, 0))
    writer = create.(Writer.writer({crypto, seal, out, driver, longest, idle}, 0))

    for {what, pid} <- [owner: settings.owner, crypto: crypto, machine: GenServer.whereis(machine)],
        do: :erlang.monitor(:process, pid, tag: {:gone, what})

    connection = %SecureSocket{
      driver: driver,
      reads: create.(Gate.gate(reader)),
      writes: create.(Gate.gate(writer))
    }

    state = %{socket: socket, out: out, owner: settings.owner, connection: connection}
    {:ok, Map.merge(state, %{buffer: buffer, reader: reader, writer: writer})}
  end

  @impl true
  def handle_call(:connection, _from, state), do: {:reply, state.connection, state}
  def handle_call(:close, from, state), do: finish(:closed_here, Map.put(state, :closing, from))

  @impl true
  def handle_info({_buffer, :more}, state) do
    case :inet.setopts(state.socket, active: :once) do
      :ok -> {:noreply, state}
      {:error, _} -> to_buffer({:ended, :closed}, state)
    end
  end

  def handle_info({:tcp, _socket, bytes}, state), do: to_buffer({:data, bytes}, state)
  def handle_info({:tcp_closed, _socket}, state), do: to_buffer({:ended, :closed}, state)
  def handle_info({:tcp_error, _socket, posix}, state), do: to_buffer({:ended, {:tcp, posix}}, state)
  def handle_info({:fail, why}, state), do: finish(why, state)
  def handle_info({{:gone, what}, _, :process, _, reason}, state), do: finish({:gone, what, reason}, state)

  defp to_buffer(message, state) do
    case tell(state.buffer, message) do
      :ok -> {:noreply, state}
      {:error, reason} -> finish({:machine, reason}, state)
    end
  end

  defp finish(why, state) do
    # A peer that is cut off for what it did gets no farewell.
    unless why in [:closed, :closed_here], do: :inet.setopts(state.socket, linger: {true, 0})
    :gen_tcp.close(state.socket)
    send(state.out, :stop)
    # Those that cannot be told have no machine any more.
    tell(state.buffer, {:ended, why})
    tell(state.reader, {:broken, why})
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
  defp written({:error, :closed}, _idle), do: {:unwritten, :closed}
  defp written({:error, :timeout}, idle), do: {:unwritten, {:stuck, idle}}
  defp written({:error, posix}, _idle), do: {:unwritten, {:tcp, posix}}
end
