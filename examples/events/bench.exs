# Events a second, on one thread: mix run bench.exs
alias Events.{Phold, PholdProcesses, Queues}

runs = 5
median = fn list -> Enum.at(Enum.sort(list), div(length(list), 2)) end

rate = fn name, run ->
  rates =
    for _ <- 1..runs do
      %{events: events, microseconds: microseconds} = run.()
      events / microseconds
    end

  [median, least, most] =
    for rate <- [median.(rates), Enum.min(rates), Enum.max(rates)], do: Float.round(rate, 3)

  IO.puts("#{String.pad_trailing(name, 46)} #{median} (#{least}–#{most}) million events a second")
  median
end

ratios =
  for {entities, first, seconds, seconds_of_processes} <- [
        {100, 1, 5_000, 200},
        {10_000, 1, 100, 2},
        {10_000, 16, 10, 1}
      ] do
    name = "PHOLD, #{entities} entities, #{entities * first} events"
    mote = rate.(name, fn -> Phold.timed(entities: entities, first: first, seconds: seconds) end)
    of_processes = [entities: entities, first: first, seconds: seconds_of_processes]
    processes = rate.("  as GenServers", fn -> PholdProcesses.timed(of_processes) end)
    mote / processes
  end

IO.puts("PHOLD, Mote beside GenServers: #{Enum.map_join(ratios, ", ", &Float.round(&1, 1))} times")

for {copies, seconds} <- [{1, 200_000}, {1_000, 400}] do
  rate.("M/M/1, #{copies} copies", fn ->
    Queues.timed(Queues.single(0.8), copies: copies, seconds: seconds)
  end)

  rate.("Jackson, #{copies} copies", fn ->
    Queues.timed(Queues.jackson(), copies: copies, seconds: seconds)
  end)
end
