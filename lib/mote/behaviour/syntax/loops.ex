defmodule Mote.Behaviour.Syntax.Loops do
  # `for` and the loops of Enum -> the one `:loop` node of the Mote AST. Turning loops into functions is the
  # business of the pass `Mote.Behaviour.Loops`.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Imports, Syntax}
  alias Mote.Behaviour.Syntax.{Functions, Ranges}

  @enum [map: 2, each: 2, filter: 2, reduce: 3, sum: 1]

  @doc "Returns whether `Enum.name/arity` is a loop of the language."
  def loop?(name, arity), do: {name, arity} in @enum

  @doc "The loops of Enum."
  @spec functions() :: [{module, atom, arity}]
  def functions, do: for({name, arity} <- @enum, do: {Enum, name, arity})

  @doc "A loop of Enum."
  @spec enum(atom, [Macro.t()], Macro.Env.t()) :: AST.expr()
  def enum(name, args, env) when name in [:map, :each, :filter, :reduce] do
    funs = for n <- 1..length(args), do: n == length(args)
    Functions.settled(args, funs, env, &loop(name, &1, env))
  end

  # Of a range the sum is calculated: of one that is written in place, and of what turns out to be one.
  def enum(:sum, args, env), do: Functions.settled(args, [false], env, &sum(&1, env))

  defp sum([source], env) do
    written = Ranges.parts(source, env) != :error
    source = made(source, env)

    cond do
      written -> sum_of_range(source, env)
      AST.list?(source) -> added(source, env)
      true -> sum_by_type(source, env)
    end
  end

  defp loop(:map, [source, fun], env) do
    {[x], body} = Functions.literal(fun, 1, env)
    {:loop, env.line, [gen(x, source, env)], {:collect, body}}
  end

  defp loop(:each, [source, fun], env) do
    {[x], body} = Functions.literal(fun, 1, env)
    {:loop, env.line, [gen(x, source, env)], {:each, body}}
  end

  defp loop(:filter, [source, fun], env) do
    {[x], test} = Functions.literal(fun, 1, env)
    quals = [gen(x, source, env), {:filter, env.line, test}]
    {:loop, env.line, quals, {:collect, {:var, env.line, x}}}
  end

  defp loop(:reduce, [source, initial, fun], env) do
    {[x, acc], body} = Functions.literal(fun, 2, env)
    {:loop, env.line, [gen(x, source, env)], {:reduce, Syntax.expr(initial, env), acc, body}}
  end

  defp sum_by_type(source, %{line: l} = env) do
    {map, other} = {Syntax.fresh(:source), Syntax.fresh(:source)}
    map_read = {:var, l, map}

    clauses = [
      {:clause, l, {:bind, l, map}, [AST.op(l, :is_map, [map_read])], sum_of_range(map_read, env)},
      {:clause, l, {:bind, l, other}, [], added({:var, l, other}, env)}
    ]

    {:case, l, source, clauses, :case_clause}
  end

  defp sum_of_range(range, env), do: {:call, env.line, {Mote.Prelude.Range, :sum, 1}, [range]}

  defp added(source, env) do
    {x, acc} = {Syntax.fresh(:x), Syntax.fresh(:sum)}
    sum = {:op, env.line, :add, [{:var, env.line, acc}, {:var, env.line, x}]}
    gen = {:gen, env.line, {:bind, env.line, x}, [], {:list, env.line, AST.elements(env.line, source)}}
    {:loop, env.line, [gen], {:reduce, {:lit, env.line, 0}, acc, sum}}
  end

  @doc "A comprehension."
  @spec for([Macro.t()], Macro.Env.t()) :: AST.expr()
  def for(args, env) do
    {quals, opts} = split_opts(args)
    check_opts(opts, env)
    quals = Enum.map(quals, &qualifier(&1, env))

    unless match?([{:gen, _, _, _, _} | _], quals) do
      Error.raise_at(
        env,
        env.line,
        "for must start with a generator: pattern <- list or range, or <<pattern <- binary>>"
      )
    end

    {:loop, env.line, quals, collector(opts, env)} |> uniq(opts[:uniq], env) |> into(opts[:into], env)
  end

  defp uniq(loop, true, env), do: {:call, env.line, {Mote.Prelude.Enum, :uniq, 1}, [loop]}
  defp uniq(loop, _, _), do: loop

  defp into(loop, none, _) when none in [nil, []], do: loop

  # It is calculated before anything else, and what it binds is seen by nobody.
  defp into(loop, target, %{line: l} = env) do
    made = &{:call, l, {Mote.Prelude.Enum, :into, 2}, [loop, Syntax.expr(&1, env)]}
    Functions.inside([], env, fn [] -> Functions.given([target], env, fn [target] -> made.(target) end) end)
  end

  # Keyword options and the do block are separate arguments.
  defp split_opts(args) do
    {opts, quals} = args |> Enum.reverse() |> Enum.split_while(&opts?/1)
    {Enum.reverse(quals), opts |> Enum.reverse() |> Enum.concat()}
  end

  defp opts?(arg), do: Keyword.keyword?(arg) and arg != []

  defp check_opts(opts, env) do
    case Keyword.keys(opts) -- [:do, :into, :reduce, :uniq] do
      [] ->
        :ok

      [key | _] ->
        Error.raise_at(
          env,
          env.line,
          "for takes no #{key}: in a behaviour; there are into:, reduce: and uniq:"
        )
    end

    if Keyword.has_key?(opts, :into) and Keyword.has_key?(opts, :reduce),
      do: Error.raise_at(env, env.line, "for takes into: or reduce:, not both")

    uniq = Keyword.get(opts, :uniq, false)

    unless is_boolean(uniq),
      do: Error.raise_at(env, env.line, "uniq: of for is true or false, got: #{Macro.to_string(uniq)}")

    if uniq and Keyword.has_key?(opts, :reduce),
      do: Error.raise_at(env, env.line, "for takes uniq: or reduce:, not both: reduce over Enum.uniq(…)")

    unless Keyword.has_key?(opts, :do), do: Error.raise_at(env, env.line, "for needs a do block")
  end

  defp collector(opts, env) do
    case Keyword.fetch(opts, :reduce) do
      :error -> {:collect, Syntax.expr(opts[:do], env)}
      {:ok, initial} -> reduce(initial, opts[:do], env)
    end
  end

  defp reduce(initial, body, env) do
    clauses = Syntax.arrows(body, "for with reduce:", "acc -> …", env)
    initial = Syntax.expr(initial, env)

    case Syntax.clauses(clauses, env) do
      [{:clause, _, {:bind, _, acc}, [], body}] ->
        {:reduce, initial, acc, body}

      clauses ->
        acc = Syntax.fresh(:acc)
        body = {:case, env.line, {:var, env.line, acc}, clauses, :case_clause}
        {:reduce, initial, acc, body}
    end
  end

  defp qualifier({:<-, meta, [pattern, source]}, env) do
    env = Error.at(env, meta)
    {pattern, guards} = Syntax.split_guards(pattern)
    pattern = Syntax.Pattern.pattern(pattern, env)
    {:gen, env.line, pattern, Syntax.guards(guards, env), source(source, env)}
  end

  defp qualifier({:<<>>, meta, [_ | _] = segments} = filter, env) do
    case Enum.split(segments, -1) do
      {init, [{:<-, _, [last, source]}]} ->
        env = Error.at(env, meta)
        pattern = Syntax.Binaries.generator(init ++ [last], env)
        {:gen, env.line, pattern, [], {:binary, env.line, Syntax.expr(source, env)}}

      _ ->
        {:filter, env.line, Syntax.expr(filter, env)}
    end
  end

  defp qualifier(filter, env), do: {:filter, env.line, Syntax.expr(filter, env)}

  defp gen(variable, source, env),
    do: {:gen, env.line, {:bind, env.line, variable}, [], source(source, env)}

  @doc "An expression, a range as its list."
  @spec listed(Macro.t(), Macro.Env.t()) :: AST.expr()
  def listed(ast, env) do
    # What is no range is expanded once: in a pipeline each step that did so twice would double the work of all before it.
    case range(ast, env) do
      nil ->
        Syntax.expr(ast, env)

      range ->
        x = Syntax.fresh(:x)
        gen = {:gen, env.line, {:bind, env.line, x}, [], range}
        {:loop, env.line, [gen], {:collect, {:var, env.line, x}}}
    end
  end

  defp source(ast, env),
    do: range(ast, env) || {:list, env.line, AST.elements(env.line, made(ast, env))}

  defp made(ast, env), do: ast |> Syntax.expr(env) |> Imports.source(:listed, env)

  # A range that is written in place.
  defp range(ast, env) do
    with {:ok, first, last, step} <- Ranges.parts(ast, env) do
      [first, last, step] = Enum.map([first, last, step], &(&1 && Syntax.expr(&1, env)))
      {:range, env.line, first, last, step}
    else
      :error -> nil
    end
  end
end
