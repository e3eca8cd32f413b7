defmodule Mote.Behaviour.Check do
  # Second pass: scopes, arities, purity. Every variable gets a number of its own, so that no later pass needs to
  # know about scopes; a variable that a pattern binds for the second time becomes a pin. Every mistake in a
  # program is found here at the latest.
  @moduledoc false

  alias Mote.Behaviour.{Beam, Code, Error, Imports, Warnings}
  alias Mote.Behaviour.Check.{Arguments, Calls, Change, Guards, Misread, Names, Nowhere, Stash}

  @doc """
  All definitions of a module, checked. `others` are the kinds, names and arities of those that are not among them, as there
  is a mistake in each.
  """
  @spec unit([map], [map], Macro.Env.t()) :: map
  def unit(definitions, others, env) do
    names = Names.new(definitions, others, env)
    {delegates, coded} = Enum.split_with(definitions, &(&1.kind == :delegate))
    Enum.each(delegates, &Names.delegate!(%{names | columns: &1.columns}, &1))
    groups = coded |> Enum.group_by(&{&1.kind, &1.name, &1.arity})
    order = coded |> Enum.map(&{&1.kind, &1.name, &1.arity}) |> Enum.uniq()
    codes = Error.map(order, &code(groups[&1], names))
    # Private functions that nobody calls become no code, as in Elixir.
    named = Beam.named(env)
    codes = Calls.called(codes, named)
    %{module: env.module, file: env.file, codes: codes, named: named, columns: columns(definitions)}
  end

  # The state: `scope` maps variables as written to numbered ones; `next` is the next number; `behaviour` is the name of a
  # behaviour and its captures, `{as written, numbered}`; `message` and `kept` are the numbered variables of its message and of
  # what it has stashed, if it stashes.
  defp state(kind, columns, names) do
    names = %{names | columns: columns}
    scopes = %{scope: %{}, next: 0, behaviour: nil, message: nil, kept: nil}
    Map.merge(scopes, %{kind: kind, names: names, file: names.file, columns: columns})
  end

  defp code([%{import: import} = first | others], names),
    do: Imports.checked(import, names.env, fn -> code([Map.delete(first, :import) | others], names) end)

  defp code([%{kind: :actor} = definition], names) do
    s = state(:actor, definition.columns, names)
    {captures, s} = Enum.map_reduce(definition.captures, s, &bind(&1, definition.line, &2))
    named = Enum.zip(definition.captures, captures)
    {message, s} = bind({:message, {:fresh, 0}}, definition.line, s)
    s = %{s | behaviour: {definition.name, named}, message: message, kept: Stash.kept(named)}
    Error.map(definition.clauses, &Stash.alone!(&1, s))
    {clauses, s} = clauses(definition.clauses, s)

    unless definition.beam or definition.generated do
      Nowhere.tell(definition.clauses, definition, names.effects, names.env)
      Stash.tell(definition.clauses, definition, names.effects, names.env)
    end

    clauses = Stash.clauses(clauses, definition.clauses, captures, s.kept)
    body = {:case, definition.line, {:var, definition.line, message}, clauses, :ignore}
    finish(definition, captures ++ [message], body, s)
  end

  # A defpure or a defeffect.
  defp code([%{kind: kind} = first | _] = definitions, names) do
    columns = columns(definitions)
    s = state(kind, columns, names)
    args = for {name, n} <- Enum.with_index(Arguments.names(definitions)), do: {name, {:fresh, n}}
    {params, s} = Enum.map_reduce(args, s, &bind(&1, first.line, &2))
    visible(definitions, names)
    unreachable(definitions, names)
    {clauses, s} = clauses(Enum.map(definitions, & &1.clause), s)
    subject = {:tuple, first.line, Enum.map(params, &{:var, first.line, &1})}
    body = {:case, first.line, subject, clauses, :function_clause}
    doc = definitions |> Enum.map(& &1.doc) |> Enum.find(&(&1 != nil))
    marks = Enum.find_value(definitions, [], &(&1.marks != [] && &1.marks))
    finish(%{first | doc: doc, marks: marks, columns: columns}, params, body, s)
  end

  defp columns(definitions), do: definitions |> Enum.map(& &1.columns) |> Enum.reduce(%{}, &Map.merge/2)

  defp visible([first | others], names) do
    with %{line: line} <- Enum.find(others, &(&1.public != first.public)) do
      Error.raise_at(
        names,
        line,
        "#{first.name}/#{first.arity} is defined by both defpure and defpurep: use one"
      )
    end
  end

  defp unreachable([%{name: name, arity: arity} | _] = definitions, names) do
    definitions
    |> Enum.map(fn %{clause: {:clause, _, {:tuple, _, ps}, _, _} = clause} = d ->
      {ps, clause, [generated: d.generated, column: d.column]}
    end)
    |> Warnings.unreachable(%{names.env | function: {name, arity}})
  end

  defp finish(definition, params, body, s) do
    fields = Map.take(definition, [:kind, :name, :arity, :line, :doc, :marks, :args, :public, :beam, :origin])
    struct!(Code, Map.merge(fields, %{params: params, body: body, next: s.next}))
  end

  # -- expressions ---------------------------------------------------------------------------------------------

  defp expr({:lit, _, _} = lit, s), do: {lit, s}
  defp expr({:var, l, key}, s), do: {{:var, l, read(key, l, s)}, s}

  defp expr({:tuple, l, es}, s) do
    {es, s} = args(es, s)
    {{:tuple, l, es}, s}
  end

  defp expr({:cons, l, h, t}, s) do
    {[h, t], s} = args([h, t], s)
    {{:cons, l, h, t}, s}
  end

  defp expr({tag, l, primitive, es}, s) when tag in [:op, :none] do
    {es, s} = args(es, s)
    {{tag, l, primitive, es}, s}
  end

  defp expr({:block, l, es}, s) do
    {es, s} = Error.map_reduce(es, s, &expr/2, &bound/2)
    {{:block, l, es}, s}
  end

  # What the left side binds stays, as the right side is inside of a case.
  defp expr({tag, l, a, b}, s) when tag in [:and, :or, :both, :either] do
    {a, s} = expr(a, s)
    {b, s} = inside(b, s)
    {{tag, l, a, b}, s}
  end

  defp expr({:match, l, pattern, e}, s) do
    {e, s} = expr(e, s)
    {pattern, s} = pattern(pattern, s)
    {{:match, l, pattern, e}, s}
  end

  defp expr({:if, l, test, yes, no}, s) do
    {test, s} = expr(test, s)
    {yes, s} = inside(yes, s)
    {no, s} = inside(no, s)
    {{:if, l, test, yes, no}, s}
  end

  defp expr({:case, l, e, clauses, fail}, s) do
    {e, s} = expr(e, s)
    {clauses, s} = clauses(clauses, s)
    {{:case, l, e, clauses, fail}, s}
  end

  defp expr({:cond, l, clauses}, s) do
    {clauses, s} =
      Enum.map_reduce(clauses, s, fn {test, body}, s ->
        scoped(s, fn s ->
          {test, s} = expr(test, s)
          {body, s} = expr(body, s)
          {{test, body}, s}
        end)
      end)

    {{:cond, l, clauses}, s}
  end

  defp expr({tag, l, e}, s) when tag in [:abort, :attempt] do
    {e, s} = expr(e, s)
    {{tag, l, e}, s}
  end

  defp expr({:call, l, function, es}, s) do
    Names.function!(s.names, function, s.kind, l, fn -> Misread.call(function, es, s.scope) end)
    {es, s} = args(es, s)
    {{:call, l, function, es}, s}
  end

  defp expr({:loop, l, quals, collector}, s), do: scoped(s, &loop(l, quals, collector, &1))

  defp expr({:letrec, l, functions, e}, s) do
    {functions, s} =
      Enum.map_reduce(functions, s, fn {key, params, body}, s ->
        scoped(s, fn s ->
          {params, s} = Enum.map_reduce(params, s, &bind(&1, l, &2))
          {body, s} = expr(body, s)
          {{key, params, body}, s}
        end)
      end)

    {e, s} = expr(e, s)
    {{:letrec, l, functions, e}, s}
  end

  # A case over all of them, of which no tuple is built.
  defp expr({:given, l, variables, es, body}, s) do
    before = s.scope
    {es, s} = args(es, s)
    behind = s.scope
    {variables, s} = Enum.map_reduce(variables, %{s | scope: before}, &bind(&1, l, &2))
    {body, s} = expr(body, s)
    clause = {:clause, l, {:tuple, l, Enum.map(variables, &{:bind, l, &1})}, [], body}
    {{:case, l, {:tuple, l, es}, [clause], :case_clause}, %{s | scope: behind}}
  end

  # It may be called anywhere, also where nothing has effects.
  defp expr({:fn, l, params, body}, s) do
    scoped(s, fn s ->
      {params, s} = Enum.map_reduce(params, s, &bind(&1, l, &2))
      {body, inner} = expr(body, %{s | kind: if(s.kind in [:actor, :effect], do: :fn, else: s.kind)})
      {{:fn, l, params, body}, %{inner | kind: s.kind}}
    end)
  end

  defp expr({:apply, l, place, es}, s) do
    {es, s} = args(es, s)
    {{:apply, l, place, es}, s}
  end

  defp expr({:local, l, key, es}, s) do
    {es, s} = args(es, s)
    {{:local, l, key, es}, s}
  end

  defp expr({:self, l}, s) do
    effect!(:self, l, s)
    {{:self, l}, s}
  end

  defp expr({:send, l, target, message}, s) do
    effect!(:send, l, s)
    {[target, message], s} = args([target, message], s)
    {{:send, l, target, message}, s}
  end

  defp expr({tag, l, a, b, c}, s) when tag in [:sendx, :send_after, :monitor] do
    effect!(tag, l, s)
    {[a, b, c], s} = args([a, b, c], s)
    {{tag, l, a, b, c}, s}
  end

  defp expr({:cancel_timer, l, timer}, s) do
    effect!(:cancel_timer, l, s)
    {timer, s} = expr(timer, s)
    {{:cancel_timer, l, timer}, s}
  end

  defp expr({:create, l, behaviour, es, sponsor}, s) do
    effect!(:create, l, s)
    {behaviour, es} = Names.behaviour!(s.names, behaviour, es, l)
    {all, s} = args(es ++ List.wrap(sponsor), s)
    {es, rest} = Enum.split(all, length(es))
    {{:create, l, behaviour, es, List.first(rest)}, s}
  end

  defp expr({:become, l, behaviour, es}, s) do
    effect!(:become, l, s)
    Misread.become(behaviour, es, l, s)
    {behaviour, es} = Names.behaviour!(s.names, behaviour, es, l)
    {es, s} = args(es, s)
    {Stash.become({:become, l, behaviour, es}, s), s}
  end

  defp expr({:stash, l, names, values}, s) do
    effect!("stash", l, s)
    {values, s} = args(values, s)
    Stash.stash(l, Enum.zip(names, values), s)
  end

  defp expr({:again, l, become}, s) do
    {become, s} = expr(become, s)
    {Stash.again(become, l, s), s}
  end

  defp expr({:gather, l, verb, values, {params, body}, sponsor}, s) do
    effect!(verb, l, s)
    {all, s} = args(values ++ List.wrap(sponsor), s)
    {values, rest} = Enum.split(all, 3)

    {fun, s} =
      scoped(s, fn s ->
        {params, s} = Enum.map_reduce(params, s, &bind(&1, l, &2))
        # It is run by another actor, or by this one when it is another one.
        {body, inner} = expr(body, %{s | kind: :gather})
        {{params, body}, %{inner | kind: s.kind}}
      end)

    gather = {:gather, l, verb, values, fun, List.first(rest)}
    {if(verb == :become, do: Stash.become(gather, s), else: gather), s}
  end

  defp expr({:change, l, names, values}, s) do
    effect!(:become, l, s)
    {values, s} = args(values, s)
    {become, s} = Change.become(l, Enum.zip(names, values), s)
    {Stash.same(become, s), s}
  end

  # What follows a statement with a mistake is to know the variables that it binds.
  defp bound({:match, _, pattern, _}, s) do
    {_, s} = pattern(pattern, s)
    s
  rescue
    Mote.CompileError -> s
  end

  defp bound(_, s), do: s

  # Arguments do not see what their neighbours bind; what follows sees all of it.
  defp args(es, s) do
    before = s.scope

    {es, {s, after_all}} =
      Enum.map_reduce(es, {s, before}, fn e, {s, seen} ->
        {e, s} = expr(e, %{s | scope: before})
        changed = if s.scope == before, do: seen, else: merge(seen, before, s.scope)
        {e, {s, changed}}
      end)

    {es, %{s | scope: after_all}}
  end

  defp merge(seen, before, now) do
    now |> Enum.reject(fn {key, v} -> before[key] == v end) |> Enum.into(seen)
  end

  defp inside(e, s), do: scoped(s, &expr(e, &1))

  defp scoped(s, fun) do
    {result, inner} = fun.(s)
    {result, %{inner | scope: s.scope}}
  end

  defp clauses(clauses, s) do
    Error.map_reduce(clauses, s, fn {:clause, l, pattern, guards, body}, s ->
      scoped(s, fn s ->
        {pattern, s} = pattern(pattern, s)
        {guards, s} = guards(guards, s)
        {body, s} = expr(body, s)
        {{:clause, l, pattern, guards, body}, s}
      end)
    end)
  end

  defp guards(guards, s) do
    Enum.map_reduce(guards, s, fn guard, s ->
      Guards.check!(guard, s)
      expr(guard, s)
    end)
  end

  # -- loops ---------------------------------------------------------------------------------------------------

  # The initial value of a reduce belongs to the outside.
  defp loop(l, quals, {:reduce, initial, acc, body}, s) do
    {initial, s} = inside(initial, s)
    {quals, s} = qualifiers(quals, s)
    {acc, s} = bind(acc, l, s)
    {body, s} = expr(body, s)
    {{:loop, l, quals, {:reduce, initial, acc, body}}, s}
  end

  defp loop(l, quals, {collector, body}, s) do
    {quals, s} = qualifiers(quals, s)
    {body, s} = expr(body, s)
    {{:loop, l, quals, {collector, body}}, s}
  end

  defp qualifiers(quals, s) do
    Enum.map_reduce(quals, s, fn
      {:filter, l, e}, s ->
        {e, s} = expr(e, s)
        {{:filter, l, e}, s}

      {:gen, l, pattern, guards, source}, s ->
        {source, s} = source(source, s)
        {pattern, s} = pattern(pattern, s)
        {guards, s} = guards(guards, s)
        {{:gen, l, pattern, guards, source}, s}
    end)
  end

  defp source({kind, l, e}, s) when kind in [:list, :binary] do
    {e, s} = inside(e, s)
    {{kind, l, e}, s}
  end

  defp source({:range, l, first, last, step}, s) do
    {[first, last | rest], s} = scoped(s, &args([first, last | List.wrap(step)], &1))
    {{:range, l, first, last, List.first(rest)}, s}
  end

  # -- patterns ------------------------------------------------------------------------------------------------

  # `new` are the variables that this very pattern has bound already.
  defp pattern(pattern, s) do
    outer = s.scope
    {pattern, {s, _new}} = pattern(pattern, outer, {s, %{}})
    {pattern, s}
  end

  defp pattern({tag, _} = any, _, acc) when tag in [:any, :atom], do: {any, acc}
  defp pattern({:lit, _, _} = lit, _, acc), do: {lit, acc}

  defp pattern({:pin, l, key}, outer, {s, _} = acc),
    do: {{:pin, l, read(key, l, %{s | scope: outer})}, acc}

  defp pattern({:bind, l, key}, _, {s, new} = acc) do
    case new do
      %{^key => variable} ->
        {{:pin, l, variable}, acc}

      _ ->
        {variable, s} = bind(key, l, s)
        {{:bind, l, variable}, {s, Map.put(new, key, variable)}}
    end
  end

  defp pattern({tag, l, ps}, outer, acc) when tag in [:tuple, :all] do
    {ps, acc} = Enum.map_reduce(ps, acc, &pattern(&1, outer, &2))
    {{tag, l, ps}, acc}
  end

  defp pattern({:cons, l, h, t}, outer, acc) do
    {h, acc} = pattern(h, outer, acc)
    {t, acc} = pattern(t, outer, acc)
    {{:cons, l, h, t}, acc}
  end

  # A size is a variable from outside of the pattern, or one that a segment before has bound.
  defp pattern({:bin, l, segments}, outer, acc) do
    {segments, {acc, _}} =
      Enum.map_reduce(segments, {acc, outer}, fn segment, {{s, new}, seen} ->
        size =
          case segment.size do
            {:var, l, key} -> {:var, l, read(key, l, %{s | scope: seen})}
            other -> other
          end

        {value, acc} = pattern(segment.value, outer, {s, new})

        seen =
          with(
            {:bind, _, key} <- segment.value,
            {:bind, _, v} <- value,
            do: Map.put(seen, key, v),
            else: (_ -> seen)
          )

        {%{segment | size: size, value: value}, {acc, seen}}
      end)

    {{:bin, l, segments}, acc}
  end

  defp pattern({:map, l, pairs}, outer, acc) do
    {pairs, acc} =
      Enum.map_reduce(pairs, acc, fn {key, p}, acc ->
        {key, acc} = pattern(key, outer, acc)
        {p, acc} = pattern(p, outer, acc)
        {{key, p}, acc}
      end)

    {{:map, l, pairs}, acc}
  end

  # -- variables -----------------------------------------------------------------------------------------------

  defp bind({name, _} = key, _line, s) do
    variable = {name, s.next}
    scope = Map.put(s.scope, key, variable)
    {variable, %{s | scope: scope, next: s.next + 1}}
  end

  defp read({name, _} = key, l, s) do
    case s.scope do
      %{^key => variable} ->
        variable

      scope ->
        known = for {other, _} <- Map.keys(scope), do: to_string(other)
        hint = Names.as_variable(s.names, name) || Error.suggestion(to_string(name), known)
        Error.raise_at(s, l, "undefined variable \"#{name}\"#{hint}", name)
    end
  end

  defp effect!(what, l, %{kind: :pure} = s) do
    Error.raise_at(
      s,
      l,
      "#{effect(what)} cannot be used in a defpure: it has no effects; give the value back to a defactor, or write defeffect",
      {:call, what}
    )
  end

  defp effect!(what, l, %{kind: :gather} = s) do
    Error.raise_at(
      s,
      l,
      "#{effect(what)} cannot be used in the function of gather, which only puts reports together: do it where the answer arrives",
      {:call, what}
    )
  end

  defp effect!(what, l, %{kind: :fn} = s) do
    Error.raise_at(
      s,
      l,
      "#{effect(what)} cannot be used in a function that is a value: such a function has no effects, since it may be called " <>
        "anywhere; write a defeffect, or the function in place, as argument of a loop of Enum",
      {:call, what}
    )
  end

  defp effect!(_, _, _), do: :ok

  defp effect(:self), do: "self()"
  defp effect(name), do: to_string(name)
end
