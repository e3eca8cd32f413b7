defmodule Mote.Durable do
  @moduledoc """
  Machines that survive the end of their node: what comes in is written into a journal before it runs.

      {:ok, machine} = Mote.start_link(durable: [dir: "/var/lib/shop"])

  After a crash, `kill -9` included, the same call gives the machine back as it was, with its addresses: `Mote.send/3` returns when the disk
  has the message, and `Mote.ask/3` when it had the request before it ran. The guide
  [State that lasts](images.md#a-machine-that-survives-a-crash) says what this promises, and what a durable machine does not do.

  Options of `durable:`

    * `:dir` - the folder of the machine, which is made if it is not there. One machine has it;
    * `:sync` - when the disk has what comes in: `:batch` (the default) and `:always` wait for the disk once for all that has come together.
      `:batch` gathers what is about to come for a moment first, where several processes wait at once. `:os` leaves it to the system, so
      what is acknowledged survives the end of the node, and not that of the power;
    * `:image_every` - bytes of the journal after which a new image takes the place of the image and the journal before (default 64 MiB):
      a machine that starts runs again at most as much;
    * `:numbered` - `true` for messages to processes that are `{:mote_told, number, message}`, counted through all lives. A process that
      misses a number has lost a message in a crash (default `false`). Answers have no number.
  """

  alias Mote.{Error, Image, Machine, Native}
  alias Mote.Durable.Keeper
  alias Mote.Machine.{Options, Postman, Question}

  @defaults [dir: nil, sync: :batch, image_every: 64 * 1024 * 1024, numbered: false]

  # Milliseconds for which the folder of a machine is waited for that has just ended on this node, and between two looks.
  @patience 5_000
  @again 20

  # The image of what a machine has come to that has run its journals again.
  @recovered "recovered"

  @typedoc "What `info/1` returns."
  @type info :: %{
          dir: String.t(),
          number: pos_integer,
          bytes: non_neg_integer,
          told: non_neg_integer,
          batches: non_neg_integer,
          microseconds: non_neg_integer
        }

  @typedoc false
  @type t :: %{
          dir: String.t(),
          sync: :batch | :always | :os,
          image_every: pos_integer,
          numbered: boolean
        }

  @typedoc false
  @type opened :: %{
          options: t,
          lock: reference,
          number: pos_integer,
          told: {non_neg_integer, non_neg_integer}
        }

  @doc """
  Makes an image of a durable machine now, and begins a new journal. `names` is what `Mote.names/1` returns from then on, in this life and
  the next ones: an entry point such as `%{accounts: address}`; the default is what it returns now.

  Returns the `Mote.Image` when the disk has it. Raises `ArgumentError` for a machine that is not durable.
  """
  @spec checkpoint(Machine.t(), map | nil) :: {:ok, Image.t()} | {:error, Error.t()}
  def checkpoint(machine, names \\ nil) do
    unless names == nil or (is_map(names) and not is_struct(names)) do
      raise ArgumentError, "expected the second argument of checkpoint/2 to be a map, got: #{inspect(names)}"
    end

    with {:ok, pid} <- keeper(machine), do: Keeper.checkpoint(pid, names)
  end

  @doc """
  The state of a machine's journal: its folder, the number of its image, the bytes of the journal, how many messages it has told to
  processes in all lives, and how many batches were written in this one, in how many microseconds. Raises `ArgumentError` for a machine that
  is not durable.
  """
  @spec info(Machine.t()) :: {:ok, info} | {:error, Error.t()}
  def info(machine) do
    with {:ok, pid} <- keeper(machine), do: Keeper.info(pid)
  end

  defp keeper(machine) do
    with {:ok, native} <- Machine.fetch(machine) do
      case GenServer.call(Native.machine_owner(native), :keeper) do
        nil -> raise ArgumentError, "#{inspect(machine)} is not durable: see Mote.Durable"
        pid -> {:ok, pid}
      end
    end
  catch
    :exit, _ -> {:error, Error.from(:stopped, machine: machine)}
  end

  @doc false
  # Waits until the disk has what a process has put into a durable machine.
  @spec synced(reference, keyword) :: :ok | {:error, Error.t()}
  def synced(native, context) do
    case Question.put(native, :infinity, context, &Native.journal_wait(native, &1)) do
      {:ok, :ok} -> :ok
      {:error, error} -> {:error, error}
    end
  end

  @doc false
  @spec options!(nil | keyword) :: nil | t
  def options!(nil), do: nil

  def options!(opts) do
    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- Keyword.keys(@defaults) == [] do
      raise ArgumentError,
            "expected the options of :durable to be :dir, :sync, :image_every and :numbered, got: #{inspect(opts)}"
    end

    opts = Keyword.merge(@defaults, opts)
    Options.path!(opts[:dir], "the :dir of :durable")
    option!(opts, :sync, ":batch, :always or :os", &(&1 in [:batch, :always, :os]))
    option!(opts, :image_every, "a positive number of bytes", &(is_integer(&1) and &1 > 0))
    option!(opts, :numbered, "true or false", &is_boolean/1)
    %{Map.new(opts) | dir: Path.expand(opts[:dir])}
  end

  defp option!(opts, key, expected, good?) do
    unless good?.(opts[key]),
      do:
        raise(
          ArgumentError,
          "expected #{inspect(key)} of :durable to be #{expected}, got: #{inspect(opts[key])}"
        )
  end

  @doc false
  # That a machine of these options does nothing that its journal could not tell again.
  @spec possible!(map) :: :ok
  def possible!(%{durable: nil}), do: :ok

  def possible!(config) do
    alone? =
      case config.sponsors do
        [{_name, 1, _cores, _inbox, _patient, nil, {false, _partition}}] -> true
        _ -> false
      end

    for {good?, what} <- [
          {alone?, "one sponsor with one thread, neither beam: true nor io: true"},
          {config.schedule == nil, "schedule: :threads"},
          {config.clock == :system, "clock: :system"},
          {config.image == nil, "no :image: it goes on from what is in its :dir"}
        ],
        not good?,
        do: raise(ArgumentError, "a durable machine has #{what}")

    :ok
  end

  @doc false
  # Makes the folder the calling process's, and brings what is in it to its last entry. Returns the options of a machine that goes on
  # from there.
  @spec open(map) :: {:ok, opened | nil, map} | {:error, Error.t()}
  def open(%{durable: nil} = config), do: {:ok, nil, config}

  def open(%{durable: %{dir: dir} = options} = config) do
    with :ok <- made(dir),
         {:ok, lock} <- lock(dir, @patience),
         {:ok, images, journals} <- list(dir),
         {:ok, config, number, told} <- last(dir, images, journals, config) do
      {:ok, %{options: options, lock: lock, number: number + 1, told: told}, config}
    end
  end

  defp made(dir) do
    with {:error, posix} <- File.mkdir_p(dir), do: {:error, error(dir, :file.format_error(posix))}
  end

  defp lock(dir, patience) do
    path = Path.join(dir, "lock")

    case Native.journal_lock(path, "#{System.pid()} #{inspect(self())}") do
      {:ok, lock} ->
        {:ok, lock}

      {:taken, who} ->
        # A machine that was killed has it until its threads have ended.
        if patience > 0 and ended?(who) do
          Process.sleep(@again)
          lock(dir, patience - @again)
        else
          {:error, taken(dir, who)}
        end

      {:error, text} ->
        {:error, error(path, to_string(text))}
    end
  end

  defp ended?(who) do
    with [system, pid] <- String.split(who, " "),
         do: system == System.pid() and not alive?(pid),
         else: (_ -> true)
  end

  defp alive?("#PID" <> pid) do
    pid |> String.to_charlist() |> :erlang.list_to_pid() |> Process.alive?()
  rescue
    ArgumentError -> false
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

  # Numbers of the images that are whole, and of the journals.
  defp list(dir) do
    case File.ls(dir) do
      {:ok, names} ->
        # What images had become that were not finished.
        for name <- names, Path.extname(name) == ".part", do: File.rm(Path.join(dir, name))
        {:ok, numbers(names, ".image"), numbers(names, ".journal")}

      {:error, posix} ->
        {:error, error(dir, :file.format_error(posix))}
    end
  end

  defp numbers(names, extension) do
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
           {:ok, abouts} <- abouts(dir, number, journals, config) do
        entries = for {_path, n, _told} <- abouts, reduce: 0, do: (sum -> sum + n)
        {_path, _n, told} = List.last(abouts)

        if entries == 0 and image.events == 0 and length(abouts) == 1,
          do: {:ok, %{config | image: path}, newest, told},
          else: run_again(dir, config, path, for({path, _n, _told} <- abouts, do: path), newest)
      end
    end
  end

  defp first(_dir, [], _newest, config), do: {:ok, identified(config, nil), 0, {0, 0}}

  defp first(dir, journals, newest, config) do
    path = journal(dir, Enum.min(journals))

    case Native.journal_about(path) do
      {:ok, {0, _fuel, _told, false, _cut}} -> {:ok, identified(config, nil), newest, {0, 0}}
      {:ok, _about} -> {:error, error(path, "the image that this journal goes on from is not there")}
      {:error, text} -> {:error, error(path, text)}
    end
  end

  # The machine had this name for its addresses before; a new one is called as its folder.
  defp identified(%{identity: nil, durable: %{dir: dir}} = config, identity),
    do: %{config | identity: identity || named_as(dir)}

  defp identified(config, _identity), do: config

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

  defp abouts({:ok, abouts, _last, _cut}), do: {:ok, Enum.reverse(abouts)}
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
  defp run_again(dir, config, image, journals, newest) do
    %{sponsors: sponsors, fuel: fuel, memory: memory, gc: gc, tier: tier} = config

    case Native.machine_start("again", sponsors, fuel, memory, gc, {:system, nil, tier}) do
      {:ok, native} ->
        {:ok, postman} = Postman.start_link(native)

        try do
          # Without a number: no journal goes on from it.
          path = Path.join(dir, @recovered)
          context = [path: path, survey: true]

          with :ok <- prepare(native, hd(journals)),
               :ok <- Machine.claim(native, config),
               {:ok, names} <- Image.restore_as_it_was(native, image),
               {:ok, ran} <- run(native, journals, context),
               {:ok, told} <- ran(ran),
               {:ok, _image} <- Image.save(native, path, names, :infinity) do
            {:ok, %{config | image: path, resolve: of_another_start(config.resolve)}, newest, told}
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

  @doc false
  # Makes the image and begins the journal with that number; older ones go.
  @spec begin(reference, opened, map) :: {:ok, Image.t()} | {:error, Error.t()}
  def begin(native, %{options: options, lock: lock, number: number, told: told}, names) do
    %{dir: dir, sync: sync, numbered: numbered} = options
    paths = {lock, image(dir, number), journal(dir, number)}

    with {:ok, image} <- Image.save_and_begin(native, paths, {number, {sync, numbered}, told}, names),
         {:ok, images, journals} <- list(dir) do
      for n <- images, n < number, do: File.rm(image(dir, n))
      for n <- journals, n < number, do: File.rm(journal(dir, n))
      File.rm(Path.join(dir, @recovered))
      {:ok, image}
    end
  end

  defp image(dir, number), do: Path.join(dir, "#{padded(number)}.image")
  defp journal(dir, number), do: Path.join(dir, "#{padded(number)}.journal")
  defp padded(number), do: number |> Integer.to_string() |> String.pad_leading(8, "0")

  defp error(path, text), do: Error.new(:journal, "#{path}: #{text}", path: path)
end
