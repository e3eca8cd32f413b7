defmodule Mote.Bench.Programs.SecureSockets do
  # n connections of the example, both ends in this node, all open at once: what one takes while it waits, in the heap of
  # the machine and in the memory of the OS process; then every client sends packets, each when the one before came back
  # from an actor that echoes. It is not with the other programs because it is compiled only where examples are.
  @moduledoc false

  @data :binary.copy("x", 1_024)
  @packets 10

  use Mote.Bench.Program,
    title: "n encrypted connections, both ends in this node; then ten packets of 1 KB to an echo over each",
    param: :n,
    defaults: [1_000],
    small: 10,
    metric: :bytes_per_connection,
    expected: &(&1 * @packets * byte_size(@data)),
    fresh: true,
    settle: 200

  alias Mote.Bench.Sample
  alias SecureSocket.{Crypto, Echo}

  @secret "a secret of the benchmark"

  defmodule Actors do
    use Mote.Behaviour

    # Sends the data `left` times and reads it again each time; then tells how many bytes came back.
    defactor client(reads, writes, customer, data, left, got) do
      :start ->
        send writes, {self(), {:write, data}}

      :ok ->
        send reads, {self(), :read}

      {:ok, echo} when left > 1 ->
        send writes, {self(), {:write, data}}
        become client(reads, writes, customer, data, left - 1, got + byte_size(echo))

      {:ok, echo} ->
        send customer, {:got, got + byte_size(echo)}
        become sink()

      {:error, why} ->
        send customer, {:failed, why}
        become sink()
    end
  end

  @impl true
  def count(n), do: n

  @impl true
  def measures_fresh(%Sample{param: n} = sample) do
    open = Sample.stage(sample, :open)
    exchange = Sample.stage(sample, :exchange)

    [
      bytes_per_connection: Sample.per(open.rss, sample.before, n),
      heap_bytes_per_connection: sample.figures[:heap_bytes] / n,
      us_per_open: open.ns / n / 1_000,
      # There and back.
      us_per_packet: exchange.ns / (2 * n * @packets) / 1_000
    ]
  end

  @impl true
  def mote(machine, n) do
    {:ok, listener} = SecureSocket.listen(0)
    cryptos = for _ <- 1..System.schedulers_online(), do: elem({:ok, _} = Crypto.start_link(), 1)

    # Of both ends of all connections one may wait, and the others have places to go on.
    :ok = Mote.add_sponsor(machine, :io, beam: true, max_concurrency: 2 * n + 8, timeout: :infinity)

    for module <- [SecureSocket.Reader, Echo, Actors],
        do: :ok = Mote.load(machine, module)

    live = live(machine)

    [
      open: fn _ -> open(machine, listener, cryptos, n) end,
      heap: fn pairs -> {:figures, [heap_bytes: live(machine) - live], pairs} end,
      exchange: fn pairs -> {pairs, exchange(machine, pairs)} end,
      # Otherwise the turns that wait for another packet would wait for as long as a peer may be silent.
      close: fn {pairs, bytes} -> close(pairs, bytes) end
    ]
  end

  # Every connection waits for its first packet, as one that is in use does most of the time.
  defp open(machine, listener, cryptos, n) do
    {:ok, port} = :inet.port(listener)

    opts =
      for i <- 1..n, do: [secret: @secret, owner: self(), crypto: Enum.at(cryptos, rem(i, length(cryptos)))]

    connecting = Task.async(fn -> for opts <- opts, do: SecureSocket.connect(machine, port, opts) end)
    servers = for opts <- opts, do: SecureSocket.accept(machine, listener, opts)

    for {:ok, server} <- servers,
        do: Mote.send(Mote.create(machine, Echo.echo(server.reads, server.writes)), :start)

    for {{:ok, _} = server, {:ok, _} = client} <- Enum.zip(servers, Task.await(connecting, :infinity)),
        do: {server, client}
  end

  defp exchange(machine, pairs) do
    for {_server, {:ok, client}} <- pairs do
      behaviour = Actors.client(client.reads, client.writes, self(), @data, @packets, 0)
      Mote.send(Mote.create(machine, behaviour), :start)
    end

    Enum.reduce(pairs, 0, fn _, sum ->
      receive do
        {:got, bytes} -> sum + bytes
        {:failed, why} -> exit({:connection, SecureSocket.Reason.describe(why)})
      end
    end)
  end

  defp close(pairs, bytes) do
    for {_server, {:ok, client}} <- pairs, do: :ok = SecureSocket.close(client)
    bytes
  end

  defp live(machine) do
    Mote.gc(machine)
    Mote.info(machine).gc.live_bytes
  end
end
