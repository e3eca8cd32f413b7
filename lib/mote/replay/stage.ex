defmodule Mote.Replay.Stage do
  # A native machine at a place of a recording: started in an image, and run from there to other places.
  #
  # 1. It is paused and mute: nothing runs and nothing enters but by `run/3`, and nobody hears of it.
  # 2. Where its journal is wrong, it is good for nothing more.
  @moduledoc false

  alias Mote.{Error, Image, Native}
  alias Mote.Durable.Folder
  alias Mote.Machine.{Loader, MemoryOptions, Postman, Question, SponsorOptions}
  alias Mote.Replay.Recording

  # More than there can be.
  @all 0xFFFFFFFFFFFFFFFF

  @enforce_keys [:native, :postman, :source, :names, :next, :place, :mark]
  defstruct @enforce_keys

  @typedoc "The number of turns that have run, and of journal entries that have entered."
  @type place :: {non_neg_integer, non_neg_integer}

  @typedoc "A place to go to: the first one that has both, and whether to stop at a number of turns in any case."
  @type goal :: {non_neg_integer, non_neg_integer, most :: non_neg_integer}

  @typedoc "The data that all stages of a replay share."
  @type source :: %{
          recording: Recording.t(),
          file: reference,
          identity: String.t(),
          sponsor: atom,
          options: map,
          changed: [module]
        }

  @typedoc "An image to begin in, and what goes with it: nothing with that of the recording."
  @type checkpoint :: %{path: String.t(), place: place, mark: binary}

  @type t :: %__MODULE__{
          native: reference,
          postman: pid,
          source: source,
          names: map,
          next: non_neg_integer,
          place: place,
          mark: binary
        }

  @doc "More turns or entries than there can be."
  @spec all :: pos_integer
  def all, do: @all

  @doc "Starts a machine in an image. The calling process answers for it."
  @spec start(source, checkpoint) :: {:ok, t} | {:error, Error.t()}
  def start(source, checkpoint) do
    %{fuel: fuel, memory: memory, gc: gc, tier: tier} = source.options
    sponsors = [SponsorOptions.validate!(source.sponsor, threads: 1)]

    # As for a durable machine that starts: when something is collected is another moment now.
    case Native.machine_start(
           "replay",
           sponsors,
           fuel,
           MemoryOptions.twice(memory),
           gc,
           {:system, nil, tier}
         ) do
      {:ok, native} ->
        {:ok, postman} = Postman.start_link(native)

        with {:ok, names, next} <- begin(native, source, checkpoint) do
          {:ok,
           %__MODULE__{
             native: native,
             postman: postman,
             source: source,
             names: names,
             next: next,
             place: checkpoint.place,
             mark: checkpoint.mark
           }}
        else
          {:error, error} ->
            stop(native, postman)
            {:error, error}
        end

      {:error, text} ->
        {:error, Error.new(:start, "the machine of the replay could not start: #{text}")}
    end
  end

  defp begin(native, %{file: file, identity: identity} = source, %{path: path, mark: mark}) do
    context = [path: path]

    with :ok <- Native.replay_prepare(native, file, identity),
         {:ok, names} <- Image.restore_as_it_was(native, path),
         :ok <- changed(native, source.changed),
         {:ok, next} <- Question.put(native, :infinity, context, &Native.replay_begin(native, file, mark, &1)) do
      {:ok, names, next}
    else
      {:error, error} -> {:error, error}
      word -> {:error, Error.from(word, context)}
    end
  end

  # Actors that are in the image already run the changed code from their next turn on.
  defp changed(native, modules) do
    modules = for module <- modules, is_integer(Native.machine_module(native, module)), do: module

    Enum.reduce_while(modules, :ok, fn module, :ok ->
      with :ok <- Loader.load(native, module), do: {:cont, :ok}, else: (error -> {:halt, error})
    end)
  end

  @doc "Runs to a goal. Returns whether that is reached, or all there is, and the last turn that was looked for."
  @spec run(t, goal, nil | {:sent, term} | {:became, binary}) ::
          {:ok, t, boolean, pos_integer | nil} | {:error, Error.t()}
  def run(%__MODULE__{native: native, source: source} = stage, goal, search \\ nil) do
    path = source.recording.journal
    ask = &Native.replay_run(native, source.file, stage.next, goal, search, &1)

    case Question.put(native, :infinity, [path: path], ask) do
      {:ok, {:ok, {{_turn, next} = place, over?, found, mark}}} ->
        {:ok, %{stage | place: place, next: next, mark: mark}, over?, found}

      {:ok, {:error, text}} ->
        {:error, Folder.error(path, text)}

      {:error, error} ->
        {:error, fault(path, error)}
    end
  end

  # A machine that ends has told the process that answers for it why.
  defp fault(path, error) do
    receive do
      {:mote_fault, _sponsor, _behaviour, _kind, text} ->
        Folder.error(path, "the machine ended while it ran this again: #{text}")
    after
      0 -> error
    end
  end

  @doc "Runs one turn and returns it as a trace shows it; `nil` where there is none."
  @spec step(t) :: {:ok, t, Mote.Trace.Turn.t() | nil} | {:error, Error.t()}
  def step(%__MODULE__{native: native, place: {turn, _entry}} = stage) do
    ref = make_ref()
    number = Native.machine_trace(native, {nil, nil, nil, nil, nil}, {self(), ref}, 1)

    with {:ok, stage, _over?, nil} <- run(stage, {turn + 1, 0, @all}) do
      Native.machine_trace_end(native, number)

      receive do
        {:mote_trace, ^ref, %Mote.Trace.Turn{} = seen} ->
          receive do
            {:mote_trace, ^ref, :limit} -> :ok
          after
            0 -> :ok
          end

          {:ok, stage, seen}
      after
        0 -> {:ok, stage, nil}
      end
    end
  end

  @doc "Saves an image of it, from which `start/2` goes on."
  @spec save(t, String.t()) :: {:ok, checkpoint, Image.t()} | {:error, Error.t()}
  def save(%__MODULE__{} = stage, path) do
    with {:ok, image} <- Image.save(stage.native, path, stage.names, :infinity),
         do: {:ok, %{path: path, place: stage.place, mark: stage.mark}, image}
  end

  @spec stop(t) :: :ok
  def stop(%__MODULE__{native: native, postman: postman}), do: stop(native, postman)

  defp stop(native, postman) do
    Native.machine_stop(native)
    Native.machine_join(native)
    Postman.finish(postman)
    :ok
  end
end
