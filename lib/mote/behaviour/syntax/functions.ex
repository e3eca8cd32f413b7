defmodule Mote.Behaviour.Syntax.Functions do
  # Functions, `fn … end` and `&` captures. Of one that stands where it is called, as in a loop of Enum, only a list of variables and a
  # body remain; elsewhere it is a value. What is called is a value where it is no such literal.
  @moduledoc false

  import Kernel, except: [apply: 3]

  alias Mote.Behaviour.{AST, Code, Error, Syntax, Warnings}

  @doc "The parameters and the body of a function literal with `arity` parameters."
  @spec literal(Macro.t(), arity, Macro.Env.t()) :: {[tuple], AST.expr()}
  def literal({:fn, meta, clauses}, arity, env) do
    env = Error.at(env, meta)
    clauses = Enum.map(clauses, &head(&1, arity, env))

    case clauses do
      [{patterns, [], body, env, _}] ->
        parameters = Enum.map(patterns, &parameter/1)
        named = Enum.filter(parameters, &match?({:ok, _}, &1))

        if Enum.all?(parameters, &(&1 != :error)) and named == Enum.uniq(named),
          do: {Enum.map(parameters, &variable/1), Syntax.expr(body, env)},
          else: matching(clauses, arity, env)

      _ ->
        matching(clauses, arity, env)
    end
  end

  def literal({:&, meta, [captured]}, arity, env) do
    env = Error.at(env, meta)
    captured |> from_capture(arity, env) |> literal(arity, env)
  end

  def literal(other, arity, env), do: other |> in_place(arity, env) |> literal(arity, env)

  @doc "A literal function that calls what is given as a function, which must not be calculated more than once."
  @spec in_place(Macro.t(), arity, Macro.Env.t()) :: Macro.t()
  def in_place({form, _, _} = literal, _arity, _env) when form in [:fn, :&], do: literal

  def in_place(value, arity, env) do
    refused!(value, "this loop", " of #{arity} argument#{if arity != 1, do: "s"}", "", env)
    arguments = arguments(arity)
    {:fn, [line: env.line], [{:->, [line: env.line], [arguments, {{:., [], [value]}, [], arguments}]}]}
  end

  @doc "Raises where something stands in the place of a function that can be none."
  @spec refused!(Macro.t(), String.t(), String.t(), String.t(), Macro.Env.t()) :: :ok
  def refused!(value, what, which, more, env) do
    if possible?(value) do
      :ok
    else
      Error.raise_at(
        env,
        env.line,
        "#{what} wants a function#{which}, such as fn … end or a & capture#{more}, got: #{Macro.to_string(value)}"
      )
    end
  end

  defp possible?({form, _, _}), do: form not in [:{}, :%{}, :%, :<<>>, :__aliases__]
  defp possible?(_), do: false

  @doc """
  What `make` makes of arguments, in which those that are functions (`funs` says which) may stand several times: what has to be
  calculated is calculated before. So are all where one of them binds a variable, which none of the others is to see.
  """
  @spec settled([Macro.t()], [boolean], Macro.Env.t(), ([Macro.t()] -> AST.expr())) :: AST.expr()
  def settled(args, funs, env, make) do
    calculated? = fn {arg, fun} -> (fun and not simple?(arg) and possible?(arg)) or binds?(arg) end
    if args |> Enum.zip(funs) |> Enum.any?(calculated?), do: given(args, env, make), else: make.(args)
  end

  @doc "What `make` makes of arguments, each of which is calculated once, in their order, without seeing what another one binds."
  @spec given([Macro.t()], Macro.Env.t(), ([Macro.t()] -> AST.expr())) :: AST.expr()
  def given(args, env, make) do
    case calculated(args, env) do
      {args, []} -> make.(args)
      {args, calculated} -> inside(args, calculated, env, make)
    end
  end

  @doc "Does the same, and what the code that `make` makes binds stays inside of it."
  @spec inside([Macro.t()], Macro.Env.t(), ([Macro.t()] -> AST.expr())) :: AST.expr()
  def inside(args, env, make) do
    {args, calculated} = calculated(args, env)
    inside(args, calculated, env, make)
  end

  defp inside(args, calculated, env, make) do
    {variables, values} = calculated |> Enum.reverse() |> Enum.unzip()
    {:given, env.line, variables, values, make.(args)}
  end

  defp calculated(args, env) do
    Enum.map_reduce(args, [], fn arg, calculated ->
      value = if not simple?(arg), do: Syntax.expr(arg, env)

      if value == nil or AST.simple?(value) do
        {arg, calculated}
      else
        {name, counter} = variable = Syntax.fresh(:given)
        {{name, [counter: counter], nil}, [{variable, value} | calculated]}
      end
    end)
  end

  @doc "Returns whether code binds a variable, outside of functions and blocks, which keep that to themselves."
  @spec binds?(Macro.t()) :: boolean
  def binds?(ast)
  def binds?({:=, _, [_, _]}), do: true
  def binds?({form, _, _}) when form in [:fn, :&, :for], do: false
  def binds?({form, _, args}), do: binds?(form) or binds?(args)
  def binds?({:do, _}), do: false
  def binds?({a, b}), do: binds?(a) or binds?(b)
  def binds?([head | tail]), do: binds?(head) or binds?(tail)
  def binds?(_), do: false

  @doc "Returns whether code may stand several times, and in another place, without anybody noticing."
  @spec simple?(Macro.t()) :: boolean
  def simple?({form, _, _}) when form in [:fn, :&, :__aliases__], do: true
  def simple?({name, _, context}) when is_atom(name) and is_atom(context), do: true
  def simple?({a, b}), do: simple?(a) and simple?(b)
  def simple?(value), do: is_atom(value) or is_number(value) or is_binary(value)

  @doc "A function that is a value."
  @spec value(Macro.t(), Macro.Env.t()) :: AST.expr()
  def value(fun, env) do
    case arity(fun) do
      n when n in [nil, 0] and elem(fun, 0) == :& ->
        no_capture(fun, env)

      n ->
        most!(n, env)
        {variables, body} = literal(fun, n, env)
        {:fn, env.line, variables, body}
    end
  end

  defp no_capture({:&, _, [n]} = fun, env) when is_integer(n), do: literal(fun, 1, env)

  # It captures no argument, or a function without any.
  defp no_capture({:&, _, [{:/, _, [_, 0]}]} = fun, env) do
    {variables, body} = literal(fun, 0, env)
    {:fn, env.line, variables, body}
  end

  defp no_capture(fun, env) do
    Error.raise_at(
      env,
      env.line,
      "#{Macro.to_string(fun)} captures no argument: a function without arguments is fn -> … end, and a named one &name/0"
    )
  end

  # The function itself is one more.
  defp most!(arity, env) do
    if arity >= Code.most_parameters() do
      Error.raise_at(
        env,
        env.line,
        "a function that is a value has at most #{Code.most_parameters() - 1} arguments, not #{arity}"
      )
    end
  end

  @doc "A call of what is a function only when the code runs."
  @spec apply(Macro.t(), [Macro.t()], Macro.Env.t()) :: AST.expr()
  def apply(fun, args, env) do
    most!(length(args), env)
    {:apply, env.line, nil, Syntax.exprs([fun | args], env)}
  end

  @doc "Returns how many arguments a literal function takes; nil of anything else."
  @spec arity(Macro.t()) :: arity | nil
  def arity({:fn, _, [{:->, _, [[{:when, _, patterns_and_guard}], _]} | _]}),
    do: length(patterns_and_guard) - 1

  def arity({:fn, _, [{:->, _, [patterns, _]} | _]}), do: length(patterns)
  def arity({:&, _, [{:/, _, [_, arity]}]}) when is_integer(arity), do: arity
  def arity({:&, _, [n]}) when is_integer(n), do: nil
  def arity({:&, _, [expression]}), do: elem(captured(expression), 1)
  def arity(_), do: nil

  @doc "A literal function called where it stands: its parameters are bound for its body alone."
  @spec call(Macro.t(), [Macro.t()], Macro.Env.t()) :: AST.expr()
  def call(fun, args, env) do
    {variables, body} = literal(fun, length(args), env)

    variables
    |> Enum.zip(Syntax.exprs(args, env))
    |> List.foldr(body, fn {variable, value}, body ->
      clause = {:clause, env.line, {:bind, env.line, variable}, [], body}
      {:case, env.line, value, [clause], :case_clause}
    end)
  end

  # Several clauses, guards or patterns: a case over all parameters. It builds no tuple in the end.
  defp matching(clauses, arity, env) do
    variables = for n <- 1..arity//1, do: Syntax.fresh(:"arg#{n}")
    reads = Enum.map(variables, &{:var, env.line, &1})

    clauses =
      for {patterns, guards, body, env, meta} <- clauses do
        case patterns do
          [one] ->
            {:clause, _, pattern, _, _} = clause = Syntax.clause(one, guards, body, env)
            {[pattern], clause, meta}

          several ->
            tuple = {:{}, [], several}
            {:clause, _, {:tuple, _, patterns}, _, _} = clause = Syntax.clause(tuple, guards, body, env)
            {patterns, clause, meta}
        end
      end

    Warnings.unreachable(clauses, env)
    clauses = for {_, clause, _} <- clauses, do: clause
    subject = if arity == 1, do: hd(reads), else: {:tuple, env.line, reads}
    {variables, {:case, env.line, subject, clauses, fail(arity, env)}}
  end

  # The name that Elixir would give to the function, and shows as "anonymous fn/1 in …".
  defp fail(arity, %{function: function}) do
    {name, n} = Code.written(function)
    {:function_clause, :"-#{name}/#{n}-fun-0-", arity}
  end

  defp head({:->, meta, [heads, body]}, arity, env) do
    env = Error.at(env, meta)

    {patterns, guards} =
      case heads do
        [{:when, _, patterns_and_guard}] ->
          {patterns, [guard]} = Enum.split(patterns_and_guard, -1)
          {patterns, Syntax.alternatives(guard)}

        patterns ->
          {patterns, []}
      end

    if length(patterns) != arity do
      Error.raise_at(
        env,
        env.line,
        "this loop calls its function with #{arity} argument#{if arity != 1, do: "s"}, " <>
          "the function has #{length(patterns)}"
      )
    end

    {patterns, guards, body, env, meta}
  end

  defp parameter({:_, _, context}) when is_atom(context), do: :any

  defp parameter({name, meta, context}) when is_atom(name) and is_atom(context),
    do: {:ok, {name, Keyword.get(meta, :counter, context)}}

  defp parameter(_), do: :error

  defp variable(:any), do: Syntax.fresh(:_)
  defp variable({:ok, variable}), do: variable

  # -- captures ------------------------------------------------------------------------------------------------

  defp from_capture({:/, _, [{name, meta, context}, arity]}, arity, _)
       when is_atom(name) and is_atom(context) do
    arguments = arguments(arity)
    {:fn, meta, [{:->, meta, [arguments, {name, meta, arguments}]}]}
  end

  defp from_capture({:/, _, [{{:., dot, [module, name]}, meta, []}, arity]}, arity, _) do
    arguments = arguments(arity)
    {:fn, meta, [{:->, meta, [arguments, {{:., dot, [module, name]}, meta, arguments}]}]}
  end

  # `&(1)` is the same.
  defp from_capture(n, _, env) when is_integer(n) do
    Error.raise_at(
      env,
      env.line,
      "&#{n} is an argument of a capture, and no function: the capture of an argument alone is &(&#{n}), and a function that " <>
        "returns #{n} is fn … -> #{n} end"
    )
  end

  defp from_capture(expression, arity, env) do
    nested(expression, env)
    {body, highest} = captured(expression)

    if highest != arity do
      Error.raise_at(
        env,
        env.line,
        "this loop calls its function with #{arity} argument#{if arity != 1, do: "s"}: " <>
          Macro.to_string({:&, [], [expression]})
      )
    end

    {:fn, [line: env.line], [{:->, [line: env.line], [arguments(arity), body]}]}
  end

  # `&name/arity` has no arguments of its own that could be taken for those of the capture around it.
  defp nested(expression, env) do
    Macro.prewalk(expression, fn
      {:&, _, [n]} = argument when is_integer(n) ->
        argument

      {:&, _, [{:/, _, [_, arity]}]} = named when is_integer(arity) ->
        named

      {:&, _, [_]} = inner ->
        Error.raise_at(
          env,
          env.line,
          "captures cannot be nested, got #{Macro.to_string(inner)} inside of #{Macro.to_string({:&, [], [expression]})}: " <>
            "write one of them as fn … end"
        )

      other ->
        other
    end)
  end

  # What is captured, and the highest of its arguments.
  defp captured(expression) do
    Macro.prewalk(expression, 0, fn
      {:&, _, [n]}, highest when is_integer(n) -> {argument(n), max(n, highest)}
      other, highest -> {other, highest}
    end)
  end

  defp arguments(arity), do: for(n <- 1..arity//1, do: argument(n))
  defp argument(n), do: {:"&#{n}", [], __MODULE__}
end
