defmodule Mote.Bench.Programs.Churn do
  # Create, send, forget: n actors that live for one turn each, of which nobody keeps any. What it costs, and whether
  # the memory of the OS process stays where it was after the first twentieth. `--n 1000000000` takes half a minute.
  @moduledoc false

  # How often it says how far it is, and how many actors it makes in a turn.
  @parts 20
  @at_once 100

  use Mote.Bench.Program,
    title: "n actors that live for a turn: time, and memory over time",
    param: :n,
    defaults: [100_000_000],
    small: 2_000,
    metric: :ns_per_actor,
    count: &(turns(&1) * @parts * @at_once),
    expected: :done,
    machines: [mote: [main: [threads: 1]]],
    plot: [sizes: [20_000_000]]

  alias Mote.Bench.{Memory, Sample}

  defmodule Actors do
    use Mote.Behaviour

    defactor mayfly(parent) do
      _ -> parent
    end

    defactor driver(customer, turns, parts) do
      left when left > 0 ->
        for _ <- 1..100, do: send(create(mayfly(customer)), :live)
        send self(), left - 1

      _ when parts > 1 ->
        send customer, :part
        become driver(customer, turns, parts - 1)
        send self(), turns

      _ ->
        send customer, :done
    end
  end

  defp turns(n), do: max(div(n, @parts * @at_once), 1)

  @impl true
  def measures_fresh(sample), do: [peak_rss_bytes: sample.peak]

  @impl true
  def measures(sample),
    do: [{:ns_per_actor, Sample.ns(sample) / count(sample.param)} | sample.figures]

  @impl true
  def mote(machine, n) do
    driver = Mote.create(machine, Actors.driver(self(), turns(n), @parts))

    [
      run: fn _ ->
        Mote.send(driver, turns(n))
        watch(nil, 0)
      end
    ]
  end

  defp watch(first, most) do
    receive do
      word ->
        rss = Memory.rss() || 0
        {first, most} = {first || rss, max(most, rss)}
        if word == :done, do: figures(first, most), else: watch(first, most)
    end
  end

  defp figures(0, _most), do: {:figures, [], :done}

  defp figures(first, most) do
    {:figures, [percent_rss_growth: 100 * (most - first) / first, rss_bytes: most], :done}
  end
end
