defmodule Mote.Net do
  @moduledoc """
  Sockets as actors: TCP, UDP and Unix-domain sockets of a machine that has an I/O sponsor.

      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1], net: [threads: 2, io: true]])
      {:ok, listener} = Mote.Net.listen(machine, port: 4000, accept: Echo.start())

  The threads of an I/O sponsor wait in the operating system's event queue. There is no thread and no process for a
  connection: it is an actor of 16 bytes, and a record of about a hundred.

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

  A socket is an address: whoever has it can use it, and **a connection whose address nobody holds any more is closed** by a
  collection. A message to it is a request, `{customer, request}`, from an actor or by `Mote.ask/3` from a process. A customer that is
  an atom, such as `nil`, wants no answer.

  | request | answer | |
  |---|---|---|
  | `{:read, n}` | `{:ok, binary}` | exactly `n` bytes |
  | `{:read, :some}` | `{:ok, binary}` | what there is: at least one byte, and at most 64 KiB |
  | `{:read, {:line, max}}` | `{:ok, binary}` | up to and with the next `"\\n"`, in all at most `max` bytes |
  | `{:read, {:packet, 1 \| 2 \| 4, max}}` | `{:ok, binary}` | what follows a length of so many bytes, big-endian, without the length; at most `max` bytes |
  | `{:read, {:until, pattern, max}}` | `{:ok, binary}` | up to and with the pattern, a binary, in all at most `max` bytes |
  | `{:read, what, ms}` | as above | `{:error, :timeout}` after so many milliseconds; `:infinity` is no limit |
  | `{:write, iodata}` | `:ok` | when the system has taken all of it |
  | `{:shutdown, :read \| :write \| :both}` | `:ok` | what waits to be written goes first |
  | `{:set, [nodelay: boolean, keepalive: boolean]}` | `:ok` | |
  | `:peer`, `:local` | `{:ok, {ip, port}}` | of a Unix-domain socket `{:ok, {:local, path}}` |
  | `:counters` | a map | `:bytes_in` and `:bytes_out`; of a listener `:connections`, those that are open |
  | `:info` | `{:ok, map}` | `:local`, `:peer` and `:counters` |
  | `:tls` | `{:ok, map}` | of a connection with TLS, see *TLS* |
  | `:close` | `:ok` | whoever waits gets `{:error, :closed}` |

  Otherwise the answer is `{:error, reason}`:

    * `:closed` - the peer sends no more, or the socket is closed, or a write comes after the end of writing;
    * `:reset` - the peer has broken the connection off; it is closed;
    * `:timeout` - nothing came in time. Of what has come nothing is lost: the next read has it. Or the peer has taken nothing of what
      waits to be written for a minute or two: the connection is closed;
    * `:too_long` - the line, the packet or what comes before the pattern is longer than `max`. It is not lost either. Or a write has
      more than 64 MiB, or more than 1,048,576 parts;
    * `:busy` - another read waits. One at a time does;
    * `:no_memory` - the machine's `:memory` is used up;
    * `:overloaded` - this write is too much with what already waits to be written, because the peer takes too little;
    * `:bad_request` - this is no request to such a socket, or a read of more than 64 MiB;
    * any other error of the system, as `:inet` names it, such as `:eaddrinuse`.

  **Reads are pulls.** What nobody has asked for stays in the system's buffers, and when these are full the peer waits. Beyond the
  end of a line, a packet or a pattern some bytes may be read ahead, never more than `max`. **Writes** of one batch of turns go to the
  system together, in their order. What the system does not take waits in the machine, and counts for its `:memory`: whoever
  writes much waits for `:ok` before the next write. Until then the machine is not quiet, so `Mote.drain/2` and `shutdown: [drain: ms]`
  wait for it. While more than 1 MiB waits, nothing is read: reads are answered when some of it has gone. Where something waits, a
  write that would make it more than 16 MiB, or `:max_unsent`, is refused with `:overloaded`; a write that is alone may
  have any length. A write that is refused and has no customer ends the connection, since the bytes after it would follow a gap. `:close` writes what the system takes at once, at
  most 1 MiB, and gives up the rest.

  ## Datagrams

  A UDP socket, which `udp/2` opens, has no connection and no session. It takes these requests, and those above that are one word:

  | request | answer | |
  |---|---|---|
  | `{:read, max}` | `{:ok, {peer, binary}}` | the next datagram, and the address that it came from |
  | | `{:cut, {peer, binary}}` | its first `max` bytes: it had more, and they are lost |
  | `{:read, max, ms}` | as above | `{:error, :timeout}` after so many milliseconds |
  | `{:write_to, {ip, port}, iodata}` | `:ok` | when the system has taken the datagram |
  | `{:write, iodata}` | `:ok` | the same, for a socket with one peer |

  A datagram may be empty. One is read at a time, and those that nobody asks for wait in the system, which drops what is too much.
  Datagrams are written in their order, and each by itself: one that the system refuses, such as with `:emsgsize`, leaves the
  others alone, and the socket open. That a peer does not listen is learnt by a later request to a socket with one peer, as
  `:econnrefused`.

  ## Connections that actors make

  An actor connects by a **dialer**, which `dialer/2` makes: an address that the host hands out, and that connects to what the host
  has allowed.

      send dialer, {self(), {:connect, {{127, 0, 0, 1}, 6379}}}

  | request | answer | |
  |---|---|---|
  | `{:connect, {ip, port}}`, `{:connect, path}` | `{:ok, socket}` | when there is a connection |
  | `{:connect, place, ms}` | as above | `{:error, :timeout}` after so many milliseconds |

  The answer is `{:error, :eacces}` for a place that is not allowed, an error of the system such as `:econnrefused`, or what has gone wrong
  with TLS, which a dialer with `:tls` gives all its connections. A connection that a session asks for is on the session's thread.

  ## TLS

  With `config :mote, tls: true` Mote is built with TLS 1.2 and 1.3, by rustls: the configuration of a project that depends on it says
  so, since the precompiled library has none. A listener with the option `:tls` presents a certificate:

      Mote.Net.listen(machine, port: 4433, accept: Echo.start(), tls: [certfile: "server.pem", keyfile: "server.key"])

  and `connect/3` with `:tls` connects to one that must prove its name, as a dialer with `:tls` does. All requests are as above, and so is what is promised of them:
  a write is answered when the system has taken all that became of its bytes. A session hears of a connection when the two ends have
  agreed; those that have not after 30 seconds are closed, by servers and by clients. What both have agreed on is the answer to `:tls`, a
  map:

    * `:version` - `:"tlsv1.3"` or `:"tlsv1.2"`;
    * `:alpn` - the protocol of those of the option `:alpn`, a binary, or `nil`;
    * `:server_name` - in a server, the name that the client has asked for, or `nil`;
    * `:certificate` - the peer's, in DER, or `nil` of a client that was not asked for one.

  A handshake that fails, and a record that nobody could have sealed, is `{:error, reason}` with the name of the alert, as `:ssl` has
  it, such as `:unknown_ca`, `:certificate_expired` or `:handshake_failure`; `:hostname_check_failed` is a certificate for another
  name. A peer that closes the connection and has not said so is `:reset`, since somebody else may have cut it off.

  ## Listeners

  A listener takes `:close`, `:local`, `:counters` and `:info`. It accepts for as long as the machine and its sponsor live, whether
  anybody holds its address or not.

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
    * `:port` - a TCP port; 0, the default, is any that is free: `info/1` says which;
    * `:ip` - the address of an interface, as a tuple (default `{127, 0, 0, 1}`, this computer only; `{0, 0, 0, 0}` is any, and
      `{0, 0, 0, 0, 0, 0, 0, 0}` any of IPv6 and IPv4);
    * `:path` - a path in the file system instead, for a Unix-domain socket. The file must not be there, and stays behind;
    * `:sponsor` - the I/O sponsor (default: the only one);
    * `:backlog` - connections that may wait in the system to be accepted (default #{@backlog});
    * `:max_connections` - the most that are open at once, others wait in the system (default `:infinity`);
    * `:nodelay` - that small writes go at once (default `true`);
    * `:max_unsent` - the most bytes that wait to be written to one peer, or `:infinity` (default 16 MiB): see *Requests*. Each write
      that waits counts with 16 more;
    * `:tls` - a list of options for connections with TLS: `:certfile` and `:keyfile`, the paths of a chain of certificates and of its key,
      in PEM; `:hosts`, other ones for clients that ask for a name, such as `%{"a.example" => [certfile: …, keyfile: …]}`;
      `:cacertfile`, those who sign the certificates that clients must have; and `:alpn`, a list of protocols, the best first.

  Returns `{:error, reason}` with an error of the system, such as `:eaddrinuse`, `:eacces` or `:eaddrnotavail`.

  Raises `Mote.Error` if the machine is not running or has no such sponsor, and `ArgumentError` for other options and if the sponsor
  is no I/O sponsor.
  """
  @spec listen(Machine.t(), keyword) :: {:ok, Address.t()} | {:error, atom}
  def listen(machine, opts) do
    opts = options!(opts, @listen, "Mote.Net.listen/2")
    accept = opts[:accept]

    unless is_struct(accept, Behaviour) do
      raise ArgumentError,
            "expected :accept of Mote.Net.listen/2 to be a behaviour, such as Echo.start(), got: #{inspect(accept)}"
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

    * `:allow` - a list of what it may connect to: `{ip, port}`, or the path of a Unix-domain socket. Instead of an address there may be
      a network, `{ip, bits}` such as `{{10, 0, 0, 0}, 8}`, or `:any`; and instead of a port a range, such as `8_000..8_099`, or `:any`;
    * `:tls` - all its connections have TLS, with the options that `connect/3` takes. Without `:server_name` each server must prove to be
      the address that was asked for;
    * `:nodelay` and `:max_unsent` - as `listen/2` takes them;
    * `:sponsor` - the I/O sponsor (default: the only one).

  The section *Connections that actors make* has its requests. An IPv4 address and the IPv6 address that stands for it are the same.
  Names are for the host to look up, for instance by `:inet.getaddr/2`. Raises as `listen/2` does.

      iex> {:ok, machine} = Mote.start_link(sponsors: [net: [threads: 1, io: true]])
      iex> dialer = Mote.Net.dialer(machine, allow: [{{{10, 0, 0, 0}, 8}, 443}])
      iex> Mote.ask!(dialer, {:connect, {{10, 0, 0, 1}, 80}})
      {:error, :eacces}
  """
  @spec dialer(Machine.t(), keyword) :: Address.t()
  def dialer(machine, opts) do
    opts = options!(opts, @dialer, "Mote.Net.dialer/2")

    unless is_list(opts[:allow]) do
      raise ArgumentError,
            "expected :allow of Mote.Net.dialer/2 to be a list of places, got: #{inspect(opts[:allow])}"
    end

    {sponsor, connections} = {sponsor!(opts), connections!(opts)}
    allowed = Enum.map(opts[:allow], &Place.allowed!/1)
    tls = Tls.client!(opts[:tls], allowed, "Mote.Net.dialer/2")

    case opened(machine, sponsor, &Native.socket_dialer(&1, sponsor, allowed, {connections, tls}, [])) do
      {:ok, dialer} -> dialer
      {:error, reason} -> raise Error.from(reason, machine: machine)
    end
  end

  @doc """
  A socket's addresses and counters: a map of `:local`, `:peer` (`nil` of a listener) and `:counters`.

  Returns `{:error, :closed}` when it is closed. Raises `Mote.Error` if the machine is not running.
  """
  @spec info(Address.t()) ::
          {:ok, %{local: place, peer: place | nil, counters: %{atom => non_neg_integer}}} | {:error, atom}
  def info(socket) do
    case Mote.ask(socket, :info) do
      {:ok, answer} -> answer
      {:error, error} -> raise error
    end
  end

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

  defp backlog!(other) do
    raise ArgumentError, "expected :backlog to be a positive number of connections, got: #{inspect(other)}"
  end

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
      else: raise(ArgumentError, "expected :sponsor to be the name of a sponsor, got: #{inspect(sponsor)}")
  end

  defp timeout!(:infinity), do: :infinity
  defp timeout!(ms) when is_integer(ms) and ms in 0..0xFFFFFFFF, do: ms

  defp timeout!(other) do
    raise ArgumentError, "expected :timeout to be milliseconds or :infinity, got: #{inspect(other)}"
  end
end
