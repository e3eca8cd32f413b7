defmodule Mote.Durable.Standby do
  # The other end of a copy (`Mote.Durable.copy/2`). It has the folder that the copy goes to, and writes there as the
  # process of the machine says (`Mote.Durable.Copy`).
  #
  # 1. A folder is a copy's while it has the file `standby`: no machine starts on it but one that takes it over. That one removes the file
  #    when nothing can fail any more before it goes on: after a start that was refused, the folder is still a copy's.
  # 2. Every acknowledged byte is on the disk. A file that was cut off by an end is the beginning of the file in the
  #    machine's folder.
  # 3. A machine can go on from the folder from its first image on, except while an image with its journal arrives that
  #    does not follow from the earlier ones. So journals behind a gap count for nothing.
  @moduledoc false

  use GenServer

  alias Mote.Durable.Folder
  alias Mote.Error

  @marker "standby"

  @typedoc "The contents of a folder: its image, and of the last journal the number, its bytes, and their hash; `nil` of a new one."
  @type has :: nil | {pos_integer, {pos_integer, non_neg_integer, binary}}

  @typedoc """
  More bytes of an image; that it is whole; a journal that begins with these bytes; and more bytes of that.
  """
  @type step ::
          {:image, pos_integer, non_neg_integer, binary}
          | {:imaged, pos_integer}
          | {:journal, pos_integer, binary}
          | {:more, binary}

  # -- for machines that start ---------------------------------------------------------------------------------

  @doc "Returns whether a machine may start on a folder: not on a copy, unless it takes that over."
  @spec allows(String.t(), boolean) :: :ok | {:error, Error.t()}
  def allows(_dir, true), do: :ok

  def allows(dir, false) do
    case File.read(marker(dir)) do
      {:ok, of} ->
        {:error,
         taken(dir, "is a copy of #{of}: a machine that is to go on from it is started with take_over: true")}

      {:error, _} ->
        :ok
    end
  end

  @doc "Makes what is in a folder that the caller has what a machine can go on from, if it is a copy's. The folder stays a copy's."
  @spec settled(String.t()) :: :ok | {:error, Error.t()}
  def settled(dir) do
    with true <- File.exists?(marker(dir)),
         :ok <- settle(dir),
         {:ok, [_ | _], _} <- Folder.list(dir) do
      :ok
    else
      false -> :ok
      {:ok, [], _} -> {:error, Folder.error(dir, "this is a copy of which not even the first image has come")}
      {:error, error} -> {:error, error}
    end
  end

  @doc "Makes a folder that the caller has a machine's own, for good. It may have been before."
  @spec taken_over(String.t()) :: :ok | {:error, Error.t()}
  def taken_over(dir) do
    with :ok <- File.rm(marker(dir)), :ok <- synced(dir) do
      :ok
    else
      {:error, :enoent} -> :ok
      {:error, posix} -> {:error, Folder.error(marker(dir), :file.format_error(posix))}
    end
  end

  @doc "Lets a machine take over the folder of a process, if that has one for a copy: whether it has."
  @spec give_up(pid) :: boolean
  def give_up(pid) do
    with {:dictionary, dictionary} <- Process.info(pid, :dictionary),
         {__MODULE__, :init, 1} <- dictionary[:"$initial_call"] do
      GenServer.call(pid, :give_up)
      true
    else
      _ -> false
    end
  catch
    :exit, _ -> true
  end

  # What no start could read, and the journals behind a gap. All are again where they came from.
  defp settle(dir) do
    with :ok <- Folder.tidy(dir),
         {:ok, images, journals} <- Folder.list(dir) do
      newest = Enum.max(images, fn -> nil end)
      good = Enum.take_while(Stream.iterate(newest, &(&1 + 1)), &(newest != nil and &1 in journals))
      for n <- journals -- good, do: File.rm(Folder.journal(dir, n))
      :ok
    end
  end

  defp marker(dir), do: Path.join(dir, @marker)

  # -- the process ---------------------------------------------------------------------------------------------

  @doc "Called on the node of the folder: starts a process for a copier, which is a copy of what `of` says. Returns what the folder has."
  @spec start(String.t(), String.t(), pid) :: {:ok, pid, has} | {:error, Error.t()}
  def start(dir, of, copier) do
    with pid when pid != nil <- Process.whereis(Mote.Supervisor),
         {:ok, pid} <- GenServer.start(__MODULE__, {dir, of, copier}) do
      {:ok, pid, GenServer.call(pid, :has, :infinity)}
    else
      nil -> {:error, Error.from(:noconnection, node: node())}
      {:error, error} -> {:error, error}
    end
  end

  @impl GenServer
  def init({dir, of, copier}) do
    Process.monitor(copier)

    # A process of the same copy may not know yet that its connection has ended.
    with :ok <- of_this(dir, of),
         {:ok, lock} <- Folder.own(dir, true),
         :ok <- marked(dir, of),
         :ok <- settle(dir) do
      {:ok, %{dir: dir, lock: lock, copier: copier, image: nil, journal: nil}}
    else
      # Whoever has it may still fail to take it over.
      {:error, error} ->
        {:stop, %{error | context: Map.put(error.context, :copy?, File.exists?(marker(dir)))}}
    end
  end

  defp of_this(dir, of) do
    case File.read(marker(dir)) do
      {:ok, other} when other != of -> {:error, taken(dir, "is a copy of #{other}")}
      _ -> :ok
    end
  end

  defp taken(dir, how), do: Error.new(:dir_taken, "#{dir} #{how}", dir: dir)

  # Also before the first image: half of a copy is no new folder.
  defp marked(dir, of) do
    with false <- File.exists?(marker(dir)),
         {:ok, [], []} <- Folder.list(dir),
         :ok <- File.write(marker(dir), of, [:sync]) do
      :ok
    else
      true -> :ok
      {:ok, _, _} -> {:error, taken(dir, "is the folder of a machine of its own, and no copy goes there")}
      {:error, %Error{} = error} -> {:error, error}
      {:error, posix} -> {:error, Folder.error(marker(dir), :file.format_error(posix))}
    end
  end

  @impl GenServer
  def handle_call(:give_up, _from, state), do: {:stop, {:shutdown, :taken_over}, :ok, state}

  def handle_call(:has, _from, %{dir: dir} = state) do
    with {:ok, [_ | _] = images, [_ | _] = journals} <- Folder.list(dir),
         last = Enum.max(journals),
         {:ok, journal} <- opened(Folder.journal(dir, last), []),
         {:ok, bytes} <- :file.position(journal, :eof),
         {:ok, hash} <- hash(journal, bytes) do
      {:reply, {Enum.max(images), {last, bytes, hash}}, %{state | journal: journal}}
    else
      _nothing -> {:reply, nil, state}
    end
  end

  @impl GenServer
  def handle_info({:mote_copy, copier, ref, step}, state) do
    case step(step, state) do
      {:ok, state} ->
        send(copier, {:mote_copied, ref, :ok})
        {:noreply, state}

      {:error, posix} ->
        send(copier, {:mote_copied, ref, {:error, "#{state.dir}: #{:file.format_error(posix)}"}})
        {:stop, :normal, state}
    end
  end

  # The folder is nobody's then: the next process of a copy goes on with it, or a machine takes it over.
  def handle_info({:DOWN, _, :process, pid, _}, %{copier: pid} = state), do: {:stop, :normal, state}

  use Mote.Internal.Stray

  defp who(state), do: "copy in #{state.dir}"

  defp step({:image, number, at, bytes}, %{dir: dir} = state) do
    with {:ok, state} <- image(state, at, part(Folder.image(dir, number))),
         :ok <- :file.pwrite(state.image, at, bytes),
         do: {:ok, state}
  end

  defp step({:imaged, number}, %{dir: dir, image: image} = state) do
    path = Folder.image(dir, number)

    with :ok <- :file.sync(image),
         :ok <- :file.close(image),
         :ok <- placed(part(path), path),
         :ok <- forget(dir, number),
         do: {:ok, %{state | image: nil}}
  end

  defp step({:journal, number, bytes}, %{dir: dir} = state) do
    path = Folder.journal(dir, number)

    with :ok <- if(state.journal, do: :file.close(state.journal), else: :ok),
         {:ok, journal} <- opened(part(path), [:exclusive]),
         :ok <- appended(journal, bytes),
         :ok <- placed(part(path), path),
         do: {:ok, %{state | journal: journal}}
  end

  defp step({:more, bytes}, state) do
    with :ok <- appended(state.journal, bytes), do: {:ok, state}
  end

  defp image(state, 0, path) do
    if state.image, do: :file.close(state.image)
    File.rm(path)
    with {:ok, image} <- opened(path, []), do: {:ok, %{state | image: image}}
  end

  defp image(state, _at, _path), do: {:ok, state}

  defp forget(dir, number) do
    with {:error, _error} <- Folder.forget(dir, number), do: {:error, :eio}
  end

  defp appended(journal, bytes) do
    with {:ok, _end} <- :file.position(journal, :eof),
         :ok <- :file.write(journal, bytes),
         do: :file.datasync(journal)
  end

  # Its name is on the disk when this returns.
  defp placed(part, path) do
    with :ok <- File.rename(part, path), do: synced(Path.dirname(path))
  end

  defp synced(dir) do
    with {:ok, folder} <- :file.open(dir, [:read, :raw, :directory]) do
      synced = :file.sync(folder)
      :file.close(folder)
      # Not all systems sync folders.
      if synced in [:ok, {:error, :einval}, {:error, :eisdir}, {:error, :ebadf}], do: :ok, else: synced
    end
  end

  # What a start removes that finds it.
  defp part(path), do: path <> ".part"

  defp opened(path, modes), do: :file.open(path, [:read, :write, :raw, :binary | modes])

  # -- what both ends have -------------------------------------------------------------------------------------

  @block 1024 * 1024

  @doc "The hash of the first bytes of an open file."
  @spec hash(:file.io_device(), non_neg_integer) :: {:ok, binary} | {:error, term}
  def hash(file, bytes), do: :erlang.md5_init() |> hash(file, 0, bytes)

  defp hash(hash, _file, bytes, bytes), do: {:ok, :erlang.md5_final(hash)}

  defp hash(hash, file, at, bytes) do
    case :file.pread(file, at, min(@block, bytes - at)) do
      {:ok, block} -> hash |> :erlang.md5_update(block) |> hash(file, at + byte_size(block), bytes)
      :eof -> {:error, :eof}
      error -> error
    end
  end
end
