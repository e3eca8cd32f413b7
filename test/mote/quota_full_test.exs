defmodule Mote.QuotaFullTest do
  # A full machine stays usable (guides/internals/heap.md, "A full machine"): however it was filled, what frees something is taken
  # after a few collections. Collections are counted, not time.
  use ExUnit.Case
  import Mote.{Long, OwnFolder}

  alias Mote.Directory
  alias Mote.QuotaRig.Actors

  @moduletag capture_log: true
  @moduletag timeout: 600_000

  setup :own_folder

  # A message enters after one of them, and its turn may need others: those that move cells come in pairs.
  @collections 8

  test "a machine that was filled to the brim takes what makes it let go of everything" do
    for _ <- 1..if(long?(), do: 40, else: 3), do: filled_and_emptied(any_case())
  end

  test "a small machine that was filled as long as it took anything does as well" do
    for megabytes <- [12, 16],
        do: filled_and_emptied(%{any_case() | megabytes: megabytes, by: :ask, refusals: 100})
  end

  # Its few blocks are nearly dense, and those of actors and of callers nearly empty: none of them alone is worth moving.
  test "a small machine whose blocks together leave little more than one does as well" do
    small = %{megabytes: 16, threads: 1, shards: 64, by: :ask, kinds: [:list, :text], refusals: 100}
    filled_and_emptied(Map.merge(any_case(), small))
  end

  # It holds more than machines may take, and so does the one that goes on from its image.
  test "a full machine goes on from an image with the memory that it had, and is as usable", %{dir: dir} do
    for n <- 1..if(long?(), do: 20, else: 3),
        do: filled_and_emptied(Map.put(any_case(), :image, "#{dir}.#{n}"))
  end

  defp any_case do
    %{
      image: nil,
      megabytes: Enum.random(12..64),
      threads: Enum.random(1..2),
      shards: Enum.random([1, 16, 64]),
      by: Enum.random([:send, :ask]),
      kinds: Enum.take_random([:short, :text, :long, :list, :map], Enum.random(1..3)),
      # Whoever fills it goes on after so many refusals, each time after a collection.
      refusals: Enum.random([1, 10, 100])
    }
  end

  defp filled_and_emptied(full) do
    bytes = full.megabytes * 1024 * 1024
    options = [memory: bytes, sponsors: [main: [threads: full.threads]]]
    {:ok, machine} = Mote.start_link(options)
    directory = Directory.start(machine, Actors.keepsakes(), shards: full.shards)
    keys = Enum.shuffle(1..put(machine, directory, full, 1, full.refusals))

    {machine, directory} =
      if full.image, do: again(full.image, options, machine, directory), else: {machine, directory}

    # What it has accepted it does first, a little after each collection.
    :ok = Mote.drain(machine, 300_000)
    for key <- keys, do: assert(is_boolean(taken(machine, full, fn -> Directory.delete(directory, key) end)))
    assert {taken(machine, full, fn -> Directory.count(directory) end), full} == {0, full}
    assert :ok = Directory.send(directory, 1, {:keep, :something})
    :ok = Mote.stop(machine)
  end

  defp again(image, options, machine, directory) do
    {:ok, _image} = Mote.save(machine, image, names: %{directory: directory})
    :ok = Mote.stop(machine)
    {:ok, machine} = Mote.start_link([image: image] ++ options)
    File.rm!(image)
    {machine, Mote.names(machine).directory}
  end

  # Fills the directory until something was refused that often. Returns the last key.
  defp put(_machine, _directory, _full, key, 0), do: key

  defp put(machine, directory, full, key, refusals) do
    case attempt(fn -> filled(full.by, directory, key, kept(Enum.random(full.kinds), key)) end) do
      :refused ->
        :ok = Mote.gc(machine)
        put(machine, directory, full, key, refusals - 1)

      _taken ->
        put(machine, directory, full, key + 1, refusals)
    end
  end

  defp filled(:send, directory, key, kept), do: Directory.send(directory, key, {:keep, kept})
  defp filled(:ask, directory, key, kept), do: Directory.ask(directory, key, {:keep, kept})

  defp kept(:short, key), do: key
  defp kept(:text, key), do: String.duplicate("x", rem(key, 256))
  defp kept(:long, key), do: String.duplicate("x", rem(key, 3_000))
  defp kept(:list, key), do: Enum.to_list(1..rem(key, 100)//1)
  defp kept(:map, key), do: Map.new(1..rem(key, 60)//1, &{&1, &1})

  defp taken(machine, full, fun, collections \\ 0) do
    with :refused <- attempt(fun) do
      assert {collections < @collections, full} == {true, full}
      :ok = Mote.gc(machine)
      taken(machine, full, fun, collections + 1)
    end
  end

  # Refused as a message, or accepted and then aborted.
  defp attempt(fun) do
    with {:error, %Mote.Error{reason: reason}} when reason in [:no_memory, :aborted] <- fun.(), do: :refused
  rescue
    error in Mote.Error ->
      if error.reason in [:no_memory, :aborted], do: :refused, else: reraise(error, __STACKTRACE__)
  end
end
