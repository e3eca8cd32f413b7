defmodule Mote.Behaviour.Imports.Erlang do
  # The functions of a module in Erlang, as clauses that Elixir's compiler could have left: what is made of them goes through
  # `Mote.Behaviour.Imports.Expanded`.
  #
  # 1. A variable is bound once. Where a pattern has one that is bound, it is a pin; `fun` and generators bind anew.
  # 2. What the clauses of a `case` bind is not seen behind it: code that reads it there has an undefined variable, and is refused.
  # 3. A generator walks over a list and nothing else, and a filter that fails as a guard leaves out.
  # 4. What there is no form for is refused by its name, as a function that does not exist.
  @moduledoc false

  @doc "Kind, place and clauses of each function of abstract forms."
  @spec functions(module, [tuple]) :: %{{atom, arity} => {:def | :defp, keyword, [tuple]}}
  def functions(module, forms) do
    forms = :erl_expand_records.module(forms, [])
    exported = Enum.concat(for {:attribute, _, :export, functions} <- forms, do: functions)
    all = :export_all in Enum.concat(for {:attribute, _, :compile, options} <- forms, do: List.wrap(options))

    for {:function, anno, name, arity, clauses} <- forms, into: %{} do
      kind = if all or {name, arity} in exported, do: :def, else: :defp
      {{name, arity}, {kind, meta(anno), Enum.map(clauses, &function_clause(&1, module))}}
    end
  end

  @doc "The file that the forms come from."
  @spec file([tuple]) :: String.t()
  def file(forms),
    do:
      forms
      |> Enum.find_value("", &with({:attribute, _, :file, {file, _}} <- &1, do: file, else: (_ -> nil)))
      |> to_string()

  defp meta(anno), do: [line: :erl_anno.line(anno)]

  defp function_clause({:clause, anno, patterns, guards, body}, module) do
    s = %{module: module, bound: MapSet.new()}
    {patterns, s} = head(patterns, s)
    {meta(anno), patterns, Enum.map(guards, &guard(&1, s)), body(body, s)}
  end

  # -- clauses -------------------------------------------------------------------------------------------------

  # What a clause binds ends with it.
  defp clauses(clauses, s), do: Enum.map(clauses, &clause(&1, s))

  defp clause({:clause, anno, patterns, guards, body}, s) do
    {patterns, s} = head(patterns, s)
    {:->, meta(anno), [guarded(patterns, guards, s), body(body, s)]}
  end

  defp guarded(patterns, [], _), do: patterns

  defp guarded(patterns, guards, s) do
    [last | before] = guards |> Enum.map(&guard(&1, s)) |> Enum.reverse()
    [{:when, [], patterns ++ [Enum.reduce(before, last, &{:when, [], [&1, &2]})]}]
  end

  defp guard(tests, s) do
    [first | others] = for test <- tests, do: test |> strict() |> value(s)
    Enum.reduce(others, first, &{{:., [], [:erlang, :andalso]}, [], [&2, &1]})
  end

  # In a guard nothing shows whether the right side has been looked at.
  defp strict({:op, anno, op, a, b}) when op in [:and, :or],
    do: {:op, anno, if(op == :and, do: :andalso, else: :orelse), strict(a), strict(b)}

  defp strict(test), do: test

  defp body(expressions, s), do: block(elem(exprs(expressions, s), 0))

  defp block([one]), do: one
  defp block(many), do: {:__block__, [], many}

  defp sections(:else, clauses, s), do: clauses(clauses, s)

  # Class and reason: nobody has the trace.
  defp sections(:catch, clauses, s) do
    for {:clause, anno, [{:tuple, _, [class, reason, _trace]}], guards, body} <- clauses,
        do: clause({:clause, anno, [class, reason], guards, body}, s)
  end

  # A function has variables of its own.
  defp function({:clause, _, patterns, _, _} = clause, s) do
    {:->, meta, [left, right]} = clause(clause, forget(s, patterns))
    {:->, meta, [left, right]}
  end

  defp forget(s, patterns), do: %{s | bound: MapSet.difference(s.bound, variables(patterns))}

  defp variables({:var, _, name}), do: MapSet.new([name])
  defp variables(node) when is_tuple(node), do: node |> Tuple.to_list() |> variables()
  defp variables([head | tail]), do: MapSet.union(variables(head), variables(tail))
  defp variables(_), do: MapSet.new()

  # -- patterns ------------------------------------------------------------------------------------------------

  # A variable is new where none of that name was bound before the pattern.
  defp pattern(pattern, s) do
    {made, found} = in_pattern(pattern, s)
    {made, %{s | bound: MapSet.union(s.bound, found)}}
  end

  # Several that are matched at once.
  defp head(several, s) do
    {made, found} = patterns(several, s, & &1)
    {made, %{s | bound: MapSet.union(s.bound, found)}}
  end

  defp in_pattern({:var, _, :_}, _), do: {{:_, [], nil}, MapSet.new()}

  defp in_pattern({:var, anno, name}, s) do
    variable = {name, meta(anno), nil}
    if name in s.bound, do: {{:^, [], [variable]}, MapSet.new()}, else: {variable, MapSet.new([name])}
  end

  defp in_pattern({:match, _, a, b}, s), do: patterns([a, b], s, &{:=, [], &1})
  defp in_pattern({:tuple, _, es}, s), do: patterns(es, s, &{:{}, [], &1})
  defp in_pattern({:cons, _, head, tail}, s), do: patterns([head, tail], s, &[{:|, [], &1}])

  defp in_pattern({:map, _, fields}, s) do
    keys = for {:map_field_exact, _, key, _} <- fields, do: key(key, s)
    patterns(for({_, _, _, value} <- fields, do: value), s, &{:%{}, [], Enum.zip(keys, &1)})
  end

  defp in_pattern({:op, _, :++, {:string, _, text}, rest}, s),
    do: patterns([rest], s, fn [rest] -> List.foldr(text, rest, &[{:|, [], [&1, &2]}]) end)

  defp in_pattern({:bin, _, elements}, s) do
    patterns(for({_, _, value, _, _} <- elements, do: value), s, fn values ->
      {:<<>>, [], Enum.zip_with(elements, values, &segment(&1, &2, s))}
    end)
  end

  defp in_pattern(other, s), do: {value(other, s), MapSet.new()}

  defp patterns(patterns, s, make) do
    {made, found} = patterns |> Enum.map(&in_pattern(&1, s)) |> Enum.unzip()
    {make.(made), Enum.reduce(found, MapSet.new(), &MapSet.union/2)}
  end

  defp key({:var, anno, name}, _), do: {:^, [], [{name, meta(anno), nil}]}
  defp key(key, s), do: value(key, s)

  # -- expressions ---------------------------------------------------------------------------------------------

  defp value(expression, s), do: elem(expr(expression, s), 0)
  defp exprs(expressions, s), do: Enum.map_reduce(expressions, s, &expr/2)

  defp expr({kind, _, value}, s) when kind in [:atom, :integer, :float, :char, :string], do: {value, s}
  defp expr({nil, _}, s), do: {[], s}
  defp expr({:var, anno, name}, s), do: {{name, meta(anno), nil}, s}
  defp expr({:tuple, anno, es}, s), do: of(es, s, &{:{}, meta(anno), &1})
  defp expr({:cons, _, head, tail}, s), do: of([head, tail], s, &[{:|, [], &1}])
  defp expr({:block, _, es}, s), do: of(es, s, &block/1)
  defp expr({:map, _, :new}, s), do: {{:%{}, [], []}, s}
  defp expr({:map, anno, fields}, s), do: expr({:map, anno, {:map, anno, :new}, fields}, s)

  defp expr({:map, anno, map, fields}, s) do
    parts = Enum.flat_map(fields, fn {_, _, key, value} -> [key, value] end)

    of([map | parts], s, fn [map | parts] ->
      fields
      |> Enum.zip(Enum.chunk_every(parts, 2))
      |> Enum.reduce(map, fn
        {{:map_field_assoc, _, _, _}, [key, value]}, map -> call(anno, :maps, :put, [key, value, map])
        {_, [key, value]}, map -> {:%{}, meta(anno), [{:|, [], [map, [{key, value}]]}]}
      end)
    end)
  end

  defp expr({:match, anno, pattern, e}, s) do
    {e, s} = expr(e, s)
    {pattern, s} = pattern(pattern, s)
    {{:=, meta(anno), [pattern, e]}, s}
  end

  defp expr({:op, anno, op, e}, s), do: of([e], s, &call(anno, :erlang, op, &1))
  defp expr({:op, anno, op, a, b}, s), do: of([a, b], s, &call(anno, :erlang, op, &1))

  defp expr({:call, anno, {:remote, _, {:atom, _, module}, {:atom, _, name}}, args}, s),
    do: of(args, s, &call(anno, module, name, &1))

  defp expr({:call, anno, {:remote, _, module, {:atom, _, name}}, args}, s),
    do: of([module | args], s, fn [module | args] -> call(anno, module, name, args) end)

  defp expr({:call, anno, {:atom, _, name}, args}, s), do: of(args, s, &call(anno, s.module, name, &1))

  defp expr({:call, anno, fun, args}, s),
    do: of([fun | args], s, fn [fun | args] -> {{:., meta(anno), [fun]}, meta(anno), args} end)

  defp expr({:fun, anno, {:function, name, arity}}, s), do: {captured(anno, s.module, name, arity), s}

  defp expr({:fun, anno, {:function, {:atom, _, module}, {:atom, _, name}, {:integer, _, arity}}}, s),
    do: {captured(anno, module, name, arity), s}

  defp expr({:fun, anno, {:clauses, clauses}}, s),
    do: {{:fn, meta(anno), Enum.map(clauses, &function(&1, s))}, s}

  defp expr({:case, anno, e, clauses}, s) do
    {e, s} = expr(e, s)
    {{:case, meta(anno), [e, [do: clauses(clauses, s)]]}, s}
  end

  defp expr({:if, anno, clauses}, s) do
    clauses = for {:clause, a, [], guards, body} <- clauses, do: {:clause, a, [{:var, a, :_}], guards, body}
    {{:case, meta(anno), [nil, [do: clauses(clauses, s)]]}, s}
  end

  defp expr({:lc, anno, e, qualifiers}, s), do: {comprehension(anno, e, qualifiers, [], s), s}
  defp expr({:bc, anno, e, qualifiers}, s), do: {comprehension(anno, e, qualifiers, [into: ""], s), s}

  defp expr({:bin, anno, elements}, s) do
    of(for({_, _, value, _, _} <- elements, do: value), s, fn values ->
      {:<<>>, meta(anno), Enum.zip_with(elements, values, &segment(&1, &2, s))}
    end)
  end

  defp expr({:try, anno, body, of, handlers, last}, s) do
    sections =
      for {name, [_ | _] = clauses} <- [else: of, catch: handlers], do: {name, sections(name, clauses, s)}

    last = if last == [], do: [], else: [after: body(last, s)]
    {{:try, meta(anno), [[do: body(body, s)] ++ sections ++ last]}, s}
  end

  defp expr({:catch, anno, _}, s), do: {{:try, meta(anno), []}, s}
  defp expr(other, s), do: {call(elem(other, 1), :erlang, elem(other, 0), []), s}

  defp of(expressions, s, make) do
    {made, s} = exprs(expressions, s)
    {make.(made), s}
  end

  defp call(anno, module, name, args), do: {{:., meta(anno), [module, name]}, meta(anno), args}

  defp captured(anno, module, name, arity),
    do: {:&, meta(anno), [{:/, [], [{{:., [], [module, name]}, [no_parens: true], []}, arity]}]}

  # -- comprehensions ------------------------------------------------------------------------------------------

  defp comprehension(anno, e, qualifiers, options, s) do
    {qualifiers, s} = Enum.map_reduce(qualifiers, s, &qualifier/2)
    {:for, meta(anno), qualifiers ++ [options ++ [do: value(e, s)]]}
  end

  defp qualifier({:generate, anno, pattern, list}, s) do
    list = value(list, s)
    {pattern, s} = pattern(pattern, forget(s, [pattern]))
    {{:<-, meta(anno), [pattern, only(list, :is_list)]}, s}
  end

  defp qualifier({:b_generate, anno, pattern, binary}, s) do
    binary = value(binary, s)
    {{:<<>>, _, segments}, s} = pattern(pattern, forget(s, [pattern]))
    {before, [last]} = Enum.split(segments, -1)
    {{:<<>>, meta(anno), before ++ [{:<-, [], [last, binary]}]}, s}
  end

  defp qualifier(filter, s) do
    if :erl_lint.is_guard_test(filter) do
      yes = {:->, [], [guarded([{:_, [], nil}], [[filter]], s), true]}
      {{:case, [], [nil, [do: [yes, {:->, [], [[{:_, [], nil}], false]}]]]}, s}
    else
      {{:case, [], [value(filter, s), [do: for(b <- [true, false], do: {:->, [], [[b], b]})]]}, s}
    end
  end

  defp only(e, test) do
    list = {:"a list", [], nil}
    clause = {:->, [], [[{:when, [], [list, {{:., [], [:erlang, test]}, [], [list]}]}], list]}
    {:case, [], [e, [do: [clause]]]}
  end

  # -- binaries ------------------------------------------------------------------------------------------------

  # A text is one of bytes.
  defp segment({:bin_element, _, {:string, _, text}, :default, :default}, _, _),
    do: {:"::", [], [:erlang.list_to_binary(text), {:binary, [], []}]}

  defp segment({:bin_element, _, {:string, _, text}, :default, [:utf8]}, _, _),
    do: {:"::", [], [:unicode.characters_to_binary(text), {:binary, [], []}]}

  defp segment({:bin_element, _, _, size, types}, value, s) do
    size = if size == :default, do: [], else: [{:size, [], [value(size, s)]}]
    types = if types == :default, do: [], else: Enum.map(types, &type/1)
    [first | others] = with [] <- types ++ size, do: [{:integer, [], []}]
    {:"::", [], [value, Enum.reduce(others, first, &{:-, [], [&2, &1]})]}
  end

  defp type({:unit, n}), do: {:unit, [], [n]}
  defp type(type), do: {type, [], []}
end
