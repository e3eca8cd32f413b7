defmodule Mote.Behaviour.Warnings do
  # What compiles, but is most likely a mistake: variables that nobody reads, clauses behind one that takes all, and calls of
  # functions that no module has. All are told as plain Elixir tells them; of variables and clauses, what macros have written
  # is their own business.
  @moduledoc false

  alias Mote.Behaviour.AST

  @doc """
  Tells of the variables, `{as written, numbered, line}`, that are bound and not read in `body`.

  Variables of macros have a context, those of the compiler a mark of their own.
  """
  @spec unused([{tuple, tuple, AST.line()}], AST.expr(), Macro.Env.t()) :: :ok
  def unused(bound, body, env) do
    read = read(body, MapSet.new())

    bound
    |> Enum.filter(fn {key, variable, _} -> by_hand?(key) and variable not in read end)
    |> Enum.map(fn {{name, nil}, _, line} -> {line, name} end)
    |> Enum.sort()
    |> Enum.dedup()
    |> Enum.each(fn {line, name} ->
      warn("variable \"#{name}\" is unused: if that is meant, call it _#{name}", line, env)
    end)
  end

  defp by_hand?({name, nil}), do: not String.starts_with?(Atom.to_string(name), "_")
  defp by_hand?(_), do: false

  # Every variable has a number of its own, so that it does not matter where it is read.
  defp read({:lit, _, _}, seen), do: seen
  defp read({tag, _, {_, _} = variable}, seen) when tag in [:var, :pin], do: MapSet.put(seen, variable)
  defp read(node, seen) when is_tuple(node), do: node |> Tuple.to_list() |> read(seen)
  defp read(nodes, seen) when is_list(nodes), do: Enum.reduce(nodes, seen, &read/2)
  defp read(segment, seen) when is_map(segment), do: segment |> Map.values() |> read(seen)
  defp read(_, seen), do: seen

  @doc """
  Tells of clauses that can never match, as one before them matches everything.

  A clause comes with the patterns of its arguments, and with whether a macro has written it.
  """
  @spec unreachable([{[AST.pattern()], AST.clause(), boolean}], Macro.Env.t()) :: :ok
  def unreachable(clauses, env) do
    case Enum.split_while(clauses, fn {patterns, clause, _} -> not everything?(patterns, clause) end) do
      {_, [{_, {:clause, first, _, _, _}, _} | others]} ->
        for {_, {:clause, line, _, _, _}, false} <- others,
            do: warn("this clause can never match: the one at line #{first} matches everything", line, env)

        :ok

      _ ->
        :ok
    end
  end

  defp everything?(patterns, {:clause, _, _, guards, _}) do
    bound = Enum.flat_map(patterns, &Enum.uniq(AST.bound(&1)))
    guards == [] and Enum.all?(patterns, &all?/1) and bound == Enum.uniq(bound)
  end

  defp all?({:any, _}), do: true
  defp all?({:bind, _, _}), do: true
  defp all?({:all, _, patterns}), do: Enum.all?(patterns, &all?/1)
  defp all?(_), do: false

  @doc """
  Tells of the functions of other modules that `module` calls and that there are not, once all modules are compiled.

  What they are called in the generated code is nothing that the user has ever written.
  """
  @spec undefined(module) :: :ok
  def undefined(module) do
    file = Path.relative_to_cwd(to_string(module.module_info(:compile)[:source]))

    for {other, name, arity, line} <- module.__mote__(:calls), missing = missing(other, name, arity) do
      place = {module, :__MODULE__, 0, file: String.to_charlist(file), line: line}
      IO.warn("#{inspect(other)}.#{name}/#{arity} is undefined: #{missing}", [place])
    end

    :ok
  end

  defp missing(module, name, arity) do
    cond do
      not (Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1)) ->
        "#{inspect(module)} is not loaded or does not say use Mote.Behaviour"

      {name, arity} in module.__mote__(:functions) ->
        nil

      true ->
        "#{inspect(module)} has no defpure of this name with this many arguments"
    end
  end

  defp warn(message, line, env), do: IO.warn(message, %{env | line: line})
end
