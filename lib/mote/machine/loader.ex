defmodule Mote.Machine.Loader do
  # Brings the code of modules into a machine: a module and everything that it refers to, as far as the machine does
  # not have the same version already.
  @moduledoc false

  require Logger

  alias Mote.{Error, Native}

  @doc "Loads a module and its imports, the imports first."
  @spec load(reference, module) :: :ok | {:error, Error.t()}
  def load(machine, module) do
    with {:ok, units} <- collect([module], %{}, [], module) do
      Enum.reduce_while(units, :ok, &load_unit(machine, &1, &2))
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

  @doc "What a module says of its behaviours, by these keys; `:error` when it has none, or goes in this moment."
  @spec about(module, [atom]) :: {:ok, [term]} | :error
  def about(module, keys) do
    if behaviours?(module), do: {:ok, Enum.map(keys, &module.__mote__/1)}, else: :error
  rescue
    # Purged by somebody else: a module can go at any moment.
    UndefinedFunctionError -> :error
  end

  defp load_unit(machine, {module, hash, unit}, :ok) do
    with ^hash <- Native.machine_module(machine, module) do
      {:cont, :ok}
    else
      :stopped ->
        {:halt, {:error, Error.from(:stopped, module: module)}}

      _other ->
        case Native.machine_load(machine, module, hash, unit) do
          :ok -> {:cont, :ok}
          {:left, behaviours} -> {:cont, left(machine, module, Enum.sort(behaviours))}
          :stopped -> {:halt, {:error, Error.from(:stopped, module: module)}}
          {:error, text} -> {:halt, {:error, refused(module, text)}}
        end
    end
  end

  # Tells of those that the new version has not. A behaviour is known by its name and the number of its captures.
  defp left(machine, module, behaviours) do
    present =
      case about(module, [:behaviours]) do
        {:ok, [present]} -> present
        :error -> []
      end

    # Names with a slash are the compiler's own: of functions that are called from Elixir, and of what is written in place.
    for {name, captures} <- behaviours, not String.contains?(Atom.to_string(name), "/") do
      others = for {^name, n} <- present, do: "#{name}/#{n}"
      has = if others != [], do: "#{others |> Enum.sort() |> Enum.join(" and ")} and "

      Logger.warning(
        "The new version of #{inspect(module)} has #{has}no #{name}/#{captures}. In the machine #{inspect(Native.machine_owner(machine))}, actors that " <>
          "are #{name}/#{captures} go on with the version before, until they become another behaviour",
        mote_module: module,
        mote_behaviour: name
      )
    end

    :ok
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
      "the machine refused the code of #{inspect(module)}: #{text}. Compile the module again with this version of Mote",
      module: module
    )
  end
end
