defmodule Mote.Bench.Programs.Broker do
  # `examples/broker` with one thread and with two beside mosquitto: CPU time of a message that is delivered, the system's included,
  # from one to a thousand and from a thousand to one each; and resident memory of n clients that are idle. Each broker is a process of the
  # operating system, and this node is the load; they take turns. What two threads can do that have a core each is what the busier can.
  @moduledoc false

  @most 1_000
  @warm 100

  use Mote.Bench.Program,
    title:
      "n idle clients of the broker among the examples, then its messages to and from up to a thousand, beside mosquitto",
    param: :n,
    defaults: [4_000],
    small: 20,
    metric: :us_cpu_per_message_fan,
    expected: :delivered,
    # All brokers at once: idle clients, or two for each pair.
    files: &(3 * (max(&1, 2 * @most) + @warm)),
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]],
    fresh: true,
    elsewhere: true,
    runs: 2

  alias Mote.Bench.{Child, Memory, MqttLoad, Peers, Program, Run}

  @example Path.expand("../../../../../examples/broker", __DIR__)
  # Debian's is not where programs of users are.
  @mosquitto "/usr/sbin/mosquitto"
  @none "mosquitto is not installed (apt-get install mosquitto)"
  @env [{~c"MIX_ENV", ~c"#{Mix.env()}"}, {~c"ERL_FLAGS", ~c"+sbwt none +sbwtdcpu none +sbwtdio none"}]
  @names [:mote, :two_threads, :mosquitto]
  @loads [:fan, :pairs]
  # A broker starts within it, and has seen to those that have left.
  @patience 30_000

  @impl true
  def measures_fresh(sample), do: measures(sample)

  @impl true
  def mote(_machine, n) do
    :ok = Child.measurable!("broker")

    [
      deliver: fn _ ->
        names = if mosquitto(), do: @names, else: @names -- [:mosquitto]
        {:figures, with_brokers(names, [], &figures(&1, n)), :delivered}
      end
    ]
  end

  defp figures(brokers, n) do
    idle = idle(brokers, n)
    loads = for load <- @loads, do: {load, load(brokers, load, min(n, @most))}

    by = for {load, used} <- loads, do: {:"cpu_by_mosquitto_#{load}", by(used, :mote, :all)}

    busier =
      for {load, used} <- loads, do: {:"busier_thread_by_mosquitto_#{load}", by(used, :two_threads, :busiest)}

    cpu =
      for {load, used} <- loads,
          {name, of} <- used,
          do: {named(:"us_cpu_per_message_#{load}", name), of[:all]}

    bytes = for {name, bytes} <- idle, do: {named(:bytes_per_idle_client, name), bytes}

    # The worse of the two; why there is no mosquitto is said once.
    worse = if idle[:mosquitto], do: by |> Keyword.values() |> Enum.max(), else: {:unavailable, @none}

    cpu ++
      [cpu_by_mosquitto: worse] ++
      by ++ busier ++ bytes ++ [bytes_by_mosquitto: ratio(idle[:mote], idle[:mosquitto])]
  end

  defp named(metric, :mote), do: metric
  defp named(metric, name), do: :"#{metric}_#{name}"

  defp by(used, name, which), do: ratio(used[name][which], used[:mosquitto][:all])

  defp ratio(_ours, nil), do: nil
  defp ratio(ours, theirs), do: ours / max(theirs, 0.001)

  # -- loads ----------------------------------------------------------------------------------------------------

  # Bytes of resident memory of each idle client. What a machine has nothing to do with for a while it collects; few clients say nothing,
  # however long they rest.
  defp idle(brokers, n) do
    rest = min(n, 4_000)

    connect = fn what, n ->
      for {_, broker} <- brokers, i <- 1..n, do: MqttLoad.connect(broker.port, "#{what} #{i}")
    end

    warm = connect.("warm", @warm)
    Process.sleep(rest)
    before = for {name, broker} <- brokers, do: {name, Memory.rss(broker.os_pid)}
    idle = connect.("idle", n)
    Process.sleep(rest)
    bytes = for {name, broker} <- brokers, do: {name, (Memory.rss(broker.os_pid) - before[name]) / n}
    for socket <- warm ++ idle, do: :gen_tcp.close(socket)
    for {_, broker} <- brokers, do: left(broker.os_pid, now() + @patience)
    bytes
  end

  # Microseconds of CPU time of a message: of all threads, and of the busiest.
  defp load(brokers, kind, clients) do
    loads = for {name, broker} <- brokers, do: {name, broker, MqttLoad.start(kind, broker.port, clients)}

    used =
      for {name, broker, load} <- loads do
        wait = fn -> Process.sleep(1_000 * Program.seconds()) end
        {messages, {all, busiest, :ok}} = MqttLoad.during(load, fn -> Child.cpu(broker.os_pid, wait) end)

        if messages == 0,
          do:
            raise(Run.Error,
              message: "no message has arrived by #{name} (#{kind}); --seconds is the time for it"
            )

        {name, [all: all / messages / 1_000, busiest: busiest / messages / 1_000]}
      end

    for {_, _, load} <- loads, do: MqttLoad.stop(load)
    used
  end

  # The sockets of clients that have left are closed.
  defp left(os_pid, until) do
    if Child.files(os_pid) > @warm and now() < until do
      Process.sleep(10)
      left(os_pid, until)
    end
  end

  defp now, do: System.monotonic_time(:millisecond)

  # -- brokers --------------------------------------------------------------------------------------------------

  defp with_brokers([], brokers, fun), do: fun.(Enum.reverse(brokers))

  defp with_brokers([name | names], brokers, fun) do
    {child, ready} = start(name)

    try do
      broker = %{port: ready.(child), os_pid: child.os_pid}
      with_brokers(names, [{name, broker} | brokers], fun)
    after
      Child.stop(child)
    end
  end

  defp start(:mosquitto) do
    port = Peers.port()
    child = Child.start(mosquitto(), ["-p", "#{port}"], watched: true, silent: true)
    {child, &listening(&1, port, now() + @patience)}
  end

  defp start(name) do
    threads = if name == :two_threads, do: "2", else: "1"
    args = ["run", "run.exs", "0", threads]
    {Child.start(System.find_executable("mix"), args, watched: true, cd: @example, env: @env), &said/1}
  end

  defp mosquitto do
    System.find_executable("mosquitto") || if File.exists?(@mosquitto), do: @mosquitto
  end

  defp listening(child, port, until) do
    case :gen_tcp.connect({127, 0, 0, 1}, port, []) do
      {:ok, socket} ->
        :gen_tcp.close(socket)
        port

      {:error, reason} ->
        if now() > until, do: raise(Run.Error, message: "#{child.name} does not listen: #{inspect(reason)}")
        Process.sleep(10)
        listening(child, port, until)
    end
  end

  # It may have to be compiled before, and says so.
  defp said(%Child{os_pid: os_pid} = child) do
    case Regex.run(~r/port (\d+), process (\d+)/, Child.line(child)) do
      [_, port, ^os_pid] -> String.to_integer(port)
      nil -> said(child)
    end
  end
end
