defmodule StoreCacheTest do
  use ExUnit.Case, async: true

  setup %{tmp_dir: folder} do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], disk: [beam: true]])
    path = Path.join(folder, "store.dets")
    %{machine: machine, path: path, cache: StoreCache.start(machine, path, 3)}
  end

  defp ask!(actor, request), do: Mote.ask!(actor, request, 30_000)

  @tag :tmp_dir
  test "what was put is read, by another cache too", %{machine: machine, path: path, cache: cache} do
    assert ask!(cache, {:get, 1}) == :error
    for n <- 1..10, do: assert(ask!(cache, {:put, n, n * n}) == :ok)
    for n <- 1..10, do: assert(ask!(cache, {:get, n}) == {:ok, n * n})
    assert machine |> StoreCache.start(path, 3) |> ask!({:get, 7}) == {:ok, 49}
  end

  @tag :tmp_dir
  test "of many who ask for a key one reads it", %{machine: machine, cache: cache} do
    assert ask!(cache, {:put, :key, :value}) == :ok
    before = Mote.info(machine).sponsors.disk.threads |> hd() |> Map.fetch!(:turns)
    asks = for _ <- 1..50, do: Mote.async(cache, {:get, :key})
    assert asks |> Mote.await_many(30_000) |> Enum.uniq() == [{:ok, :value}]
    assert :ok = Mote.drain(machine, 30_000)
    after_all = Mote.info(machine).sponsors.disk.threads |> hd() |> Map.fetch!(:turns)
    assert (after_all - before) in 1..50
  end
end
