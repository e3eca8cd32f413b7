defmodule FileIndexer do
  @moduledoc """
  Walks a tree of files and hashes each of them: real I/O in actors.

      {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true, max_concurrency: 32]])
      {:ok, index} = FileIndexer.index(machine, "lib")
      index.files["mote.ex"]
      #=> {:ok, 25_104, <<…>>}

  Folders and files are read in a beam sponsor, as many at once as it allows; the report is put together in the native one. An
  actor for each folder and each file would be no problem either, but here the paths are the messages: a walker and a hasher are
  created for each, do one thing, and are gone.
  """

  use Mote.Behaviour

  @part 64 * 1024

  @type file :: {:ok, bytes :: non_neg_integer, sha256 :: binary} | {:error, File.posix()}
  @type index :: %{files: %{Path.t() => file}, errors: [{Path.t(), File.posix()}]}

  @doc "The index of a tree, by paths relative to its root."
  @spec index(Mote.Machine.t(), Path.t(), timeout) :: {:ok, index} | {:error, Mote.Error.t()}
  def index(machine, root, timeout \\ 60_000) do
    machine |> Mote.create(start(), sponsor: :main) |> Mote.ask({root, :io}, timeout)
  end

  # Begins with the root, for whoever asks.
  defactor start do
    {customer, {root, sponsor}} ->
      create_walker(root, "", sponsor, self())
      become report(customer, sponsor, root, 1, %{}, [])
  end

  # Puts together what is found. `open` is how many folders and files have not told yet.
  defactor report(customer, sponsor, root, open, files, errors) do
    {:folder, folders, found} ->
      for path <- folders, do: create_walker(root, path, sponsor, self())
      for path <- found, do: create_hasher(root, path, sponsor, self())
      told(customer, sponsor, root, open - 1 + length(folders) + length(found), files, errors)

    {:unreadable, path, why} ->
      told(customer, sponsor, root, open - 1, files, [{path, why} | errors])

    {:file, path, what} ->
      told(customer, sponsor, root, open - 1, Map.put(files, path, what), errors)
  end

  defeffect create_walker(root, path, sponsor, report) do
    walker = create walker(root, report), sponsor: sponsor
    send walker, {:walk, path}
  end

  defeffect create_hasher(root, path, sponsor, report) do
    hasher = create hasher(root, report), sponsor: sponsor
    send hasher, {:hash, path}
  end

  defeffect told(customer, _sponsor, _root, 0, files, errors) do
    send customer, %{files: files, errors: errors}
    become sink()
  end

  defeffect told(customer, sponsor, root, open, files, errors) do
    become report(customer, sponsor, root, open, files, errors)
  end

  @doc "Reads one folder. Links are left out: they may lead in a circle."
  defactor walker(root, report), beam: true do
    {:walk, path} ->
      full = Path.join(root, path)

      case File.ls(full) do
        {:ok, names} ->
          paths = for name <- Enum.sort(names), do: if(path == "", do: name, else: Path.join(path, name))
          kinds = Enum.group_by(paths, &kind(Path.join(root, &1)))
          send report, {:folder, Map.get(kinds, :directory, []), Map.get(kinds, :regular, [])}

        {:error, why} ->
          send report, {:unreadable, path, why}
      end
  end

  @doc "Hashes one file, part by part."
  defactor hasher(root, report), beam: true do
    {:hash, path} ->
      send report, {:file, path, hash(Path.join(root, path))}
  end

  defp kind(path) do
    case File.lstat(path) do
      {:ok, %File.Stat{type: type}} -> type
      {:error, _gone} -> :gone
    end
  end

  defp hash(path) do
    # The file is linked to the turn, and closed with it whatever happens.
    with {:ok, file} <- File.open(path, [:read, :raw, :binary, :read_ahead]) do
      hash(file, :crypto.hash_init(:sha256), 0)
    end
  end

  defp hash(file, state, bytes) do
    case :file.read(file, @part) do
      {:ok, part} -> hash(file, :crypto.hash_update(state, part), bytes + byte_size(part))
      :eof -> {:ok, bytes, :crypto.hash_final(state)}
      {:error, why} -> {:error, why}
    end
  end
end
