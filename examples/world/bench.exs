# A million walkers at 30 ticks a second, for ten seconds: mix run bench.exs [threads [walkers]]
{threads, walkers} =
  case Enum.map(System.argv(), &String.to_integer/1) do
    [] -> {2, 1_000_000}
    [threads] -> {threads, 1_000_000}
    [threads, walkers] -> {threads, walkers}
  end

ticks = 300
period = 1_000_000 / 30
now = fn -> System.monotonic_time(:microsecond) end
world = World.start(walkers: walkers, threads: threads)
for _ <- 1..30, do: World.tick(world)
zones = World.watch(world)
start = now.()

{took, zones} =
  Enum.map_reduce(1..ticks, zones, fn n, zones ->
    # The next tick begins at its time, or at once if the last one took longer.
    due = start + round(n * period) - now.()
    if due > 0, do: Process.sleep(div(due, 1_000))
    {took, zones} = :timer.tc(fn -> World.tick(world) && World.watch(world, zones) end)
    {took, zones}
  end)

took = Enum.sort(took)
ms = fn n -> Float.round(Enum.at(took, n) / 1_000, 1) end
^walkers = zones |> Map.values() |> Enum.sum()
memory = Mote.info(world.machine)

IO.puts("""
#{walkers} walkers, #{threads} threads, #{ticks} ticks, one in 33.3 ms
a tick, the least       #{ms.(0)} ms
a tick, median          #{ms.(div(ticks, 2))} ms
a tick, 99th percentile #{ms.(div(ticks * 99, 100))} ms
a tick, the longest     #{ms.(ticks - 1)} ms
live bytes a walker     #{Float.round(memory.gc.live_bytes / walkers, 1)}
collections             #{memory.gc.collections}
""")
