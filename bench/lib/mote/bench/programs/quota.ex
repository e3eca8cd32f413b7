defmodule Mote.Bench.Programs.Quota do
  # A bomb without end against a quota of 256 MB, for n milliseconds. What the node notices of it: how long two
  # processes take to answer each other, and how much memory the OS process takes at most, beyond what it had before
  # the machine was started.
  @moduledoc false

  @quota 256 * 1024 * 1024

  use Mote.Bench.Program,
    title:
      "an endless bomb against 256 MB for n milliseconds: answers of a BEAM process meanwhile, and memory",
    param: :n,
    defaults: [5_000],
    small: 100,
    metric: :us_ping_longest,
    expected: :done,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]],
    options: [mote: [memory: @quota]],
    # The bomb does not end.
    anew: [:mote],
    aborts: true,
    plot: [sizes: [2_000]]

  alias Mote.Bench.Sample

  # Milliseconds between two pings; every tenth time the bomb is lit again, whether it burns or not.
  @every 1

  defmodule Actors do
    use Mote.Behaviour

    defactor bomb() do
      n ->
        left = create bomb()
        right = create bomb()
        send left, n + 1
        send right, n + 1
    end
  end

  @impl true
  def measures_fresh(sample) do
    case Sample.per(sample.peak, sample.before, 1) do
      nil -> [peak_rss_bytes: sample.peak]
      more -> [peak_rss_bytes: sample.peak, percent_rss_of_quota: 100 * more / @quota]
    end
  end

  @impl true
  def mote(machine, n) do
    bomb = Mote.create(machine, Actors.bomb())
    [run: fn _ -> watch(machine, bomb, n) end]
  end

  defp watch(machine, bomb, n) do
    echo = spawn_link(&echo/0)
    pings = pings(bomb, echo, System.monotonic_time(:millisecond) + n, 0, [])
    send(echo, :stop)
    counters = Mote.info(machine).counters
    sorted = Enum.sort(pings, :desc)

    figures = [
      us_ping_longest: hd(sorted) / 1_000,
      us_ping_p99: Enum.at(sorted, div(length(sorted), 100)) / 1_000,
      percent_aborted: 100 * counters.aborts_no_memory / max(counters.turns, 1)
    ]

    {:figures, figures, :done}
  end

  defp echo do
    receive do
      {from, ref} ->
        send(from, ref)
        echo()

      :stop ->
        :ok
    end
  end

  defp pings(bomb, echo, until, n, pings) do
    # Accepted or refused: both are as they should be.
    if rem(n, 10) == 0, do: Mote.send(bomb, 0)
    ref = make_ref()
    start = System.monotonic_time(:nanosecond)
    send(echo, {self(), ref})

    receive do
      ^ref -> :ok
    end

    pings = [System.monotonic_time(:nanosecond) - start | pings]
    Process.sleep(@every)
    if System.monotonic_time(:millisecond) < until, do: pings(bomb, echo, until, n + 1, pings), else: pings
  end
end
