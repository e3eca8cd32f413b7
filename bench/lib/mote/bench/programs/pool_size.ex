defmodule Mote.Bench.Programs.PoolSize do
  # How many should wait for a disk or a network at once? A beam sponsor runs n turns at once: each waits for 9 ms, as for a
  # read, and has about 1 ms of work, which the machine does on its threads. Too few leave cores idle; more than
  # `Mote.Sponsor.size/1` says only wait for each other: throughput stays, and the time that a request takes grows.
  @moduledoc false

  # Enough for a 99th of a hundred, and for every place to have some.
  @least 100
  @each 10

  use Mote.Bench.Program,
    title: "a beam sponsor that runs n turns at once: each waits for 9 ms and has about 1 ms of work",
    param: :n,
    defaults: [1, 2, 5, 10, 20, 40, 80],
    small: 2,
    metric: :us_per_request,
    count: &max(@least, &1 * @each),
    expected: :answered,
    machines: [pool: [main: [threads: :cores]]],
    plot: [sizes: [2, 5, 10, 20, 40, 80], full: [1, 2, 5, 10, 15, 20, 25, 30, 40, 60, 80]]

  alias Mote.Bench.Sample
  alias Mote.Bench.Programs.Fib
  alias Mote.Future

  @wait 9
  # About a millisecond.
  @work 26
  @answer 121_393

  defmodule Reader do
    use Mote.Behaviour

    # How long it took, in nanoseconds.
    defactor reader(wait, work, answer), beam: true do
      {customer, :read} ->
        start = System.monotonic_time(:nanosecond)
        Process.sleep(wait)
        ^answer = work.()
        send customer, System.monotonic_time(:nanosecond) - start
    end
  end

  @impl true
  def measures(%Sample{param: n} = sample),
    do: [{:us_per_request, Sample.stage(sample, :run).ns / count(n) / 1_000} | sample.figures]

  @impl true
  def mote(machine, n) do
    work = fn -> Future.touch(Future.future(&Fib.Actors.fib/1, [@work], machine: machine)) end
    # Loads the code.
    @answer = work.()
    sponsor = :"waiting #{n}"

    unless sponsor in Mote.sponsors(machine),
      do: :ok = Mote.add_sponsor(machine, sponsor, beam: true, max_concurrency: n)

    readers =
      for _ <- 1..count(n), do: Mote.create(machine, Reader.reader(@wait, work, @answer), sponsor: sponsor)

    [run: fn _ -> run(n, readers) end]
  end

  defp run(n, readers) do
    times = for({:ok, time} <- Mote.ask_all(readers, :read, :infinity), do: time) |> Enum.sort()
    p99 = Enum.at(times, div(length(times) * 99, 100))
    {:figures, [us_p99: p99 / 1_000], if(length(times) == count(n), do: :answered, else: {:answers, times})}
  end
end
