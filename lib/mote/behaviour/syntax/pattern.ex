defmodule Mote.Behaviour.Syntax.Pattern do
  # Elixir patterns -> patterns of the Mote AST. Repeated variables are not looked for here: which of them binds
  # is for `check.ex` to decide.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax, Warnings}
  alias Mote.Behaviour.Syntax.{Binaries, Maps}

  @doc "A pattern."
  @spec pattern(Macro.t(), Macro.Env.t()) :: AST.pattern()
  def pattern(ast, env)

  def pattern(literal, env) when is_number(literal) or is_atom(literal) or is_binary(literal) do
    Warnings.zero(literal, env)
    {:lit, env.line, literal}
  end

  def pattern(list, env) when is_list(list), do: list(list, nil, env)
  def pattern({a, b}, env), do: {:tuple, env.line, patterns([a, b], env)}
  def pattern({form, meta, args}, env), do: node(form, meta, args, Error.at(env, meta))

  def pattern(other, env),
    do: Error.raise_at(env, env.line, "cannot use #{inspect(other)} in a pattern")

  defp patterns(asts, env), do: Enum.map(asts, &pattern(&1, env))

  defp node(:{}, _, elements, env), do: {:tuple, env.line, patterns(elements, env)}
  defp node(:%{}, _, pairs, env), do: Maps.pattern(pairs, env)
  defp node(:<<>>, _, segments, env), do: Binaries.pattern(segments, env)
  defp node(:<>, _, [a, b], env), do: Binaries.pattern(Binaries.joined(a, b), env)
  defp node(:%, _, [module, map], env), do: Maps.struct_pattern(module, map, env)
  defp node(:_, _, context, env) when is_atom(context), do: {:any, env.line}

  defp node(:^, _, [{name, meta, context}], env) when is_atom(name) and is_atom(context),
    do: {:pin, env.line, {name, Keyword.get(meta, :counter, context)}}

  defp node(:^, _, [other], env),
    do: Error.raise_at(env, env.line, "only a variable can be pinned, not #{Macro.to_string(other)}")

  defp node(:=, _, [a, b], env), do: {:all, env.line, flat(pattern(a, env)) ++ flat(pattern(b, env))}

  defp node(sign, _, [number], env) when sign in [:-, :+] and is_number(number),
    do: Syntax.expr({sign, [], [number]}, env)

  defp node(:++, _, [list, tail], env) do
    case literal_list(list, env) do
      {:ok, elements} -> list(elements, pattern(tail, env), env)
      :error -> Error.raise_at(env, env.line, "the left side of ++ in a pattern must be a literal list")
    end
  end

  defp node(:when, _, _, env),
    do: Error.raise_at(env, env.line, "a guard belongs behind the whole pattern")

  # A charlist in the new spelling; the general expansion works as well, but not inside of `++`.
  defp node(name, meta, args, env) do
    if variable?(name, args),
      do: {:bind, env.line, {name, Keyword.get(meta, :counter, args)}},
      else: expand({name, meta, args}, env)
  end

  defp variable?(name, context) do
    is_atom(name) and is_atom(context) and
      name not in [:__MODULE__, :__ENV__, :__DIR__, :__CALLER__, :__STACKTRACE__]
  end

  defp expand(ast, env) do
    case Macro.expand_once(ast, %{env | context: :match}) do
      ^ast ->
        Error.raise_at(
          env,
          env.line,
          "cannot use #{Macro.to_string(ast)} in a pattern; patterns are made of literals, variables, _, " <>
            "^pinned, tuples, lists, maps and binaries; conditions go into a guard"
        )

      expanded ->
        pattern(expanded, env)
    end
  end

  defp list(list, tail, env) do
    case List.pop_at(list, -1) do
      {{:|, _, [last, rest]}, before} when tail == nil ->
        cells(patterns(before ++ [last], env), pattern(rest, env), env)

      _ ->
        cells(patterns(list, env), tail || {:lit, env.line, []}, env)
    end
  end

  defp cells(heads, tail, env), do: List.foldr(heads, tail, &{:cons, env.line, &1, &2})

  defp literal_list(list, _) when is_list(list), do: {:ok, list}

  defp literal_list(ast, env) do
    case Macro.expand(ast, %{env | context: :match}) do
      list when is_list(list) -> {:ok, list}
      _ -> :error
    end
  end

  defp flat({:all, _, patterns}), do: patterns
  defp flat(pattern), do: [pattern]
end
