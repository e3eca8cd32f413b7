defmodule Mote.Durable.Folder do
  # The folder of a durable machine: its images and journals, its lock, and bringing a machine to the last entry in it.
  #
  # 1. A journal goes on from the image with its number. If the machine ended before it had the next image, the next
  #    journals go on from that journal.
  # 2. At any moment the newest whole image, with the journals from its number on, is the state of the machine. Older
  #    files go only when the next image and its journal are on the disk.
  # 3. The holder of the file `lock` in the folder has the folder. A machine whose file is not the one in the folder
  #    any more writes nothing there.
  @moduledoc false

  require Logger

  alias Mote.{Durable, Error, Image, Machine, Native}
  alias Mote.Durable.Standby
  alias Mote.Machine.{MemoryOptions, Options, Postman, Question}

  # Milliseconds for which the folder of a machine is waited for that has just ended on this node, and between two looks.
  @patience 5_000
  @again 20

  # The image of what a machine has come to that has run its journals again.
  @recovered "recovered"

  # What is kept of the last journal of which the end was not whole.
  @torn "torn"

  @typedoc """
  The folder that a machine has, the number of its next image, and what it goes on from: an image, if there was one, so many entries of
  journals, and the native time that it took to come that far.
  """
  @type opened :: %{
          options: Durable.t(),
          lock: {reference, inode :: non_neg_integer},
          number: pos_integer,
          told: {non_neg_integer, non_neg_integer},
          from: %{image: pos_integer | nil, entries: non_neg_integer, duration: integer}
        }

  @doc """
  Makes the folder the calling process's, and brings what is in it to its last entry. Returns the options of a machine that goes on from
  there.
  """
  @spec open(map) :: {:ok, opened | nil, map} | {:error, Error.t()}
  def open(%{durable: nil} = config), do: {:ok, nil, config}

  def open(%{durable: %{dir: dir, take_over: take_over?} = options} = config) do
    with :ok <- Standby.allows(dir, take_over?),
         {:ok, lock} <- own(dir, take_over?),
         :ok <- Standby.settled(dir),
         {:ok, %{inode: inode}} <- File.stat(lock_file(dir)),
         :ok <- tidy(dir),
         {:ok, images, journals} <- list(dir),
         began = System.monotonic_time(),
         {:ok, config, number, told, entries} <- last(dir, images, journals, config) do
      from = %{
        image: Enum.max(images, fn -> nil end),
        entries: entries,
        duration: System.monotonic_time() - began
      }

      {:ok, %{options: options, lock: {lock, inode}, number: number + 1, told: told, from: from}, config}
    else
      {:error, posix} when is_atom(posix) -> {:error, error(lock_file(dir), :file.format_error(posix))}
      {:error, error} -> {:error, error}
    end
  end

  @doc "Returns whether a folder that was opened is still that machine's."
  @spec held(opened) :: :ok | {:error, Error.t()}
  def held(%{options: %{dir: dir}, lock: {_lock, inode}}) do
    case File.stat(lock_file(dir)) do
      {:ok, %{inode: ^inode}} ->
        :ok

      _ ->
        {:error, error(lock_file(dir), "this file was removed, so the folder is not this machine's any more")}
    end
  end

  defp lock_file(dir), do: Path.join(dir, "lock")

  @doc "Makes a folder, and makes it the calling process's: the lock is to be held. One that a copy goes to is given up by that, if said so."
  @spec own(String.t(), boolean) :: {:ok, reference} | {:error, Error.t()}
  def own(dir, take_over? \\ false) do
    case File.mkdir_p(dir) do
      :ok -> lock(dir, take_over?, @patience)
      {:error, posix} -> {:error, error(dir, :file.format_error(posix))}
    end
  end

  defp lock(dir, take_over?, patience) do
    path = lock_file(dir)

    case Native.journal_lock(path, "#{System.pid()} #{inspect(self())}") do
      {:ok, lock} ->
        {:ok, lock}

      {:taken, who} ->
        # A machine that was killed has it until its threads have ended.
        if patience > 0 and free?(who, take_over?) do
          Process.sleep(@again)
          lock(dir, take_over?, patience - @again)
        else
          {:error, taken(dir, who)}
        end

      {:error, text} ->
        {:error, error(path, to_string(text))}
    end
  end

  # Whether a folder that somebody has will soon be nobody's.
  defp free?(who, take_over?) do
    with [system, pid] <- String.split(who, " ") do
      pid = if system == System.pid(), do: process(pid)
      pid != nil and (not Process.alive?(pid) or (take_over? and Standby.give_up(pid)))
    else
      _ -> true
    end
  end

  defp process("#PID" <> pid) do
    pid |> String.to_charlist() |> :erlang.list_to_pid()
  rescue
    ArgumentError -> nil
  end

  defp taken(dir, who) do
    {system, pid} =
      case String.split(who, " ") do
        [system, pid] -> {system, pid}
        _ -> {"unknown", "unknown"}
      end

    message =
      "#{dir} is the folder of another machine, which runs: process #{pid} of the system's process #{system}"

    Error.new(:dir_taken, message, dir: dir, system_pid: system, pid: pid)
  end

  @doc "Numbers of the images that are whole, and of the journals."
  @spec list(String.t()) :: {:ok, [pos_integer], [pos_integer]} | {:error, Error.t()}
  def list(dir) do
    with {:ok, names} <- names(dir), do: {:ok, numbers(names, ".image"), numbers(names, ".journal")}
  end

  @doc "Removes what files had become that were not finished."
  @spec tidy(String.t()) :: :ok | {:error, Error.t()}
  def tidy(dir) do
    with {:ok, names} <- names(dir) do
      for name <- names, Path.extname(name) == ".part", do: File.rm(Path.join(dir, name))
      :ok
    end
  end

  @doc "Names of what is in a folder."
  @spec names(String.t()) :: {:ok, [String.t()]} | {:error, Error.t()}
  def names(dir) do
    with {:error, posix} <- File.ls(dir), do: {:error, error(dir, :file.format_error(posix))}
  end

  @doc "Numbers of the files among these names that have that extension."
  @spec numbers([String.t()], String.t()) :: [non_neg_integer]
  def numbers(names, extension) do
    for name <- names,
        Path.extname(name) == extension,
        {number, ""} <- [name |> Path.rootname() |> Integer.parse()],
        do: number
  end

  # A journal without an image is of a machine that ended before it had begun.
  defp last(dir, images, journals, config) do
    newest = Enum.max(images ++ journals, fn -> 0 end)

    if images == [] do
      first(dir, journals, newest, config)
    else
      number = Enum.max(images)
      path = image(dir, number)

      with {:ok, image} <- Image.read(path),
           config = identified(config, image.identity),
           {:ok, abouts, cut} <- abouts(dir, number, journals, config) do
        entries = for {_path, n, _told} <- abouts, reduce: 0, do: (sum -> sum + n)
        {torn, _n, told} = List.last(abouts)
        if cut, do: torn(dir, torn, cut, config.title)

        if entries == 0 and image.events == 0 and length(abouts) == 1 do
          {:ok, %{config | image: path}, newest, told, 0}
        else
          Logger.notice("machine #{config.title} runs again what came in after #{path}: #{entries} entries")
          journals = for {path, _n, _told} <- abouts, do: path

          with {:ok, config, told} <- run_again(dir, config, path, journals),
               do: {:ok, config, newest, told, entries}
        end
      end
    end
  end

  # What was being written last when the machine ended was not acknowledged; what somebody has destroyed looks the same. So it is kept.
  defp torn(dir, journal, cut, title) do
    with {:ok, %{size: size}} when size > cut <- File.stat(journal) do
      copied = File.cp(journal, Path.join(dir, @torn))

      Logger.warning(
        "machine #{title}: #{journal}: from byte #{cut} on, the last #{size - cut} bytes are no whole entry, and are left out" <>
          if(copied == :ok, do: "; #{@torn} beside it is a copy", else: "")
      )
    end
  end

  defp first(_dir, [], _newest, config), do: {:ok, identified(config, nil), 0, {0, 0}, 0}

  defp first(dir, journals, newest, config) do
    path = journal(dir, Enum.min(journals))

    case Native.journal_about(path) do
      {:ok, {0, _fuel, _told, false, _cut}} -> {:ok, identified(config, nil), newest, {0, 0}, 0}
      {:ok, _about} -> {:error, error(path, "the image that this journal goes on from is not there")}
      {:error, text} -> {:error, error(path, text)}
    end
  end

  @doc "The options with an identity: the one that the machine had for its addresses before; a new one is called as its folder."
  @spec identified(map, String.t() | nil) :: map
  def identified(%{identity: nil, durable: %{dir: dir}} = config, identity),
    do: %{config | identity: identity || named_as(dir)}

  def identified(config, _identity), do: config

  # A path can be longer than an identity, and need not be a text.
  defp named_as(dir) do
    if byte_size(dir) <= 255 and String.valid?(dir),
      do: Options.identity!(dir),
      else: dir |> :erlang.md5() |> Base.encode16(case: :lower)
  end

  # Of the journal that goes on from an image, and those that go on from that one: there are more where the machine ended before it
  # had the next image. What a start has left that was not finished is none of these.
  defp abouts(dir, number, journals, config) do
    later = journals |> Enum.filter(&(&1 > number)) |> Enum.sort()

    if number in journals do
      with {:ok, about, cut} <- about(journal(dir, number), config, true) do
        Enum.reduce_while(later, {:ok, [about], number, cut}, &another(dir, config, &1, &2)) |> abouts()
      end
    else
      {:error, error(journal(dir, number), "the journal that goes on from the image is not there")}
    end
  end

  defp abouts({:ok, abouts, _last, cut}), do: {:ok, Enum.reverse(abouts), cut}
  defp abouts({:error, error}), do: {:error, error}

  defp another(dir, config, n, {:ok, abouts, last, cut}) do
    {path, _entries, _told} = hd(abouts)

    case about(journal(dir, n), config) do
      {:begins, _} ->
        {:cont, {:ok, abouts, last, cut}}

      {:ok, _about, _cut} when n != last + 1 ->
        {:halt,
         {:error,
          error(journal(dir, last + 1), "this journal is not there, and the next one goes on from it")}}

      {:ok, _about, _cut} when cut != nil ->
        {:halt,
         {:error,
          error(path, "at byte #{cut}: an entry is not whole, and another journal goes on from there")}}

      {:ok, about, cut} ->
        {:cont, {:ok, [about | abouts], n, cut}}

      {:error, error} ->
        {:halt, {:error, error}}
    end
  end

  defp about(path, %{fuel: fuel}, first? \\ false) do
    case Native.journal_about(path) do
      {:ok, {_entries, other, _told, _continues?, _cut}} when other != fuel ->
        {:error,
         error(
           path,
           "the machine was started with fuel: #{other}, and is now with fuel: #{fuel}: start it once with the former"
         )}

      {:ok, {entries, _fuel, _told, false, _cut}} when not first? ->
        {:begins, entries}

      {:ok, {entries, _fuel, told, _continues?, cut}} ->
        {:ok, {path, entries, told}, cut}

      {:error, text} ->
        {:error, error(path, text)}
    end
  end

  # In a machine of its own, which tells nobody anything: what it has come to is the image that the new machine goes on from.
  defp run_again(dir, config, image, journals) do
    %{sponsors: sponsors, fuel: fuel, memory: memory, gc: gc, tier: tier} = config

    # Twice the memory: it once was enough, but when something is collected is another moment now. The new machine has as much as it asks for.
    case Native.machine_start("again", sponsors, fuel, MemoryOptions.twice(memory), gc, {:system, nil, tier}) do
      {:ok, native} ->
        {:ok, postman} = Postman.start_link(native)
        # What comes by addresses of earlier lives is for the machine that goes on.
        Native.machine_close(native)

        try do
          # Without a number: no journal goes on from it.
          path = Path.join(dir, @recovered)
          context = [path: path, survey: true]

          with :ok <- prepare(native, hd(journals)),
               :ok <- Machine.claim(native, config),
               {:ok, names} <- Image.restore_as_it_was(native, image),
               {:ok, ran} <- run(native, journals, context),
               {:ok, told} <- ran(ran),
               :ok <- saved(native, path, names) do
            {:ok, %{config | image: path, resolve: of_another_start(config.resolve)}, told}
          end
        after
          Native.machine_stop(native)
          Native.machine_join(native)
          Postman.finish(postman)
          forget_reports()
        end

      {:error, text} ->
        {:error, Error.new(:start, "the machine could not start: #{text}", config: config)}
    end
  end

  defp saved(native, path, names) do
    case Image.save(native, path, names, :infinity) do
      {:ok, _image} ->
        :ok

      {:error, why} ->
        {:error, error(path, "no image of what the machine has come to: #{Exception.message(why)}")}
    end
  end

  # A machine that ends meanwhile has told why before.
  defp run(native, journals, context) do
    with {:error, error} <-
           Question.put(native, :infinity, context, &Native.journal_run(native, journals, &1)) do
      receive do
        {:mote_fault, _sponsor, _behaviour, _kind, text} ->
          {:error, error(hd(journals), "the machine ended while it ran this journal again: #{text}")}
      after
        @patience -> {:error, error}
      end
    end
  end

  # This node has written the image, and yet its processes are not those that the journal names.
  defp of_another_start(nil), do: nil
  defp of_another_start(resolve), do: &resolve.(Image.of_another_start(&1))

  defp prepare(native, path) do
    with {:error, text} <- Native.journal_prepare(native, path), do: {:error, error(path, text)}
  end

  defp ran({:ok, told}), do: {:ok, told}
  defp ran({:error, {path, text}}), do: {:error, error(path, text)}

  # A fault is what the question has been told, and reports are of the life before.
  defp forget_reports do
    receive do
      message when is_tuple(message) and elem(message, 0) in [:mote_fault, :mote_aborted] -> forget_reports()
    after
      0 -> :ok
    end
  end

  @doc "Makes the image and begins the journal with that number; older ones go. From then on the folder is no copy's."
  @spec begin(reference, opened, map) :: {:ok, Image.t()} | {:error, Error.t()}
  def begin(native, %{options: options, lock: {lock, _inode}, number: number, told: told} = opened, names) do
    %{dir: dir, sync: sync, numbered: numbered} = options
    paths = {lock, image(dir, number), journal(dir, number)}

    with :ok <- held(opened),
         {:ok, image} <- Image.save_and_begin(native, paths, {number, {sync, numbered}, told}, names),
         :ok <- forget(dir, number),
         :ok <- Standby.taken_over(dir) do
      File.rm(Path.join(dir, @recovered))
      {:ok, image}
    end
  end

  @doc "Removes what is older than the image with that number."
  @spec forget(String.t(), pos_integer) :: :ok | {:error, Error.t()}
  def forget(dir, number) do
    with {:ok, images, journals} <- list(dir) do
      for n <- images, n < number, do: File.rm(image(dir, n))
      for n <- journals, n < number, do: File.rm(journal(dir, n))
      :ok
    end
  end

  @doc "The file of an image."
  @spec image(String.t(), pos_integer) :: String.t()
  def image(dir, number), do: file(dir, number, ".image")

  @doc "The file of a journal."
  @spec journal(String.t(), pos_integer) :: String.t()
  def journal(dir, number), do: file(dir, number, ".journal")

  @doc "The file with that number and extension."
  @spec file(String.t(), pos_integer, String.t()) :: String.t()
  def file(dir, number, extension),
    do: Path.join(dir, String.pad_leading("#{number}", 8, "0") <> extension)

  @doc "Describes the problem of a file of the folder."
  @spec error(String.t(), iodata) :: Error.t()
  def error(path, text), do: Error.new(:journal, "#{path}: #{text}", path: path)
end
