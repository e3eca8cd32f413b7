defmodule SecureSocket do
  @moduledoc """
  Packets over TCP, encrypted and authenticated: an example of what become, gatekeepers and beam sponsors are for.

  Read README.md beside this file first: it is the lesson. This module is what a user of the example calls.

      io = [beam: true, max_concurrency: 100, timeout: :infinity]
      {:ok, machine} = Mote.start_link(sponsors: [main: [], io: io])
      {:ok, crypto} = SecureSocket.Crypto.start_link()
      opts = [crypto: crypto, secret: secret]

      {:ok, listener} = SecureSocket.listen(4040)
      {:ok, connection} = SecureSocket.accept(machine, listener, opts)
      {:ok, data} = SecureSocket.read(connection)
      :ok = SecureSocket.write(connection, "got it")

  The calling process owns the connection (or another one, see `:owner`): when it ends the connection does, and when the
  connection ends it gets `{:secure_socket, connection, {:closed, reason}}`, once. `SecureSocket.Reason` has the reasons.

  Actors send `{customer, :read}` to `connection.reads` and `{customer, {:write, data}}` to `connection.writes`; the
  answers are those of `read/1` and `write/2`.

  Who shares a secret with the peer can tell whether a packet came from it, whole and in order. That the peer *meant*
  to end after the last packet it cannot tell, for anybody can cut a line: a protocol that must know says goodbye.
  """

  alias SecureSocket.{Driver, Keys, Reason}

  @enforce_keys [:driver, :reads, :writes]
  defstruct [:driver, :reads, :writes]

  @type t :: %__MODULE__{driver: pid, reads: Mote.Address.t(), writes: Mote.Address.t()}

  @defaults [idle: 20_000, longest: 1_048_576, sponsor: :main, readers: :io, tcp: []]
  # What is taken from TCP at once, at most; see `buffer` in `:inet.setopts/2`.
  @piece 16_384
  @most_bytes 0xFFFFFFFF

  @doc "Listens on a port of the loopback interface; 0 for any. `tcp` are more options of `:gen_tcp.listen/2`."
  @spec listen(:inet.port_number(), [:gen_tcp.listen_option()]) ::
          {:ok, :gen_tcp.socket()} | {:error, Reason.t()}
  def listen(port, tcp \\ []),
    do: tcp(:gen_tcp.listen(port, [ip: {127, 0, 0, 1}, backlog: 1_024] ++ tcp ++ tcp()))

  @doc """
  Waits for a peer and says hello. Options:

    * `:secret` - what both sides know, at least 16 bytes; required;
    * `:crypto` - the pid of a `SecureSocket.Crypto`; required;
    * `:owner` - the process that owns the connection (default the calling one);
    * `:idle` - milliseconds after which a peer counts as silent, while something is waited for (default 20,000);
    * `:longest` - the most bytes of data in a packet (default 1 MiB);
    * `:sponsor` - the sponsor of the connection's actors, and of their answers (default `:main`);
    * `:readers` - the beam sponsor of its reader (default `:io`), with a `:timeout` of `:infinity` and a `:max_concurrency`
      of more than there are connections that wait for a packet: see README.md;
    * `:tcp` - more options of the socket.
  """
  @spec accept(Mote.Machine.t(), :gen_tcp.socket(), keyword) ::
          {:ok, t} | {:error, Reason.t() | Mote.Error.t()}
  def accept(machine, listener, opts) do
    opts = options!(machine, opts)
    with {:ok, socket} <- tcp(:gen_tcp.accept(listener)), do: open(machine, socket, :server, opts)
  end

  @doc "Connects to a port of the loopback interface and says hello. Options are those of `accept/3`."
  @spec connect(Mote.Machine.t(), :inet.port_number(), keyword) ::
          {:ok, t} | {:error, Reason.t() | Mote.Error.t()}
  def connect(machine, port, opts) do
    opts = options!(machine, opts)

    with {:ok, socket} <- tcp(:gen_tcp.connect({127, 0, 0, 1}, port, tcp(), opts.idle)),
         do: open(machine, socket, :client, opts)
  end

  @doc """
  The data of the next packet. Waits until it is there: no longer than the peer may be silent between two bytes of it.

  There is no timeout of its own, for a request that is given up would take its packet with it.
  """
  @spec read(t) :: {:ok, binary} | {:error, Reason.t() | Mote.Error.t()}
  def read(%__MODULE__{reads: reads}), do: ask(reads, :read)

  @doc "Sends a packet; `:ok` when the system has taken it."
  @spec write(t, binary) :: :ok | {:error, Reason.t() | Mote.Error.t()}
  def write(%__MODULE__{writes: writes}, data) when is_binary(data), do: ask(writes, {:write, data})

  @doc """
  Closes a connection; `:ok` also when it has ended already.

  What was written before is sent. That can take as long as the peer likes, but not more than three minutes, as in
  `:gen_tcp.close/1`.
  """
  @spec close(t) :: :ok
  def close(%__MODULE__{driver: driver}) do
    GenServer.call(driver, :close, :infinity)
  catch
    :exit, {reason, _} when reason in [:noproc, :normal] -> :ok
  end

  defp ask(address, request) do
    with {:ok, answer} <- Mote.ask(address, request, :infinity), do: answer
  end

  # -- the beginning -------------------------------------------------------------------------------------------

  defp open(machine, socket, role, opts) do
    with :ok <- tcp(:inet.setopts(socket, [send_timeout: opts.idle] ++ opts.tcp)),
         {:ok, session} <- hello(socket, role, opts),
         settings = Map.merge(opts, %{machine: machine, socket: socket, session: session}),
         {:ok, connection} <- Driver.start(settings) do
      {:ok, connection}
    else
      error ->
        :gen_tcp.close(socket)
        error
    end
  end

  # Both say hello at once, and each makes its keys of both.
  defp hello(socket, role, opts) do
    mine = Keys.hello()

    with :ok <- tcp(:gen_tcp.send(socket, mine)),
         {:ok, theirs} <- tcp(:gen_tcp.recv(socket, Keys.hello_size(), opts.idle)) do
      {:ok, Keys.session(opts.secret, role, mine, theirs)}
    else
      {:error, {:tcp, :timeout}} -> {:error, {:silent, opts.idle}}
      error -> error
    end
  end

  defp tcp, do: [:binary, active: false, nodelay: true, send_timeout_close: true, buffer: @piece]

  defp tcp({:error, :closed}), do: {:error, :closed}
  defp tcp({:error, posix}), do: {:error, {:tcp, posix}}
  defp tcp(other), do: other

  defp options!(machine, opts) do
    opts = opts |> Keyword.validate!([:secret, :crypto, owner: self()] ++ @defaults) |> Map.new()

    unless match?(%{secret: secret} when is_binary(secret) and byte_size(secret) >= 16, opts),
      do: raise(ArgumentError, "expected a :secret of at least 16 bytes")

    unless is_pid(opts[:crypto]),
      do:
        raise(
          ArgumentError,
          "expected :crypto to be the pid of a SecureSocket.Crypto, got: #{inspect(opts[:crypto])}"
        )

    unless is_integer(opts.idle) and opts.idle > 0,
      do: raise(ArgumentError, "expected :idle to be milliseconds, at least 1, got: #{inspect(opts.idle)}")

    unless is_integer(opts.longest) and opts.longest in 0..@most_bytes,
      do:
        raise(
          ArgumentError,
          "expected :longest to be 0 to #{@most_bytes} bytes, got: #{inspect(opts.longest)}"
        )

    readers!(machine, opts.readers)
    opts
  end

  # A reader's turn takes as long as its packet, and must not be aborted for that: the bytes that it has taken from the socket would
  # be gone. A machine that is down, or has no such sponsor, is found out when the actors are created.
  defp readers!(machine, sponsor) do
    with {:ok, %{beam: true, timeout: ms}} when is_integer(ms) <-
           Map.fetch(Mote.info(machine).sponsors, sponsor) do
      raise ArgumentError,
            "expected :readers to be a beam sponsor with timeout: :infinity, since a packet may take as long as its bytes " <>
              "keep coming, but the turns of #{inspect(sponsor)} are aborted after #{ms} ms"
    end
  rescue
    Mote.Error -> :ok
  end
end
