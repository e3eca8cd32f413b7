defmodule Mote.Net do
  @moduledoc """
  Sockets as actors: TCP, UDP and Unix-domain sockets of a machine that has an I/O sponsor.

      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1], net: [threads: 2, io: true]])
      {:ok, listener} = Mote.Net.listen(machine, port: 4000, accept: Echo.start())

  The threads of an I/O sponsor wait in the operating system's event queue. A connection has no thread and no process.
  It is an actor of 16 bytes, and a record of about a hundred.

  The machine creates an actor of the behaviour `:accept` for each connection, in the thread that owns the connection, and its
  first message is `{:connected, socket}`:

      defactor start() do
        {:connected, socket} ->
          send socket, {self(), {:read, :some}}
          become echo(socket)
      end

      defactor echo(socket) do
        {:ok, data} ->
          send socket, {nil, {:write, data}}
          send socket, {self(), {:read, :some}}

        {:error, _reason} ->
          become sink()
      end

  The guide *Sockets* begins with this server and goes on from there.

  ## Requests

  A socket is an address: whoever has it can use it. **A collection closes a connection whose address nobody holds any
  more.** A message to it is a request, `{customer, request}`, from an actor or by `Mote.ask/3` from a process. A
  customer that is an atom, such as `nil`, wants no answer.

  | request | answer | |
  |---|---|---|
  | `{:read, n}` | `{:ok, binary}` | exactly `n` bytes |
  | `{:read, :some}` | `{:ok, binary}` | the bytes that have arrived: at least one, and at most 64 KiB |
  | `{:read, {:line, max}}` | `{:ok, binary}` | up to and with the next `"\\n"`, in all at most `max` bytes |
  | `{:read, {:packet, 1 \| 2 \| 4, max}}` | `{:ok, binary}` | a packet behind its length of 1, 2 or 4 bytes, big-endian, without the length; at most `max` bytes |
  | `{:read, {:until, pattern, max}}` | `{:ok, binary}` | up to and with the pattern, a binary, in all at most `max` bytes |
  | `{:read, what, ms}` | as above | `{:error, :timeout}` after `ms` milliseconds; `:infinity` is no limit |
  | `{:write, iodata}` | `:ok` | when the system has taken all of it |
  | `{:shutdown, :read \| :write \| :both}` | `:ok` | waiting bytes are written first |
  | `{:set, [nodelay: boolean, keepalive: boolean]}` | `:ok` | |
  | `:peer`, `:local` | `{:ok, {ip, port}}` | of a Unix-domain socket `{:ok, {:local, path}}` |
  | `:counters` | a map | `:bytes_in` and `:bytes_out`; of a listener `:connections`, those that are open |
  | `:info` | `{:ok, map}` | `:local`, `:peer` and `:counters` |
  | `:tls` | `{:ok, map}` | of a connection with TLS, see *TLS* |
  | `:close` | `:ok` | waiting customers get `{:error, :closed}` |

  Otherwise the answer is `{:error, reason}`:

    * `:closed` - the peer sends no more, or the socket is closed, or a write comes after the end of writing;
    * `:reset` - the peer has broken the connection off; it is closed;
    * `:timeout` - the read was not complete in time. No byte is lost: the next read gets those that have come. Or the
      peer has taken none of the waiting bytes for a minute or two: the connection is closed;
    * `:too_long` - the line, the packet, or the part before the pattern is longer than `max`. It is not lost either.
      Or a write has more than 64 MiB, or more than 1,048,576 parts;
    * `:busy` - another read waits. Only one can wait at a time;
    * `:no_memory` - the machine's `:memory` is used up;
    * `:overloaded` - this write exceeds the bound together with the bytes that already wait, because the peer takes
      too little;
    * `:bad_request` - this is not a request for such a socket, or it is a read of more than 64 MiB;
    * any other error of the system, as `:inet` names it, such as `:eaddrinuse`.

  **Reads are pulls.** Bytes that nobody has asked for stay in the system's buffers, and when these are full the peer
  waits. Beyond the end of a line, a packet or a pattern some bytes may be read ahead, never more than `max`.

  **Writes** of one batch of turns go to the system together, in their order. Bytes that the system does not take wait
  in the machine, and count towards its `:memory`. So an actor that writes much waits for `:ok` before the next write.
  While bytes wait, the machine is not quiet, so `Mote.drain/2` and `shutdown: [drain: ms]` wait for them. While more
  than 1 MiB waits, nothing is read: reads are answered when some of it has gone. If bytes wait, a write that would
  raise them above 16 MiB, or above the `:max_unsent` of its listener, dialer or `connect/3`, is refused with
  `:overloaded`. A single write may have any length if nothing else waits. A refused write without a customer ends the
  connection, since the bytes after it would follow a gap. `:close` writes what the system takes at once, at most 1 MiB,
  and gives up the rest.

  ## Datagrams

  `udp/2` opens a UDP socket. It has no connection and no session. It takes these requests, and the one-word requests
  above:

  | request | answer | |
  |---|---|---|
  | `{:read, max}` | `{:ok, {peer, binary}}` | the next datagram, and the address that it came from |
  | | `{:cut, {peer, binary}}` | its first `max` bytes; the others are lost |
  | `{:read, max, ms}` | as above | `{:error, :timeout}` after `ms` milliseconds |
  | `{:write_to, {ip, port}, iodata}` | `:ok` | when the system has taken the datagram |
  | `{:write, iodata}` | `:ok` | the same, for a socket with one peer |

  A datagram may be empty. One is read at a time. Datagrams that nobody asks for wait in the system, which drops them
  when its buffer is full. Datagrams are written in their order, each separately. If the system refuses one, such as
  with `:emsgsize`, the others are still written, and the socket stays open. On a socket with one peer that does not
  listen, a later request gets `:econnrefused`.

  ## Connections that actors make

  An actor connects by a **dialer**, which `dialer/2` makes. The host hands out its address, and it connects only to
  the places that the host allows.

      send dialer, {self(), {:connect, {{127, 0, 0, 1}, 6379}}}

  | request | answer | |
  |---|---|---|
  | `{:connect, {ip, port}}`, `{:connect, path}` | `{:ok, socket}` | when there is a connection |
  | `{:connect, place, ms}` | as above | `{:error, :timeout}` after `ms` milliseconds |

  For a place that is not allowed the answer is `{:error, :eacces}`. Otherwise it may be an error of the system, such
  as `:econnrefused`. All connections of a dialer with `:tls` have TLS, whose errors are answers, too. A connection that
  a session asks for runs on the session's thread.

  ## TLS

  With `config :mote, tls: true` Mote is built with TLS 1.2 and 1.3, by rustls. Put that into the configuration of
  your project, since the precompiled library has no TLS. A listener with the option `:tls` presents a certificate:

      Mote.Net.listen(machine, port: 4433, accept: Echo.start(), tls: [certfile: "server.pem", keyfile: "server.key"])

  `connect/3` with `:tls`, and a dialer with `:tls`, connect to a server that must prove its name. All requests work as
  above, with the same promises: a write is answered when the system has taken all encrypted bytes. A session gets its
  first message when the handshake is complete. Servers and clients close connections whose handshake takes more than 30
  seconds. The answer to `:tls` says what was agreed on, as a map:

    * `:version` - `:"tlsv1.3"` or `:"tlsv1.2"`;
    * `:alpn` - the protocol that was chosen from the option `:alpn`, a binary, or `nil`;
    * `:server_name` - in a server, the name that the client has asked for, or `nil`;
    * `:certificate` - the peer's certificate, in DER, or `nil` for a client that was not asked for one.

  A failed handshake, or an invalid record, is `{:error, reason}` with the name of the alert, as `:ssl` has it, such
  as `:unknown_ca`, `:certificate_expired` or `:handshake_failure`. `:hostname_check_failed` means a certificate for
  another name. If a peer closes the connection without announcing it, the error is `:reset`, since somebody else may
  have cut the connection.

  ## Listeners

  A listener takes `:close`, `:local`, `:counters` and `:info`. It accepts connections as long as the machine and its
  sponsor live, even if nobody holds its address.

  If the turn for `{:connected, socket}` is aborted, or the behaviour has no clause for it, the connection is closed at once.
  """

  alias Mote.{Address, Behaviour, Error, Machine, Native}
  alias Mote.Net.{Place, Tls}
  import Mote.Internal.Expected, only: [expected!: 2]

  @backlog 1_024
  @most 0xFFFFFFFFFFFFFFFF
  @timeout 5_000

  @listen [
    accept: nil,
    port: 0,
    ip: {127, 0, 0, 1},
    path: nil,
    sponsor: nil,
    backlog: @backlog,
    max_connections: :infinity,
    nodelay: true,
    max_unsent: nil,
    tls: nil
  ]
  @connect [sponsor: nil, nodelay: true, timeout: @timeout, max_unsent: nil, tls: nil]
  @udp [port: 0, ip: nil, peer: nil, sponsor: nil, max_unsent: nil]
  @dialer [allow: nil, sponsor: nil, nodelay: true, max_unsent: nil, tls: nil]

  @typedoc "An address as `:inet` has it."
  @type place :: {:inet.ip_address(), :inet.port_number()} | {:local, String.t()}

  @doc """
  Listens, and returns the address of the listener. Options:

    * `:accept` - the behaviour of sessions, such as `Echo.start()`; there is one for each connection;
    * `:port` - a TCP port; 0, the default, is any free port: `info/1` says which;
    * `:ip` - the address of an interface, as a tuple (default `{127, 0, 0, 1}`, this computer only; `{0, 0, 0, 0}` is
      any, and `{0, 0, 0, 0, 0, 0, 0, 0}` any of IPv6 and IPv4);
    * `:path` - a path in the file system instead, for a Unix-domain socket. The file must not exist before, and stays
      behind;
    * `:sponsor` - the I/O sponsor (default: the only one);
    * `:backlog` - connections that may wait in the system to be accepted (default #{@backlog});
    * `:max_connections` - the most connections that are open at once; others wait in the system (default
      `:infinity`);
    * `:nodelay` - that small writes go at once (default `true`);
    * `:max_unsent` - the most bytes that wait to be written to one peer, or `:infinity` (default 16 MiB): see
      *Requests*. Each waiting write counts 16 bytes more;
    * `:tls` - a list of options for connections with TLS: `:certfile` and `:keyfile`, the paths of a chain of
      certificates and of its key, in PEM; `:hosts`, other certificates for clients that ask for a name, such as
      `%{"a.example" => [certfile: …, keyfile: …]}`; `:cacertfile`, the authorities that sign the certificates that
      clients must have; and `:alpn`, a list of protocols, the best first.

  Returns `{:error, reason}` with an error of the system, such as `:eaddrinuse`, `:eacces` or `:eaddrnotavail`.

  Raises `Mote.Error` if the machine is not running or has no such sponsor, and `ArgumentError` for other options and
  if the sponsor is not an I/O sponsor.
  """
  @spec listen(Machine.t(), keyword) :: {:ok, Address.t()} | {:error, atom}
  def listen(machine, opts) do
    opts = options!(opts, @listen, "Mote.Net.listen/2")
    accept = opts[:accept]

    unless is_struct(accept, Behaviour) do
      expected!(":accept of Mote.Net.listen/2 to be a behaviour, such as Echo.start()", accept)
    end

    place = if opts[:path], do: Place.place!(opts[:path]), else: Place.place!({opts[:ip], opts[:port]})
    most = most!(opts[:max_connections], ":max_connections to be a positive number")
    plan = {backlog!(opts[:backlog]), most, connections!(opts)}
    sponsor = sponsor!(opts)
    tls = Tls.server!(opts[:tls])
    session = Mote.create(machine, accept)
    opened(machine, sponsor, &Native.socket_listen(&1, sponsor, place, session.key, plan, tls))
  end

  @doc """
  Connects, and returns the address of the socket when there is a connection. The target is `{ip, port}`, with an address as a
  tuple, or the path of a Unix-domain socket. Options:

    * `:sponsor` - the I/O sponsor (default: the only one);
    * `:nodelay` - that small writes go at once (default `true`);
    * `:timeout` - how long to wait, in milliseconds, or `:infinity` (default #{@timeout});
    * `:max_unsent` - as `listen/2` takes it;
    * `:tls` - `true`, or a list of options for a connection with TLS: `:server_name`, the name that the server's certificate must be for
      (default: the address); `:cacertfile`, the path of the certificates that are trusted, in PEM (default: those that the system
      trusts); `:certfile` and `:keyfile`, to be presented to servers that ask; and `:alpn`, a list of protocols.

  Returns `{:error, reason}` with `:timeout`, a failed handshake or an error of the system, such as `:econnrefused`. Raises as `listen/2` does.
  """
  @spec connect(Machine.t(), {:inet.ip_address(), :inet.port_number()} | String.t(), keyword) ::
          {:ok, Address.t()} | {:error, atom}
  def connect(machine, target, opts \\ []) do
    opts = options!(opts, @connect, "Mote.Net.connect/3")
    {place, sponsor, connections} = {Place.place!(target), sponsor!(opts), connections!(opts)}
    {timeout, tls} = {timeout!(opts[:timeout]), Tls.client!(opts[:tls], [place], "Mote.Net.connect/3")}

    with {:ok, socket} <-
           opened(machine, sponsor, &Native.socket_connect(&1, sponsor, place, connections, tls)) do
      case Mote.ask(socket, :connection, timeout) do
        {:ok, :ok} ->
          {:ok, socket}

        {:ok, {:error, _reason} = error} ->
          error

        {:error, %Error{reason: :timeout}} ->
          Mote.send(socket, {nil, :close})
          {:error, :timeout}

        {:error, error} ->
          raise error
      end
    end
  end

  @doc """
  Opens a UDP socket, and returns its address. Options:

    * `:port` - a port; 0, the default, is any that is free: `info/1` says which;
    * `:ip` - the address of an interface, as `listen/2` takes it (default `{127, 0, 0, 1}`; with `:peer` the one that leads there);
    * `:peer` - `{ip, port}`: datagrams come from there only, and `{:write, iodata}` goes there;
    * `:max_unsent` - as `listen/2` takes it, for all peers together; each datagram counts with 19 bytes more;
    * `:sponsor` - the I/O sponsor (default: the only one).

  The section *Datagrams* has its requests. Returns `{:error, reason}` with an error of the system, and raises as `listen/2` does.

      iex> {:ok, machine} = Mote.start_link(sponsors: [net: [threads: 1, io: true]])
      iex> {:ok, server} = Mote.Net.udp(machine)
      iex> {:ok, %{local: place}} = Mote.Net.info(server)
      iex> {:ok, client} = Mote.Net.udp(machine, peer: place)
      iex> Mote.ask!(client, {:write, "hello"})
      :ok
      iex> {:ok, {_peer, bytes}} = Mote.ask!(server, {:read, 1_500})
      iex> bytes
      "hello"
  """
  @spec udp(Machine.t(), keyword) :: {:ok, Address.t()} | {:error, atom}
  def udp(machine, opts \\ []) do
    opts = options!(opts, @udp, "Mote.Net.udp/2")
    peer = opts[:peer] && Place.place!(opts[:peer])
    if is_binary(peer), do: Place.bad(opts[:peer])
    place = Place.place!({opts[:ip] || interface(opts[:peer]), opts[:port]})
    {sponsor, options} = {sponsor!(opts), {true, unsent!(opts)}}
    opened(machine, sponsor, &Native.socket_datagrams(&1, sponsor, place, peer, options))
  end

  defp interface(nil), do: {127, 0, 0, 1}
  defp interface({ip, _port}) when tuple_size(ip) == 4, do: {0, 0, 0, 0}
  defp interface(_peer), do: {0, 0, 0, 0, 0, 0, 0, 0}

  @doc """
  Makes a dialer, an actor that connects for whoever holds its address, and returns that. Options:

    * `:allow` - a list of the places that it may connect to: `{ip, port}`, or the path of a Unix-domain socket.
      Instead of an address there may be a network, `{ip, bits}` such as `{{10, 0, 0, 0}, 8}`, or `:any`; and instead
      of a port a range, such as `8_000..8_099`, or `:any`;
    * `:tls` - all its connections have TLS, with the options that `connect/3` takes. Without `:server_name` each server
      must prove that it has the address that was asked for;
    * `:nodelay` and `:max_unsent` - as `listen/2` takes them;
    * `:sponsor` - the I/O sponsor (default: the only one).

  The section *Connections that actors make* has its requests. An IPv4 address and the IPv6 address that stands for it
  are the same. The host looks up names, for instance by `:inet.getaddr/2`. Raises as `listen/2` does.

      iex> {:ok, machine} = Mote.start_link(sponsors: [net: [threads: 1, io: true]])
      iex> dialer = Mote.Net.dialer(machine, allow: [{{{10, 0, 0, 0}, 8}, 443}])
      iex> Mote.ask!(dialer, {:connect, {{10, 0, 0, 1}, 80}})
      {:error, :eacces}
  """
  @spec dialer(Machine.t(), keyword) :: Address.t()
  def dialer(machine, opts) do
    opts = options!(opts, @dialer, "Mote.Net.dialer/2")

    unless is_list(opts[:allow]),
      do: expected!(":allow of Mote.Net.dialer/2 to be a list of places", opts[:allow])

    {sponsor, connections} = {sponsor!(opts), connections!(opts)}
    allowed = Enum.map(opts[:allow], &Place.allowed!/1)
    tls = Tls.client!(opts[:tls], allowed, "Mote.Net.dialer/2")

    case opened(machine, sponsor, &Native.socket_dialer(&1, sponsor, allowed, {connections, tls}, [])) do
      {:ok, dialer} -> dialer
      {:error, reason} -> raise Error.from(reason, machine: machine)
    end
  end

  @doc """
  Returns a socket's addresses and counters: a map of `:local`, `:peer` (`nil` for a listener) and `:counters`.

  Returns `{:error, :closed}` when it is closed. Raises `Mote.Error` if the machine is not running.
  """
  @spec info(Address.t()) ::
          {:ok, %{local: place, peer: place | nil, counters: %{atom => non_neg_integer}}} | {:error, atom}
  def info(socket), do: Mote.ask!(socket, :info)

  defp opened(machine, sponsor, open) do
    case with({:ok, native} <- Machine.fetch(machine), do: {native, open.(native)}) do
      {:error, error} ->
        raise error

      {native, key} when is_binary(key) ->
        {:ok, %Address{machine: native, key: key}}

      {_native, {:error, reason}} ->
        {:error, reason}

      {_native, :no_io} ->
        which = if sponsor, do: "sponsor #{inspect(sponsor)} is none", else: "there is none"

        raise ArgumentError,
              "expected an I/O sponsor, such as net: [threads: 1, io: true] among the machine's sponsors, and #{which}"

      {_native, :several_io} ->
        raise ArgumentError, "expected :sponsor to say which I/O sponsor is meant: the machine has several"

      {_native, :no_tls} ->
        Tls.refused!(:no_tls)

      {_native, {:bad_tls, _message} = refused} ->
        Tls.refused!(refused)

      {native, :no_sponsor} ->
        known = Native.machine_sponsors(native)
        raise Error.from(:no_sponsor, machine: machine, sponsor: sponsor, known: known)

      {_native, word} ->
        raise Error.from(word, machine: machine)
    end
  end

  defp options!(opts, defaults, function) do
    known = Keyword.keys(defaults)

    unless Keyword.keyword?(opts) and Enum.all?(Keyword.keys(opts), &(&1 in known)) do
      raise ArgumentError,
            "expected the options of #{function} to be among #{Enum.map_join(known, ", ", &inspect/1)}, " <>
              "got: #{inspect(opts)}"
    end

    Keyword.merge(defaults, opts)
  end

  defp backlog!(n) when is_integer(n) and n in 1..0x7FFFFFFF, do: n

  defp backlog!(other), do: expected!(":backlog to be a positive number of connections", other)

  defp most!(:infinity, _what), do: @most
  defp most!(n, _what) when is_integer(n) and n > 0 and n < @most, do: n
  defp most!(other, what), do: expected!("#{what} or :infinity", other)

  defp connections!(opts), do: {boolean!(opts, :nodelay), unsent!(opts)}

  defp unsent!(opts) do
    opts[:max_unsent] && most!(opts[:max_unsent], ":max_unsent to be a positive number of bytes")
  end

  defp boolean!(opts, option) do
    on? = opts[option]

    if is_boolean(on?),
      do: on?,
      else: raise(ArgumentError, "expected #{inspect(option)} to be a boolean, got: #{inspect(on?)}")
  end

  defp sponsor!(opts) do
    sponsor = opts[:sponsor]

    if is_atom(sponsor),
      do: sponsor,
      else: expected!(":sponsor to be the name of a sponsor", sponsor)
  end

  defp timeout!(:infinity), do: :infinity
  defp timeout!(ms) when is_integer(ms) and ms in 0..0xFFFFFFFF, do: ms

  defp timeout!(other), do: expected!(":timeout to be milliseconds or :infinity", other)
end
