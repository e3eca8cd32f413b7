# What a dashboard costs that watches ten million actors once a second: `mix run bench/dashboard.exs [ACTORS]`, on Linux, with curl
# and with nothing else to do. About 80 seconds. The client is a program of its own, and not counted.
Code.require_file("load.exs", __DIR__)

defmodule Dashboard.Cost do
  use Mote.Behaviour

  alias Mote.Bench.{Rounds, Threads}

  @at_once 100_000
  @rounds 4
  @seconds 8

  defactor idle() do
    :never -> become idle()
  end

  defactor keeper(kept) do
    {customer, n} ->
      made = for _ <- 1..n, do: create(idle())
      send customer, n
      become keeper([made, kept])
  end

  def main(args) do
    [actors] = Rounds.numbers(args, [10_000_000])
    {:ok, machine} = Mote.start_link()
    keeper = Mote.create(machine, keeper([]))
    for _ <- 1..div(actors, @at_once)//1, do: Mote.ask!(keeper, @at_once, :infinity)
    Mote.gc(machine)
    {:ok, dashboard} = Mote.Dashboard.start_link(machine)
    url = Mote.Dashboard.url(dashboard) <> "data"
    # The first request loads the code.
    {_, 0} = System.cmd("curl", ["-sf", "-o", "/dev/null", url])
    before = pauses(machine)

    for round <- 1..@rounds do
      [alone, watched] =
        for wait <- [fn -> Process.sleep(@seconds * 1000) end, fn -> watch(url) end], do: share(wait)

      IO.puts("round #{round}: not watched #{alone} % of a core, watched #{watched} %")
    end

    IO.puts("#{Mote.info(machine).gc.live_actors} actors, #{pauses(machine) - before} pauses")
    # Up to here it keeps the actors.
    Mote.send(keeper, :end)
  end

  defp watch(url) do
    # One connection for all, as a browser has it.
    times = "?[1-#{@seconds}]"
    {_, 0} = System.cmd("curl", ["-sf", "--rate", "60/m", "-o", "/dev/null", url <> times])
  end

  # The time of this node's threads, in percent of the time that has passed.
  defp share(wait) do
    {cpu, time} = {Threads.cpu_ns(""), System.monotonic_time(:nanosecond)}
    wait.()
    Float.round(100 * (Threads.cpu_ns("") - cpu) / (System.monotonic_time(:nanosecond) - time), 3)
  end

  defp pauses(machine), do: Enum.sum(Map.values(Mote.info(machine).gc.pauses))
end

Dashboard.Cost.main(System.argv())
