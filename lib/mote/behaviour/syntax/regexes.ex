defmodule Mote.Behaviour.Syntax.Regexes do
  # `~r/…/`: the regex that Elixir makes of it, as a literal.
  #
  # 1. What a machine certainly does not know is refused here; where that is seen only when it runs, the turn is aborted.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}
  alias Mote.Behaviour.Syntax.{Calls, Functions}

  # Behind an even number of backslashes.
  @unknown [
    {~S"\\[pP]", "\\p{…}"},
    {~S"\\[XRKGQECNgoc]", "\\X, \\R, \\K, \\G, \\Q…\\E and the like"},
    {~S"\(\*", "(*VERB)"},
    {~S"\(\?(?:[R(&|+]|-?[0-9]|P[>=])", "(?(condition)…), (?|…) and patterns that call themselves"}
  ]

  @doc "The literal of a sigil, whose text is written in place."
  @spec literal(:sigil_r | :sigil_R, [Macro.t()], Macro.Env.t()) :: AST.expr()
  def literal(sigil, [{:<<>>, _, parts}, _] = args, env) do
    if not Enum.all?(parts, &is_binary/1) do
      Error.raise_at(env, env.line, "a regex with \#{…} in it is not known when compiling: write it without")
    end

    known({sigil, [], args}, env)
  rescue
    error in Regex.CompileError -> Error.raise_at(env, env.line, Exception.message(error))
  end

  @doc "Does the same for a regex that Elixir has made, such as the value of an `@attribute`."
  @spec made([{Macro.t(), Macro.t()}], Macro.Env.t()) :: AST.expr()
  def made(pairs, env), do: known({:%{}, [], pairs}, env)

  defp known(code, env) do
    {%Regex{source: source} = regex, _} = Code.eval_quoted(code, [], file: env.file, line: env.line)

    for {construct, name} <- @unknown, source =~ Regex.compile!("(?<!\\\\)(?:\\\\\\\\)*" <> construct) do
      Error.raise_at(
        env,
        env.line,
        "a machine knows no #{name} in a regex: match it before you send the text"
      )
    end

    {:lit, env.line, carried(regex)}
  end

  @doc """
  A call of `String.split`, `replace` or `count`, whose pattern is a regex, or turns out to be one; `plain` makes what the others are. A function that is
  written in place stays part of the code there, so only a regex that is known when compiling takes one.
  """
  @spec call(:split | :replace | :count, [Macro.t()], Macro.Env.t(), ([Macro.t()] -> AST.expr())) ::
          AST.expr()
  def call(name, [_, pattern | rest] = args, %{line: l} = env, plain) do
    case {Syntax.expr(pattern, env), rest} do
      {{:lit, _, %Regex{}}, _} ->
        by_regex(name, args, env)

      {_, [{form, _, _} | _]} when form in [:fn, :&] ->
        plain.(args)

      {{tag, _, _}, _} when tag in [:lit, :cons] ->
        plain.(args)

      {{:op, _, :bin_of, _}, _} ->
        plain.(args)

      _ ->
        Functions.settled(args, Enum.map(args, fn _ -> true end), env, fn [_, pattern | _] = args ->
          test = AST.op(l, :is_map, [Syntax.expr(pattern, env)])
          {:if, l, test, by_regex(name, args, env), plain.(args)}
        end)
    end
  end

  defp by_regex(name, [text, regex | rest], env),
    do: Calls.function(Mote.Prelude.Regex, name, [regex, text | rest], env)

  # From OTP 28 on a compiled pattern is a reference, which only the node knows that has made it.
  defp carried(%Regex{re_pattern: {:re_pattern, _, _, _, bytes}} = regex) when is_binary(bytes), do: regex
  defp carried(regex), do: Map.replace!(regex, :re_pattern, nil)
end
