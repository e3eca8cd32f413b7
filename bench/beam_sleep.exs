# 10,000 turns that sleep for 100 ms, in a beam sponsor with max_concurrency: 10_000; and what `Mote.ask/3` of a native sponsor
# takes meanwhile, against what it takes when nothing else happens. In bench/: mix run beam_sleep.exs
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

  def run do
    sponsors = [main: [], io: [beam: true, max_concurrency: @turns, timeout: :infinity]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors)
    echo = Mote.create(machine, echo())
    sleepers = for _ <- 1..@turns, do: Mote.create(machine, sleeper(), sponsor: :io)
    round = fn -> Mote.ask_all(sleepers, 100, 60_000) end
    # Workers are there, and code is loaded.
    round.()
    asked(echo, 2_000)

    for n <- 1..5 do
      idle = asked(echo, 5_000)
      {us, answers} = :timer.tc(round)
      true = Enum.all?(answers, &(&1 == {:ok, :awake}))
      task = Task.async(round)
      # Once they sleep.
      wait(fn -> Mote.info(machine).sponsors.io.running == @turns end)
      meanwhile = asked(echo, 500)
      Task.await(task, :infinity)

      IO.puts(
        "#{n}: #{div(us, 1_000)} ms for #{@turns} turns; p99 of ask: idle #{idle} us, meanwhile #{meanwhile} us, " <>
          "ratio #{Float.round(meanwhile / idle, 2)}"
      )
    end
  end

  defp asked(echo, n) do
    times =
      for i <- 1..n do
        start = System.monotonic_time(:nanosecond)
        {:ok, ^i} = Mote.ask(echo, i)
        System.monotonic_time(:nanosecond) - start
      end

    (times |> Enum.sort() |> Enum.at(div(n * 99, 100))) / 1_000
  end

  defp wait(fun), do: if(fun.(), do: :ok, else: wait(fun))
end

BeamSleep.run()
