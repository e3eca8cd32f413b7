defmodule Mote.Bench.Programs.Sockets do
  # Echo servers of 64 bytes: sockets of a machine with one I/O thread, processes with `gen_tcp` sockets that are `active: :once`,
  # and tokio on one thread. Each is a process of the operating system, and so are the clients (`mote_load`).
  #
  # Of each: what n connections take that are idle, in resident memory, and both ends of them in that of the system; the part of a core
  # that a ping a minute of half a million connections takes, which come by these n; CPU time of an echo, the system's included, when up to a
  # thousand connections send as much as they can; and, of Mote and tokio, the 99th of a hundred times to an echo at one rate for both, half
  # of the most that both can do.
  @moduledoc false

  @most 1_000
  @warm 100
  # A second.
  @pings div(500_000, 60)
  # Milliseconds that a server rests before its memory is looked at, and in which it sees that thousands of clients have left.
  @rests 2_000
  @closes 10_000

  use Mote.Bench.Program,
    title:
      "n idle connections, then echoes over up to a thousand of them: CPU time and p99, beside gen_tcp and tokio",
    param: :n,
    defaults: [8_000],
    small: 20,
    metric: :us_cpu_per_echo,
    expected: :echoed,
    files: &(&1 + @most),
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]],
    fresh: true,
    elsewhere: true,
    runs: 3

  alias Mote.Bench.{Child, Echo, Memory, Program, Run, Rust, Worker}

  # So that what a node does while it waits is not taken for work.
  @flags ~w(+sbwt none +sbwtdcpu none +sbwtdio none)

  @impl true
  def measures_fresh(sample), do: measures(sample)

  @impl true
  def mote(_machine, n) do
    :ok = Child.measurable!("sockets")

    with {:error, reason} <- Rust.build(),
         do: raise(Run.Error, message: "sockets has no clients: #{reason}")

    [echo: fn _ -> {:figures, figures(n, tokio()), :echoed} end]
  end

  defp tokio do
    with {:error, reason} <- Rust.build("tokio_echo"), do: {:unavailable, "no tokio: " <> reason}
  end

  defp figures(n, built) do
    names = [:mote, :gen_tcp] ++ if built == :ok, do: [:tokio], else: []

    with_servers(names, [], n, fn servers ->
      idle = for {name, server} <- servers, do: {name, idle(server, n)}
      echo = for {name, server} <- servers, do: {name, greatest(server, min(n, @most))}
      rate = for({name, {_, rate}} <- echo, name != :gen_tcp, do: rate) |> Enum.min() |> div(2) |> max(1)
      times = for {name, server} <- servers, name != :gen_tcp, do: {name, times(server, min(n, @most), rate)}
      [p99, whole] = for at <- 0..1, do: for({name, times} <- times, do: {name, elem(times, at)})
      cpu = for {name, {cpu, _}} <- echo, do: {name, cpu}

      [bytes, system, pings] =
        for key <- [:bytes, :system, :pings], do: for({name, of} <- idle, do: {name, of[key]})

      # Why there is no tokio is said once.
      named(:bytes_per_idle_connection, bytes) ++
        [bytes_counted_per_idle_connection: idle[:mote].counted] ++
        named(:bytes_of_system_per_connection, system) ++
        named(:percent_of_core_pings, pings) ++
        named(:us_cpu_per_echo, cpu) ++
        [cpu_by_gen_tcp: by(cpu, :gen_tcp), cpu_by_tokio: with(:ok <- built, do: by(cpu, :tokio))] ++
        named(:us_p99, p99) ++
        [p99_by_tokio: by(p99, :tokio)] ++
        named(:us_p99_of_all, whole) ++ [us_between_echoes: 1_000_000 / rate]
    end)
  end

  # What is Mote's has no name behind it.
  defp named(metric, values),
    do: for({name, value} <- values, do: {if(name == :mote, do: metric, else: :"#{metric}_#{name}"), value})

  defp by(values, name), do: if(than = values[name], do: values[:mote] / max(than, 0.001))

  # -- servers and clients --------------------------------------------------------------------------------------

  defp with_servers([], servers, _n, fun), do: fun.(Enum.reverse(servers))

  defp with_servers([:tokio | names], servers, n, fun) do
    child = Child.start(Rust.executable("tokio_echo"), [])

    try do
      server = %{port: Child.line(child), os_pid: child.os_pid, collect: fn -> :ok end, counted: fn -> 0 end}
      with_servers(names, [{:tokio, server} | servers], n, fun)
    after
      Child.stop(child)
    end
  end

  defp with_servers([name | names], servers, n, fun) do
    worker = Worker.start(:node, processes: n, flags: @flags)

    try do
      {port, keeper} = Worker.call(worker, Echo, :start, [name])

      server = %{
        port: "#{port}",
        os_pid: Worker.os_pid(worker),
        collect: fn -> Worker.call(worker, Echo, :collect, [keeper]) end,
        counted: fn -> Worker.call(worker, Echo, :counted, [keeper]) end
      }

      with_servers(names, [{name, server} | servers], n, fun)
    after
      Worker.stop(worker)
    end
  end

  defp with_clients(server, connections, rate, fun) do
    args = [server.port, "#{connections}", "#{1_000 * Program.seconds()}", "#{rate}"]
    files = Child.files(server.os_pid)
    clients = Child.start(Rust.executable("mote_load"), args)

    try do
      "ready" = Child.line(clients)
      fun.(clients)
    after
      Child.stop(clients)
      closed(server.os_pid, files, System.monotonic_time(:millisecond) + @closes)
    end
  end

  # What the server still does for connections that are gone is not to be in the next figure.
  defp closed(os_pid, files, until) do
    if Child.files(os_pid) > files and System.monotonic_time(:millisecond) < until do
      Process.sleep(10)
      closed(os_pid, files, until)
    end
  end

  # Bytes of resident memory of each, as a machine counts them, and of the system; and CPU time by that of the clock while there are
  # pings. What is there once, the first ones have brought.
  defp idle(server, n) do
    with_clients(server, @warm, 0, fn _ -> :ok end)
    before = memory(server, n)

    with_clients(server, n, @pings, fn clients ->
      each = Map.merge(memory(server, n), before, fn _, now, before -> (now - before) / n end)
      {cpu, _busiest, {_count, took, _p99, _of_all}} = Child.cpu(server.os_pid, fn -> go(clients) end)
      Map.put(each, :pings, 100 * cpu / took)
    end)
  end

  defp memory(server, n) do
    server.collect.()
    # Allocators give back what is free after a while. Few connections say nothing, however long they rest.
    Process.sleep(min(n, @rests))
    %{bytes: Memory.rss(server.os_pid), counted: server.counted.(), system: Memory.system()}
  end

  # Microseconds of CPU time of an echo, and echoes a second.
  defp greatest(server, connections) do
    with_clients(server, connections, 0, fn clients ->
      {cpu, _busiest, {count, took, _p99, _of_all}} = Child.cpu(server.os_pid, fn -> go(clients) end)
      {cpu / count / 1_000, round(count * 1.0e9 / took)}
    end)
  end

  # The 99th of a hundred, in microseconds: the median of those of short times, and that of all.
  defp times(server, connections, rate) do
    with_clients(server, connections, rate, fn clients ->
      {_count, _took, p99, of_all} = go(clients)
      {p99 / 1_000, of_all / 1_000}
    end)
  end

  defp go(clients) do
    Child.tell(clients, "go")
    [_, _, _, _] = numbers = clients |> Child.line() |> String.split() |> Enum.map(&String.to_integer/1)
    List.to_tuple(numbers)
  end
end
