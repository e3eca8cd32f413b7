defmodule Mote.Behaviour.Syntax.With do
  # `with` -> a `case` for each of its arrows, one inside of the other. A value that does not match goes
  # through the clauses of `else`, of which each arrow has a copy, or is the value of the whole `with`.
  #
  # 1. What the steps bind is for later steps and the body: a name that `else` has, too, is another variable there.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}
  alias Mote.Behaviour.Syntax.Pattern

  @doc "A `with`, by its arguments."
  @spec expr([Macro.t()], Macro.Env.t()) :: AST.expr()
  def expr(args, env) do
    {steps, opts} = Enum.split(args, -1)

    case List.flatten(opts) do
      [{:do, body}] ->
        scoped(steps, nest(steps, body, & &1, env), env)

      [{:do, body}, {:else, arrows}] ->
        {steps, body} = apart(steps, body, variables(arrows))
        scoped(steps, nest(steps, body, otherwise(arrows, env), env), env)

      _ ->
        Error.raise_at(
          env,
          env.line,
          "with needs a do block, and takes an else block behind it, nothing else"
        )
    end
  end

  defp apart([], body, _), do: {[], body}

  defp apart([{form, meta, [pattern, value]} | steps], body, read) when form in [:<-, :=] do
    renamed = pattern |> bound() |> MapSet.intersection(read) |> Map.new(&{&1, Syntax.fresh(:step)})
    {steps, body} = renamed({steps, body}, renamed)
    {steps, body} = apart(steps, body, read)
    {[{form, meta, [unpinned(pattern, renamed), value]} | steps], body}
  end

  defp apart([step | steps], body, read) do
    {steps, body} = apart(steps, body, read)
    {[step | steps], body}
  end

  # Neither guards, pins nor sizes bind.
  defp bound(pattern) do
    pattern
    |> Macro.prewalk(fn
      {:when, _, [pattern | _]} -> [pattern]
      {:"::", _, [pattern, _]} -> [pattern]
      {:^, _, _} -> nil
      other -> other
    end)
    |> variables()
  end

  defp unpinned({:^, _, _} = pin, _), do: pin
  defp unpinned({form, meta, args}, renamed) when is_list(args), do: {form, meta, unpinned(args, renamed)}
  defp unpinned({a, b}, renamed), do: {unpinned(a, renamed), unpinned(b, renamed)}
  defp unpinned(list, renamed) when is_list(list), do: Enum.map(list, &unpinned(&1, renamed))
  defp unpinned(other, renamed), do: renamed(other, renamed)

  defp variables(code) do
    {_, found} =
      Macro.prewalk(code, MapSet.new(), &{&1, if(name = variable(&1), do: MapSet.put(&2, name), else: &2)})

    found
  end

  defp renamed(code, renamed) when renamed == %{}, do: code

  defp renamed(code, renamed) do
    Macro.prewalk(code, fn node ->
      case renamed[variable(node)] do
        nil -> node
        {_, counter} -> put_elem(node, 1, Keyword.put(elem(node, 1), :counter, counter))
      end
    end)
  end

  defp variable({name, meta, context}) when is_atom(name) and is_atom(context) and name != :_,
    do: {name, Keyword.get(meta, :counter, context)}

  defp variable(_), do: nil

  defp nest([], body, _, env), do: Syntax.expr(body, env)

  defp nest([{:<-, meta, [pattern, value]} | steps], body, otherwise, env) do
    env = Error.at(env, meta)
    {pattern, guards} = Syntax.split_guards(pattern)
    pattern = Pattern.pattern(pattern, env)
    guards = Syntax.guards(guards, env)
    clause = {:clause, env.line, pattern, guards, nest(steps, body, otherwise, env)}
    others = if matches_all?(pattern, guards), do: [], else: [other(otherwise, env)]
    {:case, env.line, Syntax.expr(value, env), [clause | others], :case_clause}
  end

  defp nest([step | steps], body, otherwise, env),
    do: AST.block(env.line, [Syntax.expr(step, env), nest(steps, body, otherwise, env)])

  defp matches_all?(pattern, guards), do: guards == [] and elem(pattern, 0) in [:any, :bind]

  defp other(otherwise, env) do
    value = Syntax.fresh(:other)
    {:clause, env.line, {:bind, env.line, value}, [], otherwise.({:var, env.line, value})}
  end

  defp otherwise(arrows, env) do
    clauses = arrows |> Syntax.arrows("else", "pattern -> body", env) |> Syntax.clauses(env)
    &{:case, env.line, &1, clauses, :with_clause}
  end

  # What a first step binds is for the others only.
  defp scoped([{:<-, _, _} | _], nested, _), do: nested

  defp scoped(_, nested, env) do
    clause = {:clause, env.line, {:any, env.line}, [], nested}
    {:case, env.line, {:lit, env.line, nil}, [clause], :case_clause}
  end
end
