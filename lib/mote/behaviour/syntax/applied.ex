defmodule Mote.Behaviour.Syntax.Applied do
  # `apply/2` and `apply/3`: calls, as far as they say which function is called, and with how many arguments.
  @moduledoc false

  alias Mote.Behaviour.{Error, Syntax}

  # As many elements as a list has at most that is not written in place.
  @most 8

  @doc "A call with these arguments."
  @spec expr([Macro.t()], Macro.Env.t()) :: AST.expr()
  def expr(args, env), do: expr(args, List.last(args), env)

  # A list that is written in place.
  defp expr([fun, args], args, env) when is_list(args),
    do:
      if(proper?(args),
        do: Syntax.expr({{:., [], [fun]}, [], args}, env),
        else: expr([fun, args], nil, env)
      )

  defp expr([module, name, args], _, env) when is_atom(name) and is_list(args),
    do: Syntax.expr({{:., [], [module, name]}, [], args}, env)

  defp expr([fun, args], _, %{line: l} = env) do
    [variable, list] = [Syntax.fresh(:given), Syntax.fresh(:list)]

    clauses =
      for n <- 0..@most do
        variables = for _ <- 1..n//1, do: Syntax.fresh(:arg)
        pattern = List.foldr(variables, {:lit, l, []}, &{:cons, l, {:bind, l, &1}, &2})
        {:clause, l, pattern, [], {:apply, l, nil, Enum.map([variable | variables], &{:var, l, &1})}}
      end

    {:given, l, [variable, list], Syntax.exprs([fun, args], env),
     {:case, l, {:var, l, list}, clauses, :case_clause}}
  end

  defp expr(_, _, env) do
    Error.raise_at(
      env,
      env.line,
      "apply/3 wants a name and a list that are written in place: which function is called must be known when compiling"
    )
  end

  defp proper?(list), do: not match?({:|, _, _}, List.last(list))
end
