defmodule Mote.Machine.Loader do
  # Brings the code of modules into a machine: a module and everything that it refers to, as far as the machine does
  # not have the same version already.
  @moduledoc false

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
          :stopped -> {:halt, {:error, Error.from(:stopped, module: module)}}
          {:error, text} -> {:halt, {:error, refused(module, text)}}
        end
    end
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
