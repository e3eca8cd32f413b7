defmodule Mote.Behaviour.Elixir.Match do
  # Patterns, clauses and guards as plain Elixir. Part of the pass to Elixir.
  #
  # Patterns that the BEAM matches exactly as a behaviour does stay patterns and guards of a `case`. Others
  # (floats, whose zeros later releases warn of; repeated and pinned variables, which cost fuel; guards that
  # calculate, whose integers have no bounds) become a test in the clause, and the clauses after it a function
  # that is called when it fails.
  @moduledoc false

  alias Mote.Behaviour.AST
  alias Mote.Behaviour.Elixir.{Forms, Guards, Usual}
  alias Mote.Total.Term

  @typedoc "The form of the code; `:direct` with the code for what the BEAM may order in another way."
  @type form :: Mote.Behaviour.Elixir.Expressions.form() | {:direct, Macro.t()}

  @doc "`pattern = value` that aborts when it does not match; binds for what follows. `fail` says in which form the code is, too."
  def match(pattern, value, fail, l) do
    {native, tests, maps} = loosened(pattern, elem(fail, 0))
    whole = {:whole, [generated: true], __MODULE__}
    bound = pattern |> AST.bound() |> Enum.map(&Forms.variable/1)
    abort = failure(fail, whole, l)
    result = {:{}, [], [whole | bound]}

    found =
      quote generated: true, line: l do
        unquote(result) =
          case unquote(value) do
            unquote(guarded({:=, Forms.generated(l), [native, whole]}, maps, l)) ->
              unquote(tested(tests, result, abort))

            unquote(whole) ->
              unquote(abort)
          end
      end

    {:__block__, Forms.generated(l), [found, whole]}
  end

  @doc "Whether the order of two terms may be in doubt in the guards of some clauses."
  @spec doubts?([AST.clause()], form) :: boolean
  def doubts?(clauses, form) do
    Enum.any?(clauses, fn {:clause, _, _, guards, _} ->
      Enum.all?(guards, &Guards.native?(&1, form)) and Enum.any?(guards, &(Guards.doubts(&1, form) != []))
    end)
  end

  @doc "A case over clauses, whose bodies are code; `fail` says what happens when none fits."
  # What is in a tuple that nobody has made yet is matched without it.
  def clauses(clauses, {:{}, _, parts} = tuple, fail, l) do
    if Enum.all?(parts, &plain?/1),
      do: chain(clauses, tuple, fail, l),
      else: chosen(clauses, tuple, fail, l)
  end

  def clauses(clauses, value, fail, l), do: chosen(clauses, value, fail, l)

  defp plain?({name, meta, context}) when is_atom(name) and is_atom(context), do: is_list(meta)
  defp plain?(part), do: is_atom(part) or is_number(part)

  defp chosen(clauses, value, fail, l) do
    subject = {:subject, [generated: true, counter: Forms.unique()], __MODULE__}

    quote generated: true, line: l do
      unquote(subject) = unquote(value)
      unquote(chain(clauses, subject, fail, l))
    end
  end

  defp chain(clauses, subject, fail, l) do
    clauses = Enum.map(clauses, &prepare(&1, elem(fail, 0)))

    case Enum.split_while(clauses, &(&1.tests == [] and &1.guard == nil)) do
      {native, []} ->
        all =
          Enum.flat_map(native, &arrows(&1, &1.body, fail)) ++
            otherwise(native, subject, failure(fail, subject, l), l)

        {:case, Forms.generated(l), [subject, [do: all]]}

      {native, [loose]} ->
        loosely(native, loose, subject, failure(fail, subject, l), fail, l)

      {native, [%{tests: []} = loose | rest]} ->
        rest = chain(Enum.map(rest, & &1.clause), subject, fail, l)

        # It goes on from one place only.
        if otherwise(native ++ [loose], subject, rest, l) == [],
          do: loosely(native, loose, subject, rest, fail, l),
          else: in_a_function(native, loose, rest, subject, fail, l)

      {native, [loose | rest]} ->
        rest = chain(Enum.map(rest, & &1.clause), subject, fail, l)
        in_a_function(native, loose, rest, subject, fail, l)
    end
  end

  # What comes after a test is in a function where it is called from several places.
  defp in_a_function(native, loose, rest, subject, fail, l) do
    next = {:next, [generated: true, counter: Forms.unique()], __MODULE__}
    go_on = {{:., Forms.generated(l), [next]}, Forms.generated(l), []}

    quote generated: true, line: l do
      unquote(next) = fn -> unquote(rest) end
      unquote(loosely(native, loose, subject, go_on, fail, l))
    end
  end

  # Clauses of which only the last one has something left to test.
  defp loosely(native, loose, subject, go_on, fail, l) do
    body = tested(loose.tests, Guards.tested(loose.guard, loose.body, go_on, elem(fail, 0)), go_on)

    all =
      Enum.flat_map(native, &arrows(&1, &1.body, fail)) ++
        arrows(loose, body, fail) ++ otherwise(native ++ [loose], subject, go_on, l)

    {:case, Forms.generated(l), [subject, [do: all]]}
  end

  # A clause as a native pattern, native guards, and what is left to test.
  defp prepare({:clause, l, pattern, guards, body} = clause, form) do
    {native, tests, maps} = loosened(pattern, form)
    native_guards = Enum.all?(guards, &Guards.native?(&1, form))
    codes = if native_guards, do: Enum.map(guards, &Guards.code/1), else: []

    %{
      clause: clause,
      line: l,
      pattern: native,
      tests: tests,
      when: if(codes == [] and maps != [], do: [Forms.all(maps, :andalso)], else: with_all(maps, codes)),
      guard: if(native_guards, do: nil, else: guards),
      doubts:
        if(native_guards, do: with_all(maps, Enum.flat_map(guards, &Guards.doubts(&1, form))), else: []),
      body: body
    }
  end

  defp with_all(maps, codes), do: for(code <- codes, do: Forms.all(maps ++ [code], :andalso))

  # Where the order of two terms may not be Elixir's.
  defp arrows(%{doubts: []} = c, body, _fail), do: [arrow(c, body)]

  defp arrows(c, body, {{:direct, otherwise}, _}),
    do: [arrow(%{c | when: c.doubts}, otherwise), arrow(c, body)]

  defp arrow(c, body), do: {:->, Forms.generated(c.line), [[guarded(c.pattern, c.when, c.line)], body]}

  defp guarded(pattern, [], _l), do: pattern

  defp guarded(pattern, guards, l) do
    guard = guards |> Enum.reverse() |> Enum.reduce(&{:when, Forms.generated(l), [&1, &2]})
    {:when, Forms.generated(l), [pattern, guard]}
  end

  # The clause for what fits no other one. Where one fits everything it is left out: the compilers would only find that out.
  defp otherwise(clauses, subject, body, l) do
    if Enum.any?(clauses, &(&1.when == [] and fits?(elem(&1.clause, 2), subject))),
      do: [],
      else: [{:->, Forms.generated(l), [[{:_, Forms.generated(l), nil}], body]}]
  end

  # Whether a pattern fits whatever there is in a subject.
  defp fits?({:tuple, _, patterns}, {:{}, _, parts}) when length(patterns) == length(parts),
    do: Enum.all?(patterns, &fits?(&1, nil))

  defp fits?({:all, _, patterns}, subject), do: Enum.all?(patterns, &fits?(&1, subject))
  defp fits?({tag, _}, _subject), do: tag == :any
  defp fits?(pattern, _subject), do: elem(pattern, 0) == :bind

  defp failure({_, :ignore}, _, _), do: :ignored
  defp failure({form, fail}, subject, l), do: Forms.abort(form, reason(fail, subject), l)

  defp reason(:function_clause, _), do: :function_clause

  defp reason({:raised, where}, subject),
    do: {:{}, [], [:raised, Forms.literal(where), {:{}, [], [subject]}]}

  defp reason(reason, subject), do: {reason, subject}

  defp tested([], yes, _), do: yes

  defp tested(tests, yes, no) do
    [first | others] = for {a, b} <- tests, do: Forms.remote(Mote.Total, :same, [a, b], 0)
    # As the machine does: what comes after the first difference costs nothing.
    all = Enum.reduce(others, first, &Forms.remote(:erlang, :andalso, [&2, &1], 0))

    quote generated: true do
      case unquote(all) do
        true -> unquote(yes)
        _ -> unquote(no)
      end
    end
  end

  # -- patterns ------------------------------------------------------------------------------------------------

  # The pattern without what the BEAM may match differently; the equalities to test instead, in their order; and guards that parts
  # of it are maps, where nobody pays for tests.
  defp loosened(pattern, :staged) do
    {native, tests, _} = loosen(pattern, 0)
    {native, Enum.map(tests, &paid/1), []}
  end

  defp loosened(pattern, _form) do
    {native, tests, _} = loosen(pattern, 0)
    {native, for({a, b} <- tests, do: {a, b}), for({:is_map, map, false} <- tests, do: Usual.value_map(map))}
  end

  defp paid({:is_map, map, _struct}), do: {Forms.remote(Mote.Total, :is_map, [map], 0), true}
  defp paid({:key, map, key}), do: {Forms.remote(Mote.Total, :map_has_key, [map, key], 0), true}
  defp paid(equality), do: equality

  defp loosen({:any, _}, n), do: {{:_, [generated: true], nil}, [], n}
  defp loosen({:bind, _, v}, n), do: {Forms.variable(v), [], n}
  defp loosen({:pin, _, v}, n), do: equal(Forms.variable(v), n)

  defp loosen({:lit, _, value} = lit, n) do
    if Forms.exact?(lit), do: {value, [], n}, else: equal(Forms.literal(value), n)
  end

  defp loosen({:tuple, _, ps}, n) do
    {ps, {tests, n}} = Enum.map_reduce(ps, {[], n}, &loosen_part/2)
    {{:{}, [generated: true], ps}, tests, n}
  end

  defp loosen({:cons, _, h, t}, n) do
    {[h, t], {tests, n}} = Enum.map_reduce([h, t], {[], n}, &loosen_part/2)
    {[{:|, [generated: true], [h, t]}], tests, n}
  end

  defp loosen({:bin, _, segments} = pattern, n) do
    bound = AST.bound(pattern)
    {segments, {tests, n}} = Enum.map_reduce(segments, {[], n}, &loosen_segment(&1, bound, &2))
    {{:<<>>, [generated: true], segments}, tests, n}
  end

  # An address is a struct here, and no map.
  defp loosen({:map, _, pairs}, n) do
    map = {:"part#{n}", [generated: true], __MODULE__}
    is_map = {:is_map, map, Enum.any?(pairs, &struct?/1)}

    {pairs, {tests, n}} =
      Enum.map_reduce(pairs, {[is_map], n + 1}, fn {key, p}, acc ->
        {p, acc} = loosen_part(p, acc)
        {{key(key), p}, acc}
      end)

    heavy = for {key, _} <- pairs, weighs?(key), do: {:key, map, unpinned(key)}
    {{:=, [generated: true], [map, {:%{}, [generated: true], pairs}]}, tests ++ heavy, n}
  end

  defp loosen({:all, _, ps}, n) do
    {ps, {tests, n}} = Enum.map_reduce(ps, {[], n}, &loosen_part/2)
    {Enum.reduce(ps, &{:=, [generated: true], [&2, &1]}), tests, n}
  end

  # Whether it is a struct that is a map for behaviours.
  defp struct?({{:lit, _, :__struct__}, {:lit, _, struct}}), do: struct not in Term.structs()
  defp struct?(_), do: false

  # Whether a key may cost fuel: that is paid where the pattern fits.
  defp weighs?(key), do: not (is_atom(key) or is_number(key))

  defp unpinned({:^, _, [variable]}), do: variable
  defp unpinned(literal), do: literal

  # What a number in a segment is compared with has its own type: 1 in a float is 1.0 for both.
  defp loosen_segment(s, bound, {tests, n}) do
    {value, more, n} =
      case s do
        %{kind: :float, value: {:lit, l, m}} when is_integer(m) -> loosen({:lit, l, m * 1.0}, n)
        %{kind: :binary, value: {:lit, _, text}} -> {text, [], n}
        %{value: value} -> loosen(value, n)
      end

    sizes = for {:var, _, v} <- [s.size], s.kind == :int, do: at_most(Forms.variable(v), s.unit)
    {{:"::", [generated: true], [value, options(s, bound)]}, {tests ++ more ++ sizes, n}}
  end

  # The machine's integers have 64 bits at most.
  defp at_most(size, unit) do
    bits = Forms.remote(Mote.Total, :mul, [size, unit], 0)
    {Forms.remote(Mote.Total, :le, [bits, 64], 0), true}
  end

  defp options(%{kind: :binary, value: {:lit, _, text}}, _) when is_binary(text), do: option(:binary)
  defp options(%{kind: :rest}, _), do: option(:binary)
  defp options(%{kind: :utf8}, _), do: option(:utf8)
  defp options(%{kind: :tail}, _), do: option(:bitstring)

  defp options(s, bound) do
    type = %{int: :integer, float: :float, binary: :binary, skip: :bitstring}[s.kind]
    flags = for {true, flag} <- [{s.signed, :signed}, {s.little, :little}], do: option(flag)

    size =
      case s.size do
        {:lit, _, n} ->
          n

        {:var, _, v} ->
          if(v in bound, do: Forms.variable(v), else: Mote.Internal.Sized.outer(Forms.variable(v)))
      end

    all = [option(type), {:size, [], [size]}, {:unit, [], [s.unit]}] ++ flags
    Enum.reduce(tl(all), hd(all), &{:-, [], [&2, &1]})
  end

  defp option(name), do: {name, [], nil}

  # Elixir warns of zeros in patterns that have no sign.
  defp key({:lit, _, zero}) when is_float(zero) and zero == 0.0 do
    sign = if Forms.negative_zero?(zero), do: :-, else: :+
    {sign, [generated: true, context: __MODULE__, imports: [{1, Kernel}]], [0.0]}
  end

  defp key({:lit, _, value}), do: Forms.literal(value)
  defp key({:pin, _, v}), do: {:^, [generated: true], [Forms.variable(v)]}

  defp loosen_part(pattern, {tests, n}) do
    {pattern, more, n} = loosen(pattern, n)
    {pattern, {tests ++ more, n}}
  end

  defp equal(to, n) do
    variable = {:"part#{n}", [generated: true], __MODULE__}
    {variable, [{variable, to}], n + 1}
  end
end
