defmodule Mote.Dashboard.Lookup do
  # The actor of a key, both as a person writes them.
  #
  # 1. No atom is made from input, and nothing of it is run: a key is a literal, or else the text itself.
  @moduledoc false

  alias Mote.Directory

  @doc "The actor that a key has in the directory of that name. Nothing is started."
  @spec find(String.t() | nil, String.t() | nil) ::
          {:ok, Mote.Address.t()} | {:error, pos_integer, String.t()}
  def find(directory, key) when directory in [nil, ""] or key in [nil, ""],
    do: {:error, 400, "give a key, and the name of a directory such as MyApp.Rooms"}

  def find(directory, text) do
    with {:ok, name} <- named(directory) do
      case Directory.whereis(name, key(text)) do
        nil -> {:error, 404, "#{inspect(name)} has no actor of the key #{inspect(key(text))}"}
        address -> {:ok, address}
      end
    end
  end

  defp named(text) do
    names = for {{Directory, name}, _} <- :persistent_term.get(), do: name

    case Enum.find(names, &(text in [inspect(&1), Atom.to_string(&1)])) do
      nil when names == [] ->
        {:error, 404, "no directory of this node has a name: see Mote.Directory.start_link/1"}

      nil ->
        {:error, 404, "no directory has that name; there are: #{Enum.map_join(names, ", ", &inspect/1)}"}

      name ->
        {:ok, name}
    end
  end

  defp key(text) do
    with true <- String.valid?(text),
         {:ok, quoted} <- Code.string_to_quoted(text, existing_atoms_only: true),
         {:ok, key} <- literal(quoted),
         do: key,
         else: (_ -> text)
  end

  # What stands for itself, and containers of that.
  defp literal({:{}, _, elements}), do: with({:ok, all} <- all(elements), do: {:ok, List.to_tuple(all)})
  defp literal({:%{}, _, pairs}), do: with({:ok, all} <- all(pairs), do: {:ok, Map.new(all)})
  defp literal({:-, _, [n]}) when is_number(n), do: {:ok, -n}
  defp literal({:__aliases__, _, parts}), do: existing(parts)
  defp literal({a, b}), do: with({:ok, [a, b]} <- all([a, b]), do: {:ok, {a, b}})
  defp literal(list) when is_list(list), do: all(list)
  defp literal(plain) when is_number(plain) or is_atom(plain) or is_binary(plain), do: {:ok, plain}
  defp literal(_code), do: :error

  defp all(quoted) do
    Enum.reduce_while(quoted, {:ok, []}, fn one, {:ok, done} ->
      case literal(one) do
        {:ok, value} -> {:cont, {:ok, [value | done]}}
        :error -> {:halt, :error}
      end
    end)
    |> then(&with {:ok, done} <- &1, do: {:ok, Enum.reverse(done)})
  end

  defp existing(parts) do
    {:ok, Module.safe_concat(parts)}
  rescue
    ArgumentError -> :error
  end
end
