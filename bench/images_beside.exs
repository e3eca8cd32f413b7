# Saving a machine while it works: `mix run bench/images_beside.exs [depth] [rounds] [durable] [timers]`.
#
# With `durable` the machine is one, and its images are checkpoints. So many timers wait in it.
#
# A tree of 2^(depth + 1) - 1 actors is there, and fork bombs run one after the other beside it. A process asks a counter of the same
# machine on and on: its longest wait while an image is saved says for how long nothing went on, and the longest wait in as long a time
# without one is what to compare that with, and so is how many answers it gets a second.
defmodule Images.Beside do
  use Mote.Behaviour

  defactor tree(_left, _right) do
    {:grow, 0} ->
      become tree(0, 0)

    {:grow, n} ->
      left = create(tree(nil, nil))
      right = create(tree(nil, nil))
      send left, {:grow, n - 1}
      send right, {:grow, n - 1}
      become tree(left, right)
  end

  defactor bomb() do
    0 ->
      become bomb()

    n ->
      send create(bomb()), n - 1
      send create(bomb()), n - 1
      become bomb()
  end

  # A bomb, and the next one when that is over for most of it.
  defactor bombs(left) do
    :go ->
      send create(bomb()), 14
      send_after(2, self(), :go)
      become bombs(left + 1)

    {customer, :count} ->
      send customer, left
      become bombs(left)
  end

  # Some timers at a time, which wait for long.
  defactor waiting() do
    {customer, 0} ->
      send customer, :ok

    {customer, n} ->
      for _ <- 1..1000, do: send_after(1_000_000_000, self(), :wake)
      send self(), {customer, n - 1}
      become waiting()
  end
end

depth = String.to_integer(Enum.at(System.argv(), 0, "19"))
rounds = String.to_integer(Enum.at(System.argv(), 1, "7"))
durable? = Enum.at(System.argv(), 2) == "durable"
timers = String.to_integer(Enum.at(System.argv(), 3, "0"))
path = Path.join(System.tmp_dir!(), "mote_bench_beside.image")
File.rm_rf!(path)

{:ok, machine} = if durable?, do: Mote.start_link(durable: [dir: path]), else: Mote.start_link()

if timers > 0,
  do: :ok = Mote.ask!(Mote.create(machine, Images.Beside.waiting()), div(timers, 1000), timeout: :infinity)

first = Mote.create(machine, Images.Beside.tree(nil, nil))
Mote.send(first, {:grow, depth})
:ok = Mote.drain(machine, :infinity)
:ok = Mote.gc(machine)
live = Mote.info(machine).gc.live_bytes
bombs = Mote.create(machine, Images.Beside.bombs(0))
Mote.send(bombs, :go)

# The longest wait of a process that asks until `act` is over, in milliseconds, and how many thousand answers it gets a second.
waits = fn act ->
  task = Task.async(act)
  began = System.monotonic_time(:microsecond)

  ask = fn ask, longest, n ->
    {took, {:ok, _}} = :timer.tc(fn -> Mote.ask(bombs, :count, 60_000) end)
    longest = max(longest, took)

    case Task.yield(task, 0) do
      nil -> ask.(ask, longest, n + 1)
      {:ok, result} -> {longest / 1000, 1000 * n / (System.monotonic_time(:microsecond) - began), result}
    end
  end

  ask.(ask, 0, 1)
end

save = fn ->
  if durable?,
    do: Mote.Durable.checkpoint(machine, %{first: first}),
    else: Mote.save(machine, path, names: %{first: first})
end

turns = fn -> Mote.info(machine).counters.turns end

rows =
  for _ <- 1..rounds do
    before = turns.()

    {saved, {waited, answers, {:ok, image}}} = :timer.tc(fn -> waits.(save) end)
    ran = turns.() - before
    {without, answers_without, _} = waits.(fn -> Process.sleep(div(saved, 1000)) end)

    row = %{
      stood: image.stood_still / 1000,
      saved: saved / 1000,
      waited: waited,
      without: without,
      answers: answers,
      answers_without: answers_without,
      turns: ran / saved
    }

    row
  end

IO.puts("#{Float.round(live / 1.0e6, 1)} MB live")

for {key, unit} <- [
      stood: "ms",
      saved: "ms",
      waited: "ms",
      without: "ms",
      answers: "thousand a second",
      answers_without: "thousand a second",
      turns: "million turns a second meanwhile"
    ] do
  all = rows |> Enum.map(& &1[key]) |> Enum.sort()
  median = Enum.at(all, div(rounds, 2))

  IO.puts(
    "  #{key}: #{Float.round(median * 1.0, 1)} #{unit} (#{Float.round(hd(all) * 1.0, 1)}-#{Float.round(List.last(all) * 1.0, 1)})"
  )
end

pause = Mote.info(machine).gc.longest_pause
IO.puts("  longest pause of collections: #{Float.round(pause / 1.0e6, 1)} ms")
Mote.stop(machine)
File.rm_rf!(path)
