defmodule Mote.Behaviour.Imports.Message do
  # The message of an exception that shows terms by `inspect`. Elixir, which can show every term, makes the text when
  # somebody reads it.
  #
  # 1. The code stays in the module with behaviours: `__mote__(:messages)`. In the reason of the abort there are the key of the code
  #    and the values of its variables; so a reason that is forged runs no code of its own.
  # 2. Nobody can call private functions from there: the machine calls them before, where the text calls them in any case.
  @moduledoc false

  @branches [:case, :cond, :if, :fn, :for, :with, :&&, :||, :and, :or]

  @typep private :: (module :: term, name :: term, arity -> boolean)

  @doc """
  The code, and what its variables `v0`, `v1` … are in the machine. Returns nil for what shows no terms, or has to be compiled as a
  whole.
  """
  @spec parts(Macro.t(), private) :: {Macro.t(), [Macro.t()]} | nil
  def parts(argument, private?) do
    if any?(argument, &match?({{:., _, [Kernel, :inspect]}, _, _}, &1)) and
         not any?(argument, &stays?(&1, private?)) do
      bound = bound(argument)
      {written, operands} = Macro.prewalk(argument, [], &part(&1, &2, bound, private?))
      unless any?(operands, &(key(&1) in bound)), do: {written, operands}
    end
  end

  defp any?(code, fun), do: code |> Macro.prewalker() |> Enum.any?(fun)

  # What fails otherwise than a text does, and private functions that are called sometimes only.
  defp stays?({:"mote raised", _, _}, _), do: true

  defp stays?({:&, _, [{:/, _, [{{:., _, [module, name]}, _, _}, n]}]}, private?),
    do: private?.(module, name, n)

  defp stays?({form, _, args}, private?) when form in @branches, do: any?(args, &private_call?(&1, private?))
  defp stays?(_, _), do: false

  # Not the name in a capture.
  defp private_call?({{:., _, [module, name]}, meta, args}, private?),
    do: meta[:no_parens] != true and private?.(module, name, length(args))

  defp private_call?(_, _), do: false

  defp part({:_, _, _} = any, operands, _, _), do: {any, operands}

  defp part({form, _, args} = node, operands, bound, private?) do
    key = key(node)

    cond do
      n = key && Enum.find_index(bound, &(&1 == key)) ->
        # Of one with an underscore nobody says that it is unused.
        {Macro.var(:"#{if match?("_" <> _, "#{form}"), do: "_"}b#{n}", nil), operands}

      key || private_call?(node, private?) ->
        same = &(&1 == node or (key != nil and key(&1) == key))
        operands = if Enum.any?(operands, same), do: operands, else: operands ++ [node]
        {Macro.var(:"v#{Enum.find_index(operands, same)}", nil), operands}

      true ->
        {{form, [], args}, operands}
    end
  end

  defp part(other, operands, _, _), do: {other, operands}

  # The variables that the code binds itself.
  defp bound(code) do
    # Left of the arrows of a cond there are no patterns.
    code =
      Macro.prewalk(code, fn
        {:cond, _, [[do: clauses]]} -> for {:->, _, sides} <- clauses, do: sides
        other -> other
      end)

    for(node <- Macro.prewalker(code), key <- node |> patterns() |> variables(), do: key) |> Enum.uniq()
  end

  defp patterns({:->, _, [left, _]}), do: left
  defp patterns({sign, _, [left, _]}) when sign in [:<-, :=], do: left

  defp patterns({:<<>>, _, [_ | _] = segments}),
    do: if(match?({:<-, _, _}, List.last(segments)), do: Enum.drop(segments, -1), else: [])

  defp patterns(_), do: []

  defp variables(pattern) do
    {_, found} =
      Macro.prewalk([pattern], [], fn
        {:^, _, _}, found -> {nil, found}
        {:when, _, args}, found -> {Enum.drop(args, -1), found}
        {:"::", _, [value, _]}, found -> {[value], found}
        node, found -> {node, if(key = key(node), do: [key | found], else: found)}
      end)

    found
  end

  # Elixir's compiler numbers the variables of a function. What has no number is none: the type of a segment looks like one.
  defp key({name, meta, context}) when is_atom(name) and is_atom(context),
    do: if(version = meta[:version], do: {name, version, context})

  defp key(_), do: nil
end
