defmodule Mote.Behaviour.Syntax.Inspected do
  # `inspect`: its options, as far as they are written in place, and the structs that the module can show.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Imports, Syntax}
  alias Mote.Prelude

  @options %{
    syntax_colors: "colours are sequences for a terminal, which a node decides about",
    inspect_fun: "how a term is shown follows from its type"
  }

  @doc "`inspect(term)` and `inspect(term, options)`."
  @spec expr([Macro.t()], Macro.Env.t()) :: AST.expr()
  # What Elixir's own definitions call.
  def expr(args, %{module: Prelude.Inspected} = env),
    do: {:call, env.line, {nil, :text, length(args)}, Syntax.exprs(args, env)}

  def expr([term | options], %{line: l} = env) do
    for {:mote_missing, [reason]} <- Prelude.Inspected.__info__(:attributes),
        do: Error.raise_at(env, l, "inspect is not available in a behaviour: #{reason}")

    options = List.first(options, [])
    allowed(options, env)
    args = Syntax.exprs([term, options], env)

    if Module.open?(env.module),
      do: {:call, l, {Prelude.Inspected, :text_by, 3}, args ++ [structs(env)]},
      else: {:call, l, {Prelude.Inspected, :text, 2}, args}
  end

  defp allowed(options, env) do
    for {option, _} <- if(is_list(options), do: options, else: []), reason = @options[option] do
      Error.raise_at(env, env.line, "inspect has no option #{option}: in a behaviour: #{reason}")
    end
  end

  # What shows structs of the program: a function of the unit that calls.
  defp structs(%{line: l} = env) do
    variables = [Syntax.fresh(:struct), Syntax.fresh(:opts)]
    {:fn, l, variables, {:call, l, {nil, Imports.structs(env), 2}, Enum.map(variables, &{:var, l, &1})}}
  end
end
