# 10,000 turns that sleep for 100 ms, in a beam sponsor with max_concurrency: 10_000, from the first message to the last answer;
# and what `Mote.ask/3` of a native sponsor takes all that while, against what it takes when nothing else happens. One process
# asks without a pause, and counts times in steps of 50 ns. In bench/: mix run beam_sleep.exs
defmodule BeamSleep do
  use Mote.Behaviour

  defactor sleeper(), beam: true do
    {customer, ms} ->
      Process.sleep(ms)
      send customer, :awake
  end

  defactor echo do
    {customer, request} -> send customer, request
  end

  @turns 10_000
  @rounds 7
  @step 50
  @steps 10_000
  @idle 160_000_000

  def run do
    sponsors = [main: [], io: [beam: true, max_concurrency: @turns, timeout: :infinity]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors)
    echo = Mote.create(machine, echo())
    sleepers = for _ <- 1..@turns, do: Mote.create(machine, sleeper(), sponsor: :io)
    round = fn -> Mote.ask_all(sleepers, 100, 60_000) end
    # Workers are there, and code is loaded.
    round.()
    # Collecting garbage of the asker's is not to be measured: there is none.
    times = :atomics.new(@steps + 1, [])

    for n <- 1..@rounds do
      start = now()
      idle = asked(echo, times, fn -> now() - start < @idle end)
      task = Task.async(fn -> :timer.tc(round) end)
      meanwhile = asked(echo, times, fn -> Process.alive?(task.pid) end)
      {us, answers} = Task.await(task)
      true = Enum.all?(answers, &(&1 == {:ok, :awake}))

      IO.puts(
        "#{n}: #{div(us, 1_000)} ms for #{@turns} turns; p99 of ask: idle #{idle} ns, meanwhile #{meanwhile} ns, " <>
          "ratio #{Float.round(meanwhile / idle, 2)}"
      )
    end
  end

  # The 99th of a hundred of the times that asking took as long as it was to go on.
  defp asked(echo, times, goes_on?) do
    for step <- 1..(@steps + 1), do: :atomics.put(times, step, 0)
    ask(echo, times, goes_on?)
    counts = for step <- 1..(@steps + 1), do: :atomics.get(times, step)
    most = Enum.sum(counts) * 0.99
    (counts |> Enum.scan(&+/2) |> Enum.find_index(&(&1 >= most))) * @step
  end

  defp ask(echo, times, goes_on?) do
    for _ <- 1..100 do
      start = now()
      {:ok, 1} = Mote.ask(echo, 1)
      :atomics.add(times, min(div(now() - start, @step), @steps) + 1, 1)
    end

    if goes_on?.(), do: ask(echo, times, goes_on?)
  end

  defp now, do: System.monotonic_time(:nanosecond)
end

BeamSleep.run()
