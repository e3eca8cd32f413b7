defmodule Mote.Behaviour.Loops do
  # Third pass: every loop becomes a function that calls itself last, with the variables it uses from outside as
  # extra parameters. After it there is no `:loop` node, and both the machine's code and the plain Elixir code spend
  # fuel and depth at the same places.
  #
  # Over a list, with the accumulator `acc` and free variables `v`:
  #
  #     loop([x | rest], acc, v) -> loop(rest, <body>, v)
  #     loop([], acc, v)         -> <result>
  #     loop(_, acc, v)          -> no answer
  #
  # Over a binary the function carries a position; over a range `i` runs with the step until a counter (or, when the bounds are literal, `i` itself) says stop.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Error}
  alias Mote.Behaviour.Loops.{Accumulators, Binary, Closures, Gather, Locals, Onto, Range}

  @doc "A unit without loops; the functions made of them are among its codes."
  @spec unit(map) :: map
  def unit(unit), do: %{unit | codes: unit.codes |> Enum.flat_map(&code(&1, unit.file)) |> Onto.codes()}

  defp code(code, file) do
    s = %{code: code, file: file, next: code.next, lifted: [], count: 0}
    {body, s} = expr(code.body, code.kind != :actor, s)
    lifted = for made <- Enum.reverse(s.lifted), do: %{made | origin: code.origin}
    lifted ++ [%{code | body: body, next: s.next}]
  end

  # -- walking -------------------------------------------------------------------------------------------------

  # `used` tells whether anybody looks at the value: a comprehension for its effects only builds no list.
  defp expr({tag, _, _} = node, _used, s) when tag in [:lit, :var], do: {node, s}
  defp expr({:self, _} = node, _used, s), do: {node, s}

  defp expr({:block, l, es}, used, s) do
    {init, [last]} = Enum.split(es, -1)
    {init, s} = Enum.map_reduce(init, s, &expr(&1, false, &2))
    {last, s} = expr(last, used, s)
    {{:block, l, init ++ [last]}, s}
  end

  defp expr({:tuple, l, es}, _used, s) do
    {es, s} = exprs(es, s)
    {{:tuple, l, es}, s}
  end

  defp expr({:if, l, test, yes, no}, used, s) do
    {test, s} = expr(test, true, s)
    {yes, s} = expr(yes, used, s)
    {no, s} = expr(no, used, s)
    {{:if, l, test, yes, no}, s}
  end

  defp expr({:case, l, e, clauses, fail}, used, s) do
    {e, s} = expr(e, true, s)

    {clauses, s} =
      Enum.map_reduce(clauses, s, fn {:clause, l, pattern, guards, body}, s ->
        {body, s} = expr(body, used, s)
        {{:clause, l, pattern, guards, body}, s}
      end)

    {{:case, l, e, clauses, fail}, s}
  end

  defp expr({:cond, l, clauses}, used, s) do
    {clauses, s} =
      Enum.map_reduce(clauses, s, fn {test, body}, s ->
        {test, s} = expr(test, true, s)
        {body, s} = expr(body, used, s)
        {{test, body}, s}
      end)

    {{:cond, l, clauses}, s}
  end

  defp expr({tag, l, a, b}, used, s) when tag in [:and, :or, :both, :either] do
    {a, s} = expr(a, true, s)
    {b, s} = expr(b, used, s)
    {{tag, l, a, b}, s}
  end

  defp expr({:match, l, pattern, e}, _used, s) do
    {e, s} = expr(e, true, s)
    {{:match, l, pattern, e}, s}
  end

  defp expr({tag, l, a, b}, _used, s) when tag in [:cons, :send] do
    {[a, b], s} = exprs([a, b], s)
    {{tag, l, a, b}, s}
  end

  defp expr({tag, l, a, b, c}, _used, s) when tag in [:sendx, :send_after, :monitor] do
    {[a, b, c], s} = exprs([a, b, c], s)
    {{tag, l, a, b, c}, s}
  end

  defp expr({tag, l, e}, _used, s) when tag in [:abort, :attempt, :cancel_timer, :unstash] do
    {e, s} = expr(e, true, s)
    {{tag, l, e}, s}
  end

  defp expr({tag, l, name, es}, _used, s) when tag in [:op, :none, :call, :become, :local, :apply] do
    {es, s} = exprs(es, s)
    {{tag, l, name, es}, s}
  end

  defp expr({:create, l, name, es, sponsor}, _used, s) do
    {all, s} = exprs(es ++ List.wrap(sponsor), s)
    {es, rest} = Enum.split(all, length(es))
    {{:create, l, name, es, List.first(rest)}, s}
  end

  defp expr({:loop, l, quals, collector}, used, s), do: loop(l, quals, collector, used, s)

  defp expr({:gather, l, verb, values, {params, body}, sponsor}, _used, s) do
    {all, s} = exprs(values ++ List.wrap(sponsor), s)
    {values, sponsor} = Enum.split(all, 3)
    {body, s} = expr(body, true, s)
    Gather.lift(l, verb, values, {params, body}, sponsor, s)
  end

  defp expr({:fn, l, params, body}, _used, s) do
    {body, s} = expr(body, true, s)
    Closures.lift(l, params, body, s)
  end

  defp expr({:letrec, l, functions, e}, _used, s) do
    {functions, s} =
      Enum.map_reduce(functions, s, fn {key, params, body}, s ->
        {body, s} = expr(body, true, s)
        {{key, params, body}, s}
      end)

    {e, s} = expr(e, true, s)
    Locals.lift(l, functions, e, s)
  end

  defp exprs(es, s), do: Enum.map_reduce(es, s, &expr(&1, true, &2))

  # -- loops ---------------------------------------------------------------------------------------------------

  defp loop(l, quals, {:collect, body}, false, s), do: loop(l, quals, {:each, body}, false, s)

  defp loop(l, quals, {:each, body}, _, s) do
    {body, s} = expr(body, false, s)
    step = fn s -> {body, s} end
    levels(quals, nil, nil, step, {:lit, l, :ok}, s)
  end

  defp loop(l, quals, {:collect, body}, true, s) do
    {body, s} = expr(body, true, s)
    {acc, s} = fresh(:acc, s)
    read = {:var, l, acc}
    step = fn s -> {AST.cons(l, body, read), s} end
    levels(quals, {:lit, l, []}, acc, step, {:sure, l, :reverse, [read]}, s)
  end

  # Elixir calculates what a loop begins with before it goes through what it was given.
  defp loop(l, [{:gen, g, pattern, guards, source} | quals] = all, {:reduce, initial, acc, body}, used, s) do
    with {:list, _, {:op, o, :elements, [source]}} <- source,
         false <- quiet?(initial) do
      {[source, initial], {matches, s}} = Enum.map_reduce([source, initial], {[], s}, &named/2)
      gen = {:gen, g, pattern, guards, {:list, l, {:op, o, :elements, [source]}}}
      loop = {:loop, l, [gen | quals], {:reduce, initial, acc, body}}
      expr({:block, l, Enum.reverse([loop | matches])}, used, s)
    else
      _ -> reduce(l, all, {:reduce, initial, acc, body}, s)
    end
  end

  defp reduce(l, quals, {:reduce, initial, acc, body}, s) do
    {initial, s} = expr(initial, true, s)
    {body, s} = expr(body, true, s)

    with [_] <- Enum.filter(quals, &match?({:gen, _, _, _, _}, &1)),
         {:ok, initials, accs, body, s} <- Accumulators.split(initial, acc, body, s) do
      build(quals, initials, [accs], nil, fn s -> {body, s} end, nil, s)
    else
      _ -> levels(quals, initial, acc, fn s -> {body, s} end, {:var, l, acc}, s)
    end
  end

  # Whether it cannot be noticed when it is calculated.
  defp quiet?({tag, _, es}) when tag == :tuple, do: Enum.all?(es, &quiet?/1)
  defp quiet?({:cons, _, a, b}), do: quiet?(a) and quiet?(b)
  defp quiet?(e), do: AST.simple?(e)

  # A tuple stays one, so that its elements can be accumulators of their own.
  defp named({:tuple, l, es}, acc) do
    {es, acc} = Enum.map_reduce(es, acc, &named/2)
    {{:tuple, l, es}, acc}
  end

  defp named(e, {matches, s}) do
    if quiet?(e) do
      {e, {matches, s}}
    else
      {variable, s} = fresh(:initial, s)
      l = AST.line(e)
      {{:var, l, variable}, {[{:match, l, {:bind, l, variable}, e} | matches], s}}
    end
  end

  # The accumulator of the innermost generator is the one that the body names; every generator around it has one
  # of its own. `result` is what the outermost gives at the end, in terms of the innermost name.
  defp levels(quals, initial, acc, step, result, s) do
    inner = Enum.count(quals, &match?({:gen, _, _, _, _}, &1)) - 1
    {accs, s} = accumulators(inner, acc, s)
    outermost = hd(accs)
    result = if acc, do: rename(result, acc, outermost), else: result
    build(quals, initial, accs, nil, step, result, s)
  end

  defp accumulators(inner, nil, s), do: {List.duplicate(nil, inner + 1), s}
  defp accumulators(0, acc, s), do: {[acc], s}

  defp accumulators(inner, acc, s) do
    {outer, s} = Enum.map_reduce(1..inner, s, fn _, s -> fresh(:acc, s) end)
    {outer ++ [acc], s}
  end

  defp rename({:var, l, v}, v, to), do: {:var, l, to}
  defp rename({:sure, l, primitive, [e]}, v, to), do: {:sure, l, primitive, [rename(e, v, to)]}

  # The value of the qualifiers `quals` when the accumulator of the generator around them is `current`: a variable, nil
  # for none, or several variables for the elements of a tuple.
  defp build([], _, _, _, step, _, s), do: step.(s)

  defp build([{:filter, l, test} | quals], initial, accs, current, step, result, s) do
    {test, s} = expr(test, true, s)
    {rest, s} = build(quals, initial, accs, current, step, result, s)
    {{:if, l, test, rest, unchanged(l, current)}, s}
  end

  defp build([gen | quals], initial, [acc | accs], _, step, result, s) do
    {:gen, l, pattern, guards, source} = gen
    inner_initial = if acc, do: unchanged(l, acc)
    {body, s} = build(quals, inner_initial, accs, acc, step, nil, s)
    # A generator inside of another one gives its accumulator to that one.
    result = result || unchanged(l, acc)
    level = %{line: l, pattern: pattern, guards: guards, acc: acc, body: body, result: result}

    case source do
      {:list, _, e} ->
        {e, s} = expr(e, true, s)
        over_list(level, e, initial, s)

      {:binary, _, e} ->
        {e, s} = expr(e, true, s)
        Binary.lift(level, e, initial, s)

      {:range, _, first, last, step} ->
        {[first, last | rest], s} = exprs([first, last | List.wrap(step)], s)
        Range.lift(level, first, last, List.first(rest), initial, s)
    end
  end

  defp over_list(%{line: l} = level, source, initial, s) do
    {list, s} = fresh(:list, s)
    {rest, s} = fresh(:rest, s)

    lift(level, [{list, source}], initial, s, fn again ->
      next = again.([{:var, l, rest}], level.body)
      skip = again.([{:var, l, rest}], unchanged(l, level.acc))
      cell = &{:cons, l, &1, {:bind, l, rest}}

      refutable =
        if plain?(level),
          do: [],
          else: [{:clause, l, cell.({:any, l}), [], skip}]

      clauses =
        [{:clause, l, cell.(level.pattern), level.guards, next}] ++
          refutable ++
          [
            {:clause, l, {:lit, l, []}, [], level.result},
            {:clause, l, {:any, l}, [], {:none, l, :elements, [{:var, l, list}]}}
          ]

      {:case, l, {:var, l, list}, clauses, :case_clause}
    end)
  end

  @doc "Returns whether a generator takes every element as it is."
  def plain?(%{pattern: {tag, _, _}, guards: []}) when tag == :bind, do: true
  def plain?(%{pattern: {:any, _}, guards: []}), do: true
  def plain?(_), do: false

  @doc """
  Makes the function of one generator and the call that starts it.

  `controls` are the parameters that drive the loop with their first values; `fun` makes the body, given a function
  that makes the call of the next step out of the next controls and the step's own expression, whose value is the
  next accumulator.
  """
  def lift(%{line: l, acc: acc}, controls, initial, s, fun) do
    count = s.count + 1
    name = :"#{s.code.name}/#{s.code.arity} for #{l}:#{count}"
    params = Enum.map(controls, &elem(&1, 0)) ++ List.wrap(acc)

    # What is free does not depend on the call to itself, so a body without it shows it.
    probe = fun.(fn nexts, step -> AST.block(l, nexts ++ [step]) end)
    free = probe |> AST.free() |> MapSet.difference(MapSet.new(params)) |> Enum.sort_by(&elem(&1, 1))
    reads = Enum.map(free, &{:var, l, &1})
    arity = length(params) + length(free)
    arity!(arity, length(free), l, s)

    again = fn nexts, step ->
      cond do
        is_list(acc) -> Accumulators.each_value(step, &{:call, l, {nil, name, arity}, nexts ++ &1 ++ reads})
        acc != nil -> {:call, l, {nil, name, arity}, nexts ++ [step] ++ reads}
        AST.literal?(step) -> {:call, l, {nil, name, arity}, nexts ++ reads}
        true -> AST.block(l, [step, {:call, l, {nil, name, arity}, nexts ++ reads}])
      end
    end

    code = %Code{
      kind: s.code.kind,
      name: name,
      arity: arity,
      params: params ++ free,
      body: fun.(again),
      line: l,
      public: false
    }

    initial = if acc, do: List.wrap(initial), else: []
    start = {:call, l, {nil, name, arity}, Enum.map(controls, &elem(&1, 1)) ++ initial ++ reads}
    {start, %{s | lifted: [code | s.lifted], count: count}}
  end

  @doc "Raises when a function made here would have too many parameters, `free` of them variables from outside."
  def arity!(arity, free, l, s) do
    if arity > Code.most_parameters() do
      room = Code.most_parameters() - (arity - free)

      Error.raise_at(
        s,
        l,
        "a loop can use #{room} variables from around it here, not #{free}: put them into a tuple or a map"
      )
    end
  end

  @doc "The value of a step that a filter, a pattern or a guard leaves out."
  def unchanged(l, nil), do: {:lit, l, :ok}
  def unchanged(l, accs) when is_list(accs), do: {:tuple, l, Enum.map(accs, &{:var, l, &1})}
  def unchanged(l, acc), do: {:var, l, acc}

  @doc "A new variable."
  def fresh(name, s), do: {{name, s.next}, %{s | next: s.next + 1}}
end
