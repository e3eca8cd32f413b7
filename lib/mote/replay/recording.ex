defmodule Mote.Replay.Recording do
  # The folder of recordings: of each start of a machine an image, its journal, and the name of its sponsor.
  #
  # 1. A recording is whole when its journal is there: that is made last. Nothing of it is ever changed but that the journal grows.
  # 2. Its files have other names than those of a durable machine: one folder may have both, and neither takes the other's.
  @moduledoc false

  alias Mote.{Durable, Error, Image}
  alias Mote.Durable.Folder
  alias Mote.Machine.Options

  @journal ".recording"

  @typedoc "The files of one recording."
  @type t :: %{number: pos_integer, image: String.t(), journal: String.t(), sponsor: String.t()}

  @typedoc "The folder that a recorded machine has, and the number of its recording."
  @type opened :: %{options: Durable.t(), lock: reference, number: pos_integer, told: {0, 0}}

  @doc "The options of the journal of a machine that is recorded into that folder; raises `ArgumentError`."
  @spec options!(term) :: nil | Durable.t()
  def options!(nil), do: nil

  def options!(path) do
    dir = Path.expand(Options.path!(path, "the folder of :record"))
    %{dir: dir, sync: :none, image_every: :infinity, numbered: false}
  end

  @doc "Makes the folder the calling process's, and returns what `begin/3` begins."
  @spec open(map) :: {:ok, opened, map} | {:error, Error.t()}
  def open(%{durable: %{dir: dir} = options, sponsors: [sponsor | _]} = config) do
    with {:ok, lock} <- Folder.own(dir),
         {:ok, numbers} <- numbers(dir),
         number = Enum.max(numbers, fn -> 0 end) + 1,
         files = files(dir, number),
         :ok <- written(files.sponsor, "#{elem(sponsor, 0)}") do
      {:ok, %{options: options, lock: lock, number: number, told: {0, 0}}, Folder.identified(config, nil)}
    end
  end

  @doc "Makes the image of a machine that has done nothing yet, and begins the journal."
  @spec begin(reference, opened, map) :: {:ok, Image.t()} | {:error, Error.t()}
  def begin(native, %{options: %{dir: dir}, lock: lock, number: number, told: told}, names) do
    %{image: image, journal: journal} = files(dir, number)
    Image.save_and_begin(native, {lock, image, journal}, {number, {:none, false}, told}, names)
  end

  @doc "The files of the recording with that number, or of the latest one."
  @spec find(String.t(), pos_integer | nil) :: {:ok, t} | {:error, Error.t()}
  def find(dir, number) do
    with {:ok, numbers} <- numbers(dir) do
      cond do
        numbers == [] ->
          {:error, Folder.error(dir, "there is no recording in this folder")}

        number == nil ->
          {:ok, files(dir, Enum.max(numbers))}

        number in numbers ->
          {:ok, files(dir, number)}

        true ->
          {:error,
           Folder.error(dir, "it has no recording #{number}, but #{Enum.join(Enum.sort(numbers), ", ")}")}
      end
    end
  end

  @doc "The name of the sponsor of a recorded machine."
  @spec sponsor(t) :: {:ok, atom} | {:error, Error.t()}
  def sponsor(%{sponsor: path}) do
    case File.read(path) do
      {:ok, name} when byte_size(name) in 1..255 ->
        if String.valid?(name),
          do: {:ok, String.to_atom(name)},
          else: {:error, Folder.error(path, "this is not the name of a sponsor")}

      {:ok, _other} ->
        {:error, Folder.error(path, "this is not the name of a sponsor")}

      {:error, posix} ->
        {:error, Folder.error(path, :file.format_error(posix))}
    end
  end

  defp numbers(dir) do
    with {:ok, names} <- Folder.names(dir), do: {:ok, Folder.numbers(names, @journal)}
  end

  defp files(dir, number) do
    file = &Folder.file(dir, number, &1)
    %{number: number, image: file.(".start"), journal: file.(@journal), sponsor: file.(".sponsor")}
  end

  defp written(path, text) do
    with {:error, posix} <- File.write(path, text),
         do: {:error, Folder.error(path, :file.format_error(posix))}
  end
end
