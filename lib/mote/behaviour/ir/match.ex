defmodule Mote.Behaviour.IR.Match do
  # Patterns, clauses, and what happens when none of them matches. Part of the IR pass.
  @moduledoc false

  alias Mote.Behaviour.{AST, IR}
  alias Mote.Behaviour.IR.{Binaries, Conditions}

  import Mote.Behaviour.IR.Builder,
    only: [bind: 3, emit: 2, fresh: 1, fresh: 2, label: 1, place: 2, stop: 2]

  @doc "Goes to `fail` unless the subject matches; binds the variables of the pattern."
  def pattern(pattern, subject, fail, g)

  def pattern({:any, _}, _, _, g), do: g

  def pattern({:atom, _}, {:t, _}, fail, g), do: stop(g, {:jump, fail})
  def pattern({:atom, _}, o, fail, g), do: holds(:is_atom, o, fail, g)

  def pattern({:bind, _, v}, subject, _, g) do
    {o, g} = IR.operand(subject, g)
    bind(g, v, o)
  end

  def pattern({:all, _, patterns}, subject, fail, g),
    do: Enum.reduce(patterns, g, &pattern(&1, subject, fail, &2))

  def pattern({:pin, _, v}, subject, fail, g) do
    {o, g} = IR.operand(subject, g)
    emit(g, {:match, o, Map.fetch!(g.env, v), fail})
  end

  def pattern({:lit, _, _}, {:t, _}, fail, g), do: stop(g, {:jump, fail})

  def pattern({:lit, _, value}, {:k, constant}, fail, g),
    do: if(Mote.Total.same(value, constant), do: g, else: stop(g, {:jump, fail}))

  def pattern({:lit, _, value}, o, fail, g), do: emit(g, {:match, o, {:k, value}, fail})

  def pattern({:tuple, _, patterns}, {:t, subjects}, fail, g),
    do: known_tuple(patterns, subjects, fail, g)

  def pattern({:tuple, _, patterns}, {:k, constant}, fail, g) when is_tuple(constant),
    do: known_tuple(patterns, constants(constant), fail, g)

  def pattern({:tuple, _, []}, o, fail, g), do: emit(g, {:match, o, {:k, {}}, fail})

  def pattern({:tuple, _, patterns}, o, fail, g) do
    {parts, g} = take_apart({:tuple, length(patterns)}, o, fail, g)
    each(patterns, parts, fail, g)
  end

  def pattern({:cons, _, _, _} = pattern, {:t, _}, fail, g), do: never(pattern, fail, g)

  def pattern({:cons, _, head, tail}, {:k, [h | t]}, fail, g),
    do: each([head, tail], [{:k, h}, {:k, t}], fail, g)

  def pattern({:cons, _, head, tail}, o, fail, g) do
    {parts, g} = take_apart(:cons, o, fail, g)
    each([head, tail], parts, fail, g)
  end

  def pattern({tag, _, _} = pattern, {:t, _}, fail, g) when tag in [:map, :bin],
    do: never(pattern, fail, g)

  def pattern({:bin, _, segments}, o, fail, g), do: Binaries.pattern(segments, o, fail, g)

  def pattern({:map, _, []}, o, fail, g), do: holds(:is_map, o, fail, g)

  def pattern({:map, _, pairs}, o, fail, g) do
    Enum.reduce(pairs, g, fn {key, pattern}, g ->
      {d, g} = fresh(g)
      g = emit(g, {:guard_op, d, :map_fetch, [o, key(key, g)], fail})
      pattern(pattern, {:r, d}, fail, g)
    end)
  end

  defp holds(test, o, fail, g) do
    {d, g} = fresh(g)
    g |> emit({:op, d, test, [o]}) |> emit({:branch, {:r, d}, fail})
  end

  defp key({:lit, _, value}, _), do: {:k, value}
  defp key({:pin, _, v}, g), do: Map.fetch!(g.env, v)

  defp known_tuple(patterns, subjects, fail, g) do
    if length(patterns) == length(subjects),
      do: each(patterns, subjects, fail, g),
      else: never({:tuple, 0, patterns}, fail, g)
  end

  # A pattern that cannot match: its variables are never read, but they are asked for in code that is not emitted.
  defp never(pattern, fail, g) do
    pattern
    |> AST.bound()
    |> Enum.reduce(g, &bind(&2, &1, {:k, :undefined}))
    |> stop({:jump, fail})
  end

  defp constants(tuple), do: for(value <- Tuple.to_list(tuple), do: {:k, value})

  defp each(patterns, subjects, fail, g) do
    patterns
    |> Enum.zip(subjects)
    |> Enum.reduce(g, fn {pattern, subject}, g -> pattern(pattern, subject, fail, g) end)
  end

  defp take_apart({:lit, value}, o, fail, g), do: {[], emit(g, {:match, o, {:k, value}, fail})}

  defp take_apart({:tuple, n}, o, fail, g) do
    {first, g} = fresh(g, n)
    parts = for i <- 0..(n - 1), do: {:r, first + i}
    {parts, emit(g, {:match_tuple, o, n, first, fail})}
  end

  defp take_apart(:cons, o, fail, g) do
    {head, g} = fresh(g)
    {tail, g} = fresh(g)
    {[{:r, head}, {:r, tail}], emit(g, {:match_cons, o, head, tail, fail})}
  end

  # -- clauses -------------------------------------------------------------------------------------------------

  @doc """
  The clauses one after another; `body` makes the code of a body, from which control does not come back. What is added next is
  reached when no clause fits.

  Neighbours that want the same shape (a tuple of n, a list cell, one literal) test the subject once for all of them.
  """
  def clauses(clauses, subject, g, body) do
    clauses
    |> Enum.chunk_by(&{shape(&1), subject_shape(subject, &1)})
    |> Enum.reduce(g, &group(&1, subject, &2, body))
  end

  # Without a register to share, each clause is a group of its own.
  defp subject_shape({:r, _}, clause), do: if(shape(clause) == nil, do: clause)
  defp subject_shape(_, clause), do: clause

  defp group([first | _] = clauses, {:r, _} = o, g, body) do
    case shape(first) do
      nil ->
        Enum.reduce(clauses, g, &clause(&1, o, nil, &2, body))

      shape ->
        {next, g} = label(g)
        {parts, g} = take_apart(shape, o, next, g)
        g = Enum.reduce(clauses, g, &clause(&1, o, parts, &2, body))
        place(next, g)
    end
  end

  defp group(clauses, subject, g, body),
    do: Enum.reduce(clauses, g, &clause(&1, subject, nil, &2, body))

  defp clause({:clause, _, pattern, guards, code}, subject, parts, g, body) do
    {next, g} = label(g)
    g = opened(pattern, subject, parts, next, g)
    g = Conditions.guards(guards, next, g)
    g = body.(code, g)
    place(next, g)
  end

  # A pattern whose outermost shape has been tested already.
  defp opened({:lit, _, _}, _, [], _, g), do: g

  defp opened({:tuple, _, [_ | _] = patterns}, _, [_ | _] = parts, fail, g),
    do: each(patterns, parts, fail, g)

  defp opened({:cons, _, head, tail}, _, [_ | _] = parts, fail, g),
    do: each([head, tail], parts, fail, g)

  defp opened({:all, _, patterns}, subject, parts, fail, g) when is_list(parts),
    do: Enum.reduce(patterns, g, &opened(&1, subject, parts, fail, &2))

  defp opened(pattern, subject, _, fail, g), do: pattern(pattern, subject, fail, g)

  # The shape that a pattern asks for first.
  defp shape({:clause, _, pattern, _, _}), do: shape_of(pattern)

  # Floats are left out: as keys 0.0 and -0.0 are one for older releases of OTP.
  defp shape_of({:lit, _, value}) when is_atom(value) or is_integer(value) or is_binary(value),
    do: {:lit, value}

  defp shape_of({:tuple, _, [_ | _] = patterns}), do: {:tuple, length(patterns)}
  defp shape_of({:cons, _, _, _}), do: :cons

  # All of several shaped patterns must agree, or the one shape would be taken for the other.
  defp shape_of({:all, _, patterns}) do
    case patterns |> Enum.map(&shape_of/1) |> Enum.reject(&is_nil/1) |> Enum.uniq() do
      [shape] -> shape
      _ -> nil
    end
  end

  defp shape_of(_), do: nil

  @doc "Emits the code for the case that nothing matched."
  def fail(_, _, %{live: false} = g), do: g
  def fail(:ignore, _, g), do: stop(g, {:ignore})
  def fail(:function_clause, _, g), do: stop(g, {:abort, {:k, :function_clause}})

  def fail({:raised, where}, subject, g) do
    {o, g} = IR.operand(subject, g)
    IR.raised(where, [o], g)
  end

  def fail(reason, {:k, constant}, g), do: stop(g, {:abort, {:k, {reason, constant}}})

  def fail(reason, subject, g) do
    {o, g} = IR.operand(subject, g)
    {d, g} = fresh(g)
    g |> emit({:tuple, d, [{:k, reason}, o]}) |> stop({:abort, {:r, d}})
  end
end
