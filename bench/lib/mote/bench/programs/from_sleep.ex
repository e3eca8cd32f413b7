defmodule Mote.Bench.Programs.FromSleep do
  # What one request takes of a machine that sleeps: an erfc bomb each time, after a pause in which every thread has fallen
  # asleep. A service with little to do is in this state whenever something comes.
  #
  # Threads wait for work for a fifth of a millisecond before they sleep, and collect after one without any, so the pause is
  # longer than both. The time is the median of the requests of a run, from the send to the answer. So waking is part of it:
  # that of the thread which takes the message, that of a second one, and that of the asker.
  @moduledoc false

  alias Mote.Bench.{Measure, Programs.ErfcBomb}

  use Mote.Bench.Program,
    title: "single erfc bombs, each sent to threads that have slept",
    param: :depth,
    defaults: [4],
    small: 1,
    metric: :us_per_leaf,
    count: &ErfcBomb.count/1,
    expected: :plausible,
    measures: & &1.figures

  @requests 40
  # Milliseconds.
  @pause 3

  @impl true
  def mote(machine, depth) do
    roots = for _ <- 1..@requests, do: Mote.create(machine, ErfcBomb.Actors.node(self()))
    [requests: fn _ -> requests(roots, depth) end]
  end

  defp requests(roots, depth) do
    {times, results} = roots |> Enum.map(&request(&1, depth)) |> Enum.unzip()
    us = Measure.median(times) / 1_000 / count(depth)
    {:figures, [us_per_leaf: us], Enum.find(results, :plausible, &(&1 != :plausible))}
  end

  defp request(root, depth) do
    Process.sleep(@pause)
    start = System.monotonic_time()
    sum = answer(fn -> Mote.send(root, depth) end)
    time = System.monotonic_time() - start
    {System.convert_time_unit(time, :native, :nanosecond), ErfcBomb.judge(sum, depth)}
  end
end
