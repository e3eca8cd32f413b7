# A million people, day by day: mix run bench.exs [threads [people [app]]]
{threads, people, app} =
  case System.argv() do
    [] -> {2, 1_000_000, 0.0}
    [threads] -> {String.to_integer(threads), 1_000_000, 0.0}
    [threads, people] -> {String.to_integer(threads), String.to_integer(people), 0.0}
    [threads, people, app] -> {String.to_integer(threads), String.to_integer(people), String.to_float(app)}
  end

bench = self()
start = System.monotonic_time(:microsecond)

report = fn machine, day ->
  now = System.monotonic_time(:microsecond)
  send(bench, {:day, day, now, Mote.info(machine).memory.charged})
end

days = 120
run = Epidemic.run(people: people, days: days, threads: threads, app: app, report: report)

reports =
  for day <- 0..days do
    receive do
      {:day, ^day, now, charged} -> {now, charged}
    end
  end

moments = Enum.map(reports, &elem(&1, 0))
took = Enum.zip_with(tl(moments), moments, &(&1 - &2)) |> Enum.sort()
ms = &Float.round(&1 / 1_000, 1)
bytes = Enum.map(reports, &div(elem(&1, 1), people))

IO.puts("""
#{people} people, #{threads} threads, #{days} days
the town was made in    #{ms.(hd(moments) - start)} ms
a day, mean             #{ms.(Enum.sum(took) / days)} ms
a day, median           #{ms.(Enum.at(took, div(days, 2)))} ms
the longest day         #{ms.(List.last(took))} ms
bytes a person          #{hd(bytes)} at first, #{Enum.max(bytes)} at most
infectious, at most     #{run.days |> Enum.map(& &1.infectious) |> Enum.max()}
infected in all         #{people - List.last(run.days).healthy}
""")
