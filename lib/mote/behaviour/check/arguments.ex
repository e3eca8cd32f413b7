defmodule Mote.Behaviour.Check.Arguments do
  # The names of a function's arguments, for documentation and for remarks about native code.
  @moduledoc false

  @doc "For each argument the name that a clause gives to it, or `arg1`, … where none does, or not one alone."
  @spec names([map]) :: [atom]
  def names([%{arity: arity} | _] = definitions) do
    written =
      for n <- 0..(arity - 1)//1 do
        Enum.find_value(definitions, fn %{clause: {:clause, _, {:tuple, _, patterns}, _, _}} ->
          patterns |> Enum.at(n) |> name()
        end)
      end

    for {name, n} <- Enum.with_index(written, 1),
        do: if(name == nil or Enum.count(written, &(&1 == name)) > 1, do: :"arg#{n}", else: name)
  end

  defp name({:bind, _, {name, _}}), do: name |> Atom.to_string() |> String.trim_leading("_") |> plain()
  defp name({:all, _, patterns}), do: Enum.find_value(patterns, &name/1)
  defp name(_), do: nil

  # No word of Elixir that is no variable.
  defp plain(name) when name in ["", "fn"], do: nil
  defp plain(name), do: String.to_atom(name)
end
