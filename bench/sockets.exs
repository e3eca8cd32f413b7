# What sockets of a machine cost, beside a process with a gen_tcp socket (`active: :once`) for each connection: CPU time of this
# process for an echo of 64 bytes, and its bytes for an idle connection.
#
#     mix run bench/sockets.exs [--idle 8000] [--connections 300] [--rounds 1000] [--runs 3]
#     mix run bench/sockets.exs --only mote        # or gen_tcp: what memory takes is clearer where nothing else was before
#     mix run bench/sockets.exs --threads 2        # I/O threads of Mote; the time of the busiest is told as well
#
# The clients are another process of the operating system, and the two take turns. All of CPU time counts, the system's
# included. Each idle connection is a file here and one there: `ulimit -n` must allow as many.
defmodule Bench.Sockets do
  defmodule Echo do
    use Mote.Behaviour

    defactor start() do
      {:connected, socket} ->
        send(socket, {self(), {:read, :some}})
        become(echo(socket))
    end

    defactor echo(socket) do
      {:ok, data} ->
        send(socket, {nil, {:write, data}})
        send(socket, {self(), {:read, :some}})

      {:error, _reason} ->
        become(sink())
    end
  end

  @clients """
  [port, connections, rounds] = for text <- System.argv(), do: String.to_integer(text)
  hosts = for n <- 1..10, do: {127, 0, 1, n}
  connect = fn n -> :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false, nodelay: true, ip: Enum.at(hosts, rem(n, 10))]) end
  clients = for n <- 1..connections do
    {:ok, client} = connect.(n)
    client
  end
  echo = fn text ->
    for client <- clients, do: :ok = :gen_tcp.send(client, text)
    for client <- clients, do: {:ok, ^text} = :gen_tcp.recv(client, 64, 60_000)
  end
  text = String.duplicate("x", 64)
  echo.(text)
  IO.puts("connected")
  "go\n" = IO.gets("")
  for _ <- 1..rounds//1, do: echo.(text)
  IO.puts("done")
  IO.gets("")
  """

  def run(opts) do
    opts = Keyword.merge([idle: 8_000, connections: 300, rounds: 1_000, runs: 3, threads: 1], opts)

    if opts[:only] == nil, do: echoes(opts)
    idles(if(opts[:only], do: [opts[:only]], else: [:mote, :gen_tcp]), opts)
  end

  defp echoes(opts) do
    n = opts[:connections]

    IO.puts(
      "#{n} connections, echo of 64 bytes, CPU time of this process for each (median of #{opts[:runs]}):"
    )

    runs =
      for run <- 1..opts[:runs],
          server <- [:mote, :gen_tcp],
          do: {server, run, echo(server, opts)}

    [mote, gen_tcp] =
      for server <- [:mote, :gen_tcp] do
        times = for {^server, _, {time, _}} <- runs, do: time
        busiest = for {^server, _, {_, busiest}} <- runs, do: busiest

        IO.puts(
          "  #{server}: #{Float.round(median(times), 2)} µs (#{Enum.map_join(times, ", ", &Float.round(&1, 2))}), " <>
            "of its busiest thread #{Float.round(median(busiest), 2)}"
        )

        median(times)
      end

    IO.puts("  cpu_by_gen_tcp: #{Float.round(mote / gen_tcp, 2)}")
  end

  defp idles(servers, opts) do
    IO.puts(
      "#{opts[:idle]} idle connections, bytes of this process for each (RSS, median of #{opts[:runs]}):"
    )

    runs = for _ <- 1..opts[:runs], server <- servers, do: {server, idle(server, opts[:idle])}

    for server <- servers do
      bytes = for {^server, {bytes, _}} <- runs, do: bytes
      IO.puts("  #{server}: #{median(bytes)} (#{Enum.join(bytes, ", ")})")
    end

    counted = for {:mote, {_, counted}} <- runs, do: counted

    if counted != [],
      do: IO.puts("  mote, as the machine counts live actors and the records of sockets: #{median(counted)}")
  end

  defp median(numbers), do: numbers |> Enum.sort() |> Enum.at(div(length(numbers), 2))

  defp idle(server, connections) do
    {port, stop, _} = start(server, 1)
    # What is there once is there by then.
    with_clients(port, 100, 0, fn _go -> :ok end)
    settle()
    {before, counted} = {rss(), counted(stop)}

    both =
      with_clients(port, connections, 0, fn _go ->
        settle()
        {div(rss() - before, connections), div(counted(stop) - counted, connections)}
      end)

    stop(stop)
    both
  end

  defp echo(server, opts) do
    {port, stop, _} = start(server, opts[:threads])

    time =
      with_clients(port, opts[:connections], opts[:rounds], fn go ->
        before = cpu()
        go.()

        used =
          for {thread, cpu} <- cpu(),
              do: (cpu - Map.get(before, thread, 0)) / (opts[:connections] * opts[:rounds])

        {Enum.sum(used), Enum.max(used)}
      end)

    stop(stop)
    time
  end

  defp start(:mote, threads) do
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1], net: [threads: threads, io: true]])

    {:ok, listener} = Mote.Net.listen(machine, accept: Echo.start())
    {:ok, %{local: {_, port}}} = Mote.Net.info(listener)
    {port, {:mote, machine}, listener}
  end

  defp start(:gen_tcp, _threads) do
    options = [:binary, active: false, nodelay: true, backlog: 1024, ip: {127, 0, 0, 1}]
    {:ok, listener} = :gen_tcp.listen(0, options)
    {:ok, port} = :inet.port(listener)
    acceptor = spawn_link(fn -> accept(listener) end)
    :ok = :gen_tcp.controlling_process(listener, acceptor)
    {port, {:gen_tcp, acceptor, listener}, listener}
  end

  defp accept(listener) do
    with {:ok, socket} <- :gen_tcp.accept(listener) do
      pid = spawn(fn -> receive do: (:yours -> serve(socket)) end)
      :ok = :gen_tcp.controlling_process(socket, pid)
      send(pid, :yours)
      accept(listener)
    end
  end

  defp serve(socket) do
    :ok = :inet.setopts(socket, active: :once)

    receive do
      {:tcp, ^socket, data} ->
        :gen_tcp.send(socket, data)
        serve(socket)

      {:tcp_closed, ^socket} ->
        :ok
    end
  end

  defp stop({:mote, machine}), do: Mote.stop(machine)

  defp stop({:gen_tcp, acceptor, listener}) do
    Process.unlink(acceptor)
    Process.exit(acceptor, :kill)
    :gen_tcp.close(listener)
  end

  defp counted({:mote, machine}) do
    :ok = Mote.gc(machine)
    memory = Mote.info(machine).memory
    memory.live + memory.charged - memory.heap - memory.queues
  end

  defp counted(_other), do: 0

  # `act` gets a function that lets them go, and returns when they are done.
  defp with_clients(port, connections, rounds, act) do
    args = ["-e", @clients, to_string(port), to_string(connections), to_string(rounds)]
    exe = System.find_executable("elixir")

    clients = Port.open({:spawn_executable, exe}, [:binary, {:line, 1_000}, :use_stdio, args: args])

    expect(clients, "connected")

    go = fn ->
      Port.command(clients, "go\n")
      expect(clients, "done")
    end

    result = act.(go)
    if rounds == 0, do: go.()
    Port.close(clients)
    result
  end

  defp expect(port, line) do
    receive do
      {^port, {:data, {:eol, ^line}}} -> :ok
      {^port, {:data, other}} -> raise "the clients said #{inspect(other)}"
    after
      300_000 -> raise "the clients say nothing"
    end
  end

  defp settle do
    Process.sleep(1_000)
    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    Process.sleep(500)
  end

  defp rss do
    [_, kb] = Regex.run(~r/VmRSS:\s+(\d+) kB/, File.read!("/proc/self/status"))
    String.to_integer(kb) * 1_024
  end

  # Microseconds of each thread of this process, user and system.
  defp cpu do
    for thread <- File.ls!("/proc/self/task"),
        {:ok, stat} <- [File.read("/proc/self/task/#{thread}/stat")],
        into: %{} do
      fields = stat |> String.split(") ") |> List.last() |> String.split()

      {thread, 10_000 * (String.to_integer(Enum.at(fields, 11)) + String.to_integer(Enum.at(fields, 12)))}
    end
  end
end

integers = Map.new([:idle, :connections, :rounds, :runs, :threads], &{&1, :integer})

{opts, [], []} = OptionParser.parse(System.argv(), strict: Map.to_list(integers) ++ [only: :string])

only = Enum.find([:mote, :gen_tcp], &(to_string(&1) == opts[:only]))
Bench.Sockets.run(Keyword.put(opts, :only, only))
