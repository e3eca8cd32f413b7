# 10,000 turns that sleep for 100 ms, in a beam sponsor with max_concurrency: 10_000, from the first message to the last answer;
# and the 99th of a hundred times that a question takes all that while, against that of as many questions when nothing else
# happens: `Mote.ask/3` of an actor of a native sponsor, and, for comparison, `GenServer.call/2` of a process beside another such
# round. One process asks without a pause, and counts times in steps of 10 ns. mix run bench/beam_sleep.exs [ROUNDS]
Code.require_file("load.exs", __DIR__)

defmodule BeamSleep do
  use Mote.Behaviour

  alias Mote.Bench.Rounds

  defactor sleeper(), beam: true do
    {customer, ms} ->
      Process.sleep(ms)
      send customer, :awake
  end

  defactor echo do
    {customer, request} -> send customer, request
  end

  defmodule Echo do
    use GenServer
    def init(nil), do: {:ok, nil}
    def handle_call(request, _from, nil), do: {:reply, request, nil}
  end

  @turns 10_000
  @step System.convert_time_unit(10, :nanosecond, :native)
  @steps 10_000
  # Words of the asker's heap, which is collected once in some hundred questions.
  @heap 4_096
  # How many questions there are between two looks whether it is over.
  @some 100

  def run(rounds) do
    sponsors = [main: [], io: [beam: true, max_concurrency: @turns, timeout: :infinity]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors)
    echo = Mote.create(machine, echo())
    {:ok, server} = GenServer.start_link(Echo, nil)
    ask = fn -> {:ok, 1} = Mote.ask(echo, 1) end
    call = fn -> 1 = GenServer.call(server, 1) end
    sleepers = for _ <- 1..@turns, do: Mote.create(machine, sleeper(), sponsor: :io)
    round = fn -> Mote.ask_all(sleepers, 100, 60_000) end
    times = :atomics.new(@steps + 1, [])
    # Workers are there, and code is loaded and warm.
    for what <- [ask, call], do: both(what, round, times)

    all =
      for n <- 1..rounds do
        {told(n, "Mote.ask", both(ask, round, times)), told(n, "GenServer.call", both(call, round, times))}
      end

    {asks, calls} = Enum.unzip(all)

    for {what, ratios} <- [{"Mote.ask", asks}, {"GenServer.call", calls}],
        do: IO.puts("#{what}, meanwhile against idle: #{Rounds.spread(ratios, 2)}")
  end

  # The questions of a round, and as many without one after it.
  defp both(what, round, times) do
    task = Task.async(fn -> :timer.tc(round) end)
    {count, meanwhile} = asked(what, times, fn _ -> Process.alive?(task.pid) end)
    {us, answers} = Task.await(task)
    true = Enum.all?(answers, &(&1 == {:ok, :awake}))
    # What the workers leave behind is gone.
    Process.sleep(200)
    {^count, idle} = asked(what, times, &(&1 < count))
    %{us: us, count: count, meanwhile: meanwhile, idle: idle}
  end

  # By a process that does nothing else. In that of the rounds, whose heap has grown by their answers, each new page of the heap
  # takes the system two microseconds, once in 85 questions.
  defp asked(what, times, goes_on?) do
    clear(times)
    asker = fn -> exit({:asked, ask(what, times, goes_on?, 0)}) end
    {_pid, monitor} = :erlang.spawn_opt(asker, [:monitor, min_heap_size: @heap])

    receive do
      {:DOWN, ^monitor, _, _, {:asked, count}} -> {count, p99(times)}
    end
  end

  defp told(n, what, %{us: us, count: count, idle: idle, meanwhile: meanwhile}) do
    ratio = meanwhile / idle

    IO.puts(
      "#{n}: #{div(us, 1_000)} ms for #{@turns} turns; p99 of #{count} #{what}: idle #{idle} ns, meanwhile #{meanwhile} ns, " <>
        "ratio #{Float.round(ratio, 2)}"
    )

    ratio
  end

  defp clear(times), do: for(step <- 1..(@steps + 1), do: :atomics.put(times, step, 0))

  defp p99(times) do
    counts = for step <- 1..(@steps + 1), do: :atomics.get(times, step)
    most = Enum.sum(counts) * 0.99
    step = counts |> Enum.scan(&+/2) |> Enum.find_index(&(&1 >= most))
    System.convert_time_unit(step * @step, :native, :nanosecond)
  end

  defp ask(what, times, goes_on?, count) do
    for _ <- 1..@some do
      start = now()
      what.()
      :atomics.add(times, min(div(now() - start, @step), @steps) + 1, 1)
    end

    count = count + @some
    if goes_on?.(count), do: ask(what, times, goes_on?, count), else: count
  end

  # `System.monotonic_time/1` takes nine reductions, twice as many for each question as the rest of it: whoever asks would be
  # interrupted that often by the scheduler, for the clock.
  defp now, do: :erlang.monotonic_time()
end

[rounds] = Mote.Bench.Rounds.numbers(System.argv(), [7])
BeamSleep.run(rounds)
