defmodule Mote.Far.Home do
  # Calls that a porter makes for a process of another node: functions of Mote that are called there for a machine or an
  # actor of this node. They come in order with all messages from there.
  @moduledoc false

  alias Mote.{Behaviour, Error}
  alias Mote.Machine.Loader

  @typedoc "The result of the call, or the reason why there is none."
  @type created :: {:ok, term} | {:error, Exception.t()} | {:exit, term}

  # What may be called for another node, and where it is.
  @functions %{
    behaviours: Mote,
    create: Mote,
    create_many: Mote,
    drain: Mote,
    gc: Mote,
    info: Mote,
    keep: Mote,
    land: Mote.Move.Landing,
    machine: Mote,
    merge: Mote.Shards.Merge,
    move: Mote,
    move_all: Mote.Move.Parcel,
    peek: Mote,
    sponsors: Mote,
    stop: Mote,
    top: Mote,
    waiting: Mote
  }
  @names Map.keys(@functions)

  @typedoc "The name of a function that is called for another node."
  @type function_name :: atom

  @doc "Returns whether a function may be called for another node."
  defguard is_function_name(function) when function in @names

  @doc """
  Runs a function of Mote for a process of the node `from`: in a process of its own, since somebody waits for what it comes to,
  whatever ends it. Returns the monitor of that process, whose end says what it has come to (`created/1`).
  """
  @spec create(function_name, [term], node) :: reference
  def create(function, args, from) when is_function_name(function) do
    {_pid, monitor} = spawn_monitor(fn -> exit({:created, run(function, args, from)}) end)
    monitor
  end

  @doc "Returns the result, by the reason with which that process has ended."
  @spec created(term) :: created
  def created({:created, created}), do: created
  def created(reason), do: {:exit, reason}

  defp run(function, args, from) do
    {:ok, apply(@functions[function], function, args)}
  rescue
    error in Error -> {:error, named(error, from)}
    error -> {:error, error}
  end

  defp named(%{reason: :stale_behaviour, context: %{behaviour: %Behaviour{} = behaviour}} = error, from) do
    %{module: module, version: version} = behaviour
    {:ok, [here]} = Loader.about(module, [:hash])

    message =
      "#{inspect(module)} is of version #{hex(version)} on #{from}, and of version #{hex(here)} on #{node()}, where the actor " <>
        "was to be created: both nodes need the same code, in the same lines of its file (a module that is typed into two " <>
        "sessions of IEx differs)"

    %{error | message: message}
  end

  defp named(%{reason: :undefined_behaviour} = error, _from),
    do: %{error | message: "on #{node()}: #{error.message}"}

  defp named(error, _from), do: error

  defp hex(version), do: version |> Integer.to_string(16) |> String.downcase()
end
