# This broker beside Debian's mosquitto: MIX_ENV=prod mix run bench.exs [seconds [rounds [idle clients]]]
#
# Each broker is a process of its own, and this node is the load. Messages of 64 bytes and QoS 0 go out as soon as the last ones have
# arrived, so nothing is lost, and what counts is how much of the CPU a broker takes for each. They take turns. What a broker with two
# threads can do where each has a core of its own is what its busiest thread can.
defmodule Bench do
  import Bitwise

  @payload String.duplicate("x", 64)
  @clients 1_000
  @localhost {127, 0, 0, 1}

  def main(args) do
    [seconds, rounds, idle] = args ++ Enum.drop([4, 3, 10_000], length(args))
    brokers = [{"mote, 1 thread", mote(1)}, {"mote, 2 threads", mote(2)}, {"mosquitto", mosquitto()}]

    IO.puts("#{idle} idle clients, bytes of resident memory each")
    for {name, broker} <- brokers, do: IO.puts("  #{String.pad_trailing(name, 16)} #{idle(broker, idle)}")

    loads = [
      {"1 to 1,000, a message at a time", &fan(&1, 1)},
      {"1 to 1,000, 16 at a time", &fan(&1, 16)},
      {"1,000 to 1,000, a message at a time", &pairs(&1, 1)},
      {"1,000 to 1,000, 16 at a time", &pairs(&1, 16)}
    ]

    for {what, load} <- loads do
      clients = for {name, broker} <- brokers, do: {name, broker, load.(broker)}
      for {_, _, {_, count, ready}} <- clients, do: wait(count, ready)

      figures =
        for _ <- 1..rounds, {name, broker, {all, count, _}} <- clients do
          for pid <- all, do: send(pid, :go)
          Process.sleep(500)
          figure = measure(broker, count, seconds)
          for pid <- all, do: send(pid, :pause)
          rest(count)
          {name, figure}
        end

      report(what, figures)
      for {_, _, {all, _, _}} <- clients, pid <- all, do: Process.exit(pid, :kill)
    end

    for {_, broker} <- brokers, do: System.cmd("kill", ["#{broker.pid}"])
  end

  # -- brokers -------------------------------------------------------------------------------------------------

  defp mote(threads) do
    flags = ~c"+sbwt none +sbwtdcpu none +sbwtdio none"

    options = [
      :binary,
      line: 1_000,
      env: [{~c"ERL_FLAGS", flags}],
      args: ["run", "--no-compile", "run.exs", "0", "#{threads}"]
    ]

    port = Port.open({:spawn_executable, System.find_executable("mix")}, options)

    receive do
      {^port, {:data, {:eol, line}}} ->
        [_, port, pid] = Regex.run(~r/port (\d+), process (\d+)/, line)
        %{port: String.to_integer(port), pid: pid}
    end
  end

  defp mosquitto do
    path = System.find_executable("mosquitto") || "/usr/sbin/mosquitto"
    unless File.exists?(path), do: raise("no mosquitto here: apt-get install mosquitto")
    {:ok, free} = :gen_tcp.listen(0, ip: @localhost)
    {:ok, number} = :inet.port(free)
    :gen_tcp.close(free)
    port = Port.open({:spawn_executable, path}, [:binary, :stderr_to_stdout, args: ["-p", "#{number}"]])
    {:os_pid, pid} = Port.info(port, :os_pid)
    ready(number)
    %{port: number, pid: "#{pid}"}
  end

  defp ready(port) do
    with {:error, _} <- :gen_tcp.connect(@localhost, port, []) do
      Process.sleep(10)
      ready(port)
    end
  end

  # Seconds of CPU that each thread of a process has had.
  defp threads(%{pid: pid}) do
    for thread <- File.ls!("/proc/#{pid}/task"),
        {:ok, stat} <- [File.read("/proc/#{pid}/task/#{thread}/stat")],
        into: %{} do
      fields = stat |> String.split(") ") |> List.last() |> String.split()
      [user, system] = for n <- [11, 12], do: String.to_integer(Enum.at(fields, n))
      {thread, (user + system) / 100}
    end
  end

  defp resident(%{pid: pid}) do
    [_, kilobytes] = Regex.run(~r/VmRSS:\s+(\d+) kB/, File.read!("/proc/#{pid}/status"))
    1_024 * String.to_integer(kilobytes)
  end

  # -- figures -------------------------------------------------------------------------------------------------

  defp measure(broker, count, seconds) do
    {before, n, time} = {threads(broker), :counters.get(count, 1), now()}
    Process.sleep(1_000 * seconds)
    {later, n, time} = {threads(broker), :counters.get(count, 1) - n, (now() - time) / 1.0e6}
    used = for {thread, cpu} <- later, do: cpu - Map.get(before, thread, 0)
    {cpu, most} = {Enum.sum(used), Enum.max(used)}

    {n / time, n / max(cpu, 0.01), n / max(most, 0.01), 100 * cpu / time}
  end

  defp now, do: System.monotonic_time(:microsecond)

  # Whatever takes longer than a minute will never end.
  defp wait(count, n, tries \\ 6_000)
  defp wait(_count, n, 0), do: raise("fewer than #{n} messages have arrived in a minute")

  defp wait(count, n, tries),
    do: unless(:counters.get(count, 1) >= n, do: Process.sleep(10) && wait(count, n, tries - 1))

  # Until nothing arrives any more.
  defp rest(count) do
    n = :counters.get(count, 1)
    Process.sleep(300)
    unless :counters.get(count, 1) == n, do: rest(count)
  end

  defp report(what, figures) do
    IO.puts(
      "\n#{what}\n                   messages a second   by a second of CPU   of its busiest thread   of a core"
    )

    for {name, list} <- Enum.group_by(figures, &elem(&1, 0), &elem(&1, 1)) |> Enum.sort(:desc) do
      [rate, by_cpu, by_most, share] = for n <- 0..3, do: list |> Enum.map(&elem(&1, n)) |> median()

      IO.puts(
        "  #{String.pad_trailing(name, 16)} #{column(rate, 18)} #{column(by_cpu, 20)} #{column(by_most, 24)} #{column(share, 11)} %"
      )
    end
  end

  defp median(list), do: list |> Enum.sort() |> Enum.at(div(length(list), 2)) |> round()
  defp column(n, width), do: String.pad_leading(Regex.replace(~r/(?<=\d)(?=(\d{3})+$)/, "#{n}", ","), width)

  # -- clients -------------------------------------------------------------------------------------------------

  # One publishes to all, when all have got what was sent before.
  defp fan(broker, window) do
    count = :counters.new(1, [])
    frame = publish("fan")
    subscribers = for part <- parts(), do: spawn(fn -> listen(broker, part, count, byte_size(frame)) end)

    publisher =
      spawn(fn ->
        socket = connect(broker, "publisher")
        wait(count, @clients)
        :gen_tcp.send(socket, frame)
        wait(count, 2 * @clients)
        publish_on(socket, String.duplicate(frame, window), count, window)
      end)

    {[publisher | subscribers], count, 2 * @clients}
  end

  defp publish_on(socket, frames, count, window) do
    receive do: (:go -> :ok)
    publishing(socket, frames, count, window)
  end

  defp publishing(socket, frames, count, window) do
    n = :counters.get(count, 1)
    :gen_tcp.send(socket, frames)
    spin(count, n + window * @clients)

    receive do
      :pause -> publish_on(socket, frames, count, window)
    after
      0 -> publishing(socket, frames, count, window)
    end
  end

  defp spin(count, n) do
    unless :counters.get(count, 1) >= n do
      receive after: (1 -> :ok)
      spin(count, n)
    end
  end

  defp listen(broker, part, count, size) do
    sockets = for n <- part, do: subscriber(broker, "fan", n)
    :counters.add(count, 1, length(sockets))
    for socket <- sockets, do: :inet.setopts(socket, active: true)
    listening(count, size, 0)
  end

  defp listening(count, size, bytes) do
    receive do
      {:tcp, _, data} ->
        bytes = bytes + byte_size(data)
        :counters.add(count, 1, div(bytes, size))
        listening(count, size, rem(bytes, size))

      word when word in [:go, :pause] ->
        listening(count, size, bytes)
    end
  end

  # Each publishes to one of its own, `window` messages ahead.
  defp pairs(broker, window) do
    count = :counters.new(1, [])
    workers = for part <- parts(), do: spawn(fn -> pair(broker, part, count, window) end)
    {workers, count, length(workers)}
  end

  defp pair(broker, part, count, window) do
    pairs =
      Map.new(part, fn n ->
        topic = "pair/#{n}"
        subscriber = subscriber(broker, topic, n)
        :inet.setopts(subscriber, active: true)
        frame = publish(topic)

        {subscriber,
         {connect(broker, "publisher #{n}"), String.duplicate(frame, window), window * byte_size(frame)}}
      end)

    :counters.add(count, 1, 1)
    pair_on(pairs, count, window)
  end

  defp pair_on(pairs, count, window) do
    receive do: (:go -> :ok)
    for {_, {publisher, frames, _}} <- pairs, do: :gen_tcp.send(publisher, frames)
    pairing(pairs, count, window, %{}, true)
  end

  # A pair goes on when all of its messages are there.
  defp pairing(pairs, count, window, parts, on) do
    receive do
      {:tcp, socket, data} ->
        {publisher, frames, size} = Map.fetch!(pairs, socket)
        got = Map.get(parts, socket, 0) + byte_size(data)

        if got >= size do
          :counters.add(count, 1, window)
          if on, do: :gen_tcp.send(publisher, frames)

          pairing(
            pairs,
            count,
            window,
            if(got == byte_size(data), do: parts, else: Map.delete(parts, socket)),
            on
          )
        else
          pairing(pairs, count, window, Map.put(parts, socket, got), on)
        end

      :pause ->
        pairing(pairs, count, window, parts, false)

      :go ->
        for {_, {publisher, frames, _}} <- pairs, do: :gen_tcp.send(publisher, frames)
        pairing(pairs, count, window, parts, true)
    end
  end

  defp parts, do: Enum.chunk_every(1..@clients, div(@clients, 4))

  defp subscriber(broker, topic, n) do
    socket = connect(broker, "subscriber #{n}")
    :ok = :gen_tcp.send(socket, <<0x82, byte_size(topic) + 5, 1::16, byte_size(topic)::16, topic::binary, 0>>)
    {:ok, <<0x90, 3, 1::16, 0>>} = :gen_tcp.recv(socket, 5)
    socket
  end

  defp connect(broker, id) do
    {:ok, socket} =
      :gen_tcp.connect(@localhost, broker.port, [:binary, active: false, nodelay: true, buffer: 65_536])

    body = <<4::16, "MQTT", 4, 2, 0::16, byte_size(id)::16, id::binary>>
    :ok = :gen_tcp.send(socket, <<0x10, byte_size(body)>> <> body)
    {:ok, <<0x20, 2, 0, 0>>} = :gen_tcp.recv(socket, 4)
    socket
  end

  defp publish(topic) do
    size = 2 + byte_size(topic) + byte_size(@payload)
    <<0x30, size &&& 0x7F, byte_size(topic)::16, topic::binary, @payload::binary>>
  end

  defp idle(broker, n) do
    # What the first ones need once is not theirs.
    warm = for n <- 1..100, do: connect(broker, "warm #{n}")
    Process.sleep(5_000)
    before = resident(broker)
    sockets = for n <- 1..n, do: connect(broker, "idle #{n}")
    # What has nothing to do for a while collects its garbage.
    Process.sleep(5_000)
    each = div(resident(broker) - before, n)
    for socket <- warm ++ sockets, do: :gen_tcp.close(socket)
    each
  end
end

System.argv() |> Enum.map(&String.to_integer/1) |> Bench.main()
