defmodule Mote.Behaviour.Syntax.With do
  # `with` -> a `case` for each of its arrows, one inside of the other. A value that does not match goes
  # through the clauses of `else`, of which each arrow has a copy, or is the value of the whole `with`.
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
        scoped(steps, nest(steps, body, otherwise(arrows, env), env), env)

      _ ->
        Error.raise_at(
          env,
          env.line,
          "with needs a do block, and takes an else block behind it, nothing else"
        )
    end
  end

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
