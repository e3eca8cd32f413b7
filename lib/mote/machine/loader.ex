defmodule Mote.Machine.Loader do
  # Brings the code of modules into a machine: a module and everything that it refers to, as far as the machine does
  # not have the same version already.
  @moduledoc false

  require Logger

  alias Mote.{Error, Native}
  alias Mote.Machine.Question

  @typedoc "A behaviour whose actors go on with an older version, and why: see `Mote.load/2`."
  @type stays :: {{module, atom, non_neg_integer}, :absent | :other_kind | :durable}

  @doc "Loads a module and its imports, the imports first. Actors of the versions before run it from their next turn on."
  @spec load(reference, module) :: :ok | {:error, Error.t()}
  def load(machine, module), do: with({:ok, _stay} <- load(machine, module, :new), do: :ok)

  @doc "Does the same, also for what is loaded already, and returns which behaviours of living actors stay what they are."
  @spec succeed(reference, module) :: {:ok, [stays]} | {:error, Error.t()}
  def succeed(machine, module), do: load(machine, module, :all)

  @doc "Loads them beside what is there: actors of other versions go on with these until they become."
  @spec beside(reference, module) :: :ok | {:error, Error.t()}
  def beside(machine, module), do: with({:ok, _none} <- load(machine, module, :beside), do: :ok)

  defp load(machine, module, how) do
    with {:ok, units} <- collect([module], %{}, [], module) do
      Enum.reduce_while(units, {:ok, []}, &load_unit(machine, &1, how, &2))
    end
  end

  # Units in the order in which they were found; those found last are needed by those before.
  defp collect([], _, units, _), do: {:ok, units}

  defp collect([module | rest], seen, units, user) do
    with false <- is_map_key(seen, module),
         {:ok, [hash, unit, imports]} <- about(module, [:hash, :unit, :imports]) do
      collect(imports ++ rest, Map.put(seen, module, []), [{module, hash, unit} | units], module)
    else
      true -> collect(rest, seen, units, user)
      :error -> {:error, undefined(module, user)}
    end
  end

  @doc "Returns what a module says of its behaviours, by these keys; `:error` if it has none, or is being unloaded."
  @spec about(module, [atom]) :: {:ok, [term]} | :error
  def about(module, keys) do
    if behaviours?(module), do: {:ok, Enum.map(keys, &module.__mote__/1)}, else: :error
  rescue
    # Purged by somebody else: a module can go at any moment.
    UndefinedFunctionError -> :error
  end

  defp load_unit(machine, {module, hash, unit}, how, {:ok, stay}) do
    with ^hash when how != :all <- Native.machine_module(machine, module) do
      {:cont, {:ok, stay}}
    else
      :stopped ->
        {:halt, {:error, Error.from(:stopped, module: module)}}

      _other ->
        with :left <- Native.machine_load(machine, {module, hash}, unit, how != :beside),
             {:ok, left} <-
               Question.put(
                 machine,
                 :infinity,
                 [module: module],
                 &Native.machine_succeed(machine, module, &1)
               ) do
          {:cont, {:ok, stay ++ left(machine, module, Enum.sort(left))}}
        else
          :ok ->
            {:cont, {:ok, stay}}

          :stopped ->
            {:halt, {:error, Error.from(:stopped, module: module)}}

          :durable ->
            {:halt, {:error, refused(module, "a durable machine takes new code when it is started")}}

          {:error, %Error{} = error} ->
            {:halt, {:error, error}}

          {:error, text} ->
            {:halt, {:error, refused(module, text <> ". Compile the module again with this version of Mote")}}
        end
    end
  end

  # Tells of those that the new version cannot take over. A behaviour is known by its name and the number of its captures.
  defp left(machine, module, behaviours) do
    present =
      case about(module, [:behaviours, :stashing]) do
        # What is stashed is no capture that anybody has written.
        {:ok, [all, stashing]} ->
          for {name, n} = of <- all, do: {name, if(of in stashing, do: n - 1, else: n)}

        :error ->
          []
      end

    # Names with a slash are the compiler's own: of functions that are called from Elixir, and of what is written in place.
    for {name, captures, why} <- Enum.uniq(behaviours), not String.contains?(Atom.to_string(name), "/") do
      Logger.warning(
        "#{said(why, module, name, captures, present)} In the machine #{inspect(Native.machine_owner(machine))}, actors that are " <>
          "#{name}/#{captures} go on with the version before, until they become another behaviour",
        mote_module: module,
        mote_behaviour: name
      )

      {{module, name, captures}, why}
    end
  end

  defp said(:durable, module, _name, _captures, _present),
    do:
      "A durable machine has actors take new code of #{inspect(module)} when it starts, and as :migrate says."

  defp said(:other_kind, module, name, captures, _present) do
    "The new version of #{inspect(module)} has a #{name}/#{captures} of another kind: one of the two versions stashes, or is marked " <>
      "beam: true."
  end

  defp said(:absent, module, name, captures, present) do
    others = for {^name, n} <- present, n != captures, do: "#{name}/#{n}"
    has = if others != [], do: "#{others |> Enum.sort() |> Enum.join(" and ")} and "
    "The new version of #{inspect(module)} has #{has}no #{name}/#{captures}, nor a defchange from it."
  end

  # Whether the module exists and says `use Mote.Behaviour`.
  defp behaviours?(module) do
    is_atom(module) and Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1)
  end

  defp undefined(module, module) do
    Error.new(
      :undefined_behaviour,
      "#{inspect(module)} has no behaviours: either there is no such module, or it does not say use Mote.Behaviour",
      module: module
    )
  end

  defp undefined(module, user) do
    Error.new(
      :undefined_behaviour,
      "#{inspect(module)}, which #{inspect(user)} refers to, is not loaded or does not say use Mote.Behaviour",
      module: module
    )
  end

  defp refused(module, text) do
    Error.new(
      :load,
      "the machine refused the code of #{inspect(module)}: #{text}",
      module: module
    )
  end
end
