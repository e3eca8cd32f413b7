defmodule Mote.Bench.Programs.Users.Twin do
  # n devices by key, each of which has its last reading, a smoothed one, and how many times it got too warm. Readings come by
  # batches, of devices in an order that no cache would like, five of each. Then n of the devices are looked at by key, one by one, and
  # in the end all are added up. Beside the actors a table, which the process that has the readings changes itself, and a process for
  # each device, with a table of their keys.
  @moduledoc false

  use Mote.Bench.Sides,
    title: "n devices by key: five readings for each, then looks at them, then the sum of all",
    defaults: [100_000],
    small: 100,
    metric: :ns_per_reading_mote,
    machines: [mote: [main: [threads: 1]]]

  alias Mote.Directory

  @readings 5
  @batch 1_000

  defmodule Actors do
    use Mote.Behaviour

    @warm 80

    defactor device(last, mean, alarms) do
      reading ->
        {last, mean, alarms} = next({last, mean, alarms}, reading)
        become device(last, mean, alarms)
    end

    defpure next({last, mean, alarms}, reading) do
      alarms = if reading > @warm and last <= @warm, do: alarms + 1, else: alarms
      {reading, mean + div(reading * 1_000 - mean, 8), alarms}
    end

    defdirectory devices() do
      key when is_integer(key) -> device(0, 0, 0)
    end

    defactor ingest(devices) do
      readings -> Enum.each(readings, fn {key, reading} -> Mote.Directory.send(devices, key, reading) end)
    end
  end

  @impl true
  def works(machine, n) do
    ways = [mote: fn -> actors(machine) end, ets: fn -> table() end, processes: fn -> own_processes(n) end]

    for {work, count} <- [reading: @readings * n, look: n, sum: n] do
      {work, count, for({name, open} <- ways, do: {name, fn -> way(work, open.(), n) end})}
    end
  end

  # The first readings make the devices.
  defp way(work, devices, n) do
    devices.take.(batches(n, 0..0))
    later = if work == :reading, do: batches(n, 1..@readings)

    fn ->
      case work do
        :reading -> devices.take.(later)
        :look -> looked(n, devices.look)
        :sum -> devices.sum.()
      end
      |> then(fn result -> fn -> result |> shown(devices) |> tap(fn _ -> devices.stop.() end) end end)
    end
  end

  defp shown(:ok, devices), do: devices.sum.()
  defp shown(result, _devices), do: result

  defp looked(n, look), do: Enum.reduce(1..n, {0, 0}, &add(look.(rem(&1 * 7_919, n)), &2))
  defp add({_last, mean, alarms}, {means, all}), do: {means + mean, all + alarms}

  defp actors(machine) do
    devices = Directory.start(machine, Actors.devices(), shards: 512)
    ingest = Mote.create(machine, Actors.ingest(devices))

    %{
      take: fn batches ->
        {:ok, _} = Mote.cast_stream(ingest, batches)
        Mote.drain(machine, :infinity)
      end,
      look: fn key ->
        with {:ok, {:device, last, mean, alarms}} <- Directory.peek(devices, key), do: {last, mean, alarms}
      end,
      sum: fn ->
        Directory.fold(devices, {0, 0}, fn _, {_, last, mean, alarms}, sums ->
          add({last, mean, alarms}, sums)
        end)
      end,
      stop: fn -> :ok end
    }
  end

  defp table do
    table = :ets.new(:devices, [:protected])

    take = fn {key, reading} ->
      state = with [{_, state}] <- :ets.lookup(table, key), do: state, else: ([] -> {0, 0, 0})
      :ets.insert(table, {key, Actors.next(state, reading)})
    end

    %{
      take: fn batches -> Enum.each(batches, &Enum.each(&1, take)) end,
      look: fn key -> :ets.lookup_element(table, key, 2) end,
      sum: fn -> :ets.foldl(fn {_, state}, sums -> add(state, sums) end, {0, 0}, table) end,
      stop: fn -> :ets.delete(table) end
    }
  end

  defp own_processes(n) do
    table = :ets.new(:pids, [:public, read_concurrency: true])

    pids =
      for key <- 0..(n - 1),
          do: spawn_link(fn -> device({0, 0, 0}) end) |> tap(&:ets.insert(table, {key, &1}))

    send_to = fn key, message -> send(:ets.lookup_element(table, key, 2), message) end

    sum = fn ->
      for pid <- pids, do: send(pid, {:read, self()})
      for _ <- pids, reduce: {0, 0}, do: (sums -> receive(do: ({:state, state} -> add(state, sums))))
    end

    %{
      # They are all done when all have answered.
      take: fn batches ->
        Enum.each(batches, &Enum.each(&1, fn {key, reading} -> send_to.(key, reading) end))
        sum.()
        :ok
      end,
      look: fn key -> send_to.(key, {:read, self()}) && receive(do: ({:state, state} -> state)) end,
      sum: sum,
      stop: fn -> for pid <- pids, do: send(pid, :stop) end
    }
  end

  defp device(state) do
    receive do
      :stop ->
        :ok

      {:read, from} ->
        send(from, {:state, state})
        device(state)

      reading ->
        device(Actors.next(state, reading))
    end
  end

  @doc "The readings of each device in so many rounds, by batches."
  @spec batches(pos_integer, Range.t()) :: [[{key :: non_neg_integer, reading :: non_neg_integer}]]
  def batches(n, rounds) do
    for(round <- rounds, i <- 1..n, do: {rem(i * 7_919, n), rem(i * 31 + round * 47, 100)})
    |> Enum.chunk_every(@batch)
  end
end
