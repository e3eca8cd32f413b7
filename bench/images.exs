# Saving a machine of a million actors and going on from the image: `mix run bench/images.exs [rounds]`.
#
# Each round saves, restores and copies as many bytes as are live, one after the other; the medians are printed. `tree` is
# actors that hold two others each, `counters` a list of actors that hold a number each.
defmodule Images do
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

  defactor counter(n) do
    :add -> become counter(n + 1)
  end

  defactor counters(all) do
    {:grow, 0} ->
      become counters(all)

    {:grow, n} ->
      send self(), {:grow, n - 1}
      become counters([create(counter(n)) | all])
  end
end

rounds = String.to_integer(Enum.at(System.argv(), 0, "9"))
path = Path.join(System.tmp_dir!(), "mote_bench.image")

rss = fn ->
  [_, kilobytes] = Regex.run(~r/VmRSS:\s+(\d+)/, File.read!("/proc/self/status"))
  div(String.to_integer(kilobytes), 1024)
end

took = fn act ->
  {microseconds, result} = :timer.tc(act)
  {microseconds / 1000, result}
end

for {what, behaviour, depth} <- [
      {"tree", Images.tree(nil, nil), 19},
      {"counters", Images.counters([]), 1_000_000}
    ] do
  {:ok, machine} = Mote.start_link()
  first = Mote.create(machine, behaviour)
  Mote.send(first, {:grow, depth})
  :ok = Mote.drain(machine, :infinity)
  :ok = Mote.gc(machine)
  live = Mote.info(machine).gc.live_bytes
  bytes = :binary.copy(<<1>>, live)
  before = rss.()

  rows =
    for _ <- 1..rounds do
      {saved, {:ok, image}} = took.(fn -> Mote.save(machine, path, names: %{first: first}) end)
      {copied, _} = took.(fn -> :binary.copy(bytes) end)
      {restored, {:ok, other}} = took.(fn -> Mote.start_link(image: path) end)
      more = rss.() - before
      Mote.stop(other)
      {image, %{stood: image.stood_still / 1000, saved: saved, restored: restored, copied: copied, rss: more}}
    end

  [{image, _} | _] = rows

  IO.puts(
    "#{what}: #{image.actors} actors, #{image.cells} cells, #{Float.round(live / 1.0e6, 1)} MB live, " <>
      "#{Float.round(image.bytes / 1.0e6, 1)} MB in the file"
  )

  for {key, unit} <- [stood: "ms", saved: "ms", restored: "ms", copied: "ms", rss: "MB"] do
    all = rows |> Enum.map(fn {_, row} -> row[key] end) |> Enum.sort()
    median = Enum.at(all, div(rounds, 2))

    IO.puts(
      "  #{key}: #{Float.round(median * 1.0, 1)} #{unit} (#{Float.round(hd(all) * 1.0, 1)}-#{Float.round(List.last(all) * 1.0, 1)})"
    )
  end

  Mote.stop(machine)
end

File.rm!(path)
