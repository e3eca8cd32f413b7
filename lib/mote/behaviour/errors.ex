defmodule Mote.Behaviour.Errors do
  # Fifth pass, between flow and the two forms: what becomes of an operation that has no answer, `1 + :a`, and of a value that no
  # clause fits, by the choice of the module. After it the name of every operation but those of `:must` is a primitive.
  #
  #   * `:abort`: the turn is aborted, as a process would end with the exception that Elixir raises there. Of such operations
  #     the pass makes `:must` nodes, whose failure is a jump to an abort that knows its line.
  #   * `:undefined`: the value is `:undefined`, and the code goes on; where no clause fits the turn is aborted all the same, with
  #     a reason that knows no line.
  #
  # In guards both mean that the guard fails. What the loops pass calculates for itself is certain to have an answer, or
  # nobody looks at it (`:sure`).
  #
  # The reason of such an abort is `{:raised, {module, line, operation}, arguments}`; `Mote.Raised` makes the exception of
  # it. The operation is a primitive, or says what a value has not fitted (`:badmatch`, `:case_clause`, `:with_clause`,
  # `:cond_clause`, `{:function_clause, name, arity}`), and that value is the argument. Or it is a function of the library,
  # `{module, name}`, whatever has failed in it. So calls of these are `:placed` nodes, and never tail calls: the caller has
  # to be there.
  @moduledoc false

  alias Mote.Behaviour.{AST, Primitives}
  alias Mote.Behaviour.IR.Tests
  alias Mote.Prelude

  @type mode :: :abort | :undefined

  @doc "The unit without `:sure` and `:none` nodes."
  @spec unit(map, mode) :: map
  def unit(unit, mode) do
    codes =
      for code <- unit.codes do
        s = %{mode: mode, module: unit.module, function: {:function_clause, code.name, code.arity}}
        %{code | body: expr(code.body, s)}
      end

    %{unit | codes: codes}
  end

  @doc "The primitive of an operation: one of its own, or another one that fails in another way."
  @spec primitive(atom) :: atom
  def primitive(:map_field), do: :map_fetch
  def primitive(operation), do: operation

  defp expr({:sure, l, primitive, es}, s), do: {:op, l, primitive, exprs(es, s)}
  defp expr({:none, l, _, _}, %{mode: :undefined}), do: {:lit, l, :undefined}
  defp expr({:none, l, primitive, es}, s), do: raised(l, primitive, exprs(es, s), s)

  defp expr({:op, l, :map_field, es}, %{mode: :undefined} = s),
    do: {:op, l, primitive(:map_field), exprs(es, s)}

  defp expr({:op, l, primitive, es}, %{mode: :abort} = s) do
    es = exprs(es, s)

    cond do
      Primitives.always?(primitive) -> {:op, l, primitive, es}
      primitive == :not and Tests.boolean?(hd(es)) -> {:op, l, primitive, es}
      true -> {:must, l, where(l, primitive, s), es}
    end
  end

  defp expr({tag, l, a, b}, %{mode: :abort} = s) when tag in [:and, :or] do
    [a, b] = exprs([a, b], s)
    if Tests.boolean?(a), do: {tag, l, a, b}, else: strict(tag, l, a, b, s)
  end

  defp expr({:send_after, l, ms, target, message}, %{mode: :abort} = s) do
    [ms, target, message] = exprs([ms, target, message], s)
    {:send_after, l, milliseconds(ms, l, s), target, message}
  end

  defp expr({tag, l, {module, name, _} = function, es}, s) when tag in [:call, :tail_call] do
    es = exprs(es, s)

    # The library itself tells of what has failed.
    called = if Prelude.called(s.module, name) == nil, do: Prelude.called(module, name)

    if called,
      do: {:placed, l, where(l, called, s), [{:call, l, function, es}]},
      else: {tag, l, function, es}
  end

  defp expr({:case, l, e, clauses, fail}, s) do
    clauses =
      for {:clause, l, pattern, guards, body} <- clauses,
          do: {:clause, l, pattern, guards, expr(body, s)}

    {:case, l, expr(e, s), clauses, fail(fail, l, s)}
  end

  defp expr({:match, l, pattern, e}, %{mode: :abort} = s) when elem(pattern, 0) != :bind,
    do: {:match, l, pattern, expr(e, s), {:raised, where(l, :badmatch, s)}}

  defp expr({:cond, l, clauses}, %{mode: :abort} = s) do
    clauses = for {test, body} <- clauses, do: {expr(test, s), expr(body, s)}
    {:cond, l, clauses ++ [{{:lit, l, true}, raised(l, :cond_clause, [], s)}]}
  end

  defp expr(node, s), do: AST.map_children(node, &expr(&1, s))

  defp exprs(es, s), do: Enum.map(es, &expr(&1, s))

  # What happens where no clause fits.
  defp fail(:case_clause, l, %{mode: :abort} = s), do: {:raised, where(l, :case_clause, s)}
  defp fail(:with_clause, l, %{mode: :abort} = s), do: {:raised, where(l, :with_clause, s)}
  defp fail(:function_clause, l, %{mode: :abort} = s), do: {:raised, where(l, s.function, s)}
  defp fail({:function_clause, _, _} = called, l, %{mode: :abort} = s), do: {:raised, where(l, called, s)}
  defp fail(:with_clause, _, _), do: :case_clause
  defp fail({:function_clause, _, _}, _, _), do: :function_clause
  defp fail(fail, _, _), do: fail

  # The left operand decides, and must be a boolean.
  defp strict(tag, l, a, b, s) do
    {on_true, on_false} = if tag == :and, do: {b, {:lit, l, false}}, else: {{:lit, l, true}, b}

    checked(l, a, s, tag, fn _left ->
      [{:clause, l, {:lit, l, true}, [], on_true}, {:clause, l, {:lit, l, false}, [], on_false}]
    end)
  end

  defp milliseconds({:lit, _, ms} = literal, _, _) when is_integer(ms) and ms >= 0, do: literal

  defp milliseconds(ms, l, s) do
    checked(l, ms, s, :send_after, fn value ->
      guards = [{:op, l, :is_integer, [value]}, {:op, l, :ge, [value, {:lit, l, 0}]}]
      guard = guards |> Enum.reverse() |> Enum.reduce(&{:and, l, &1, &2})
      [{:clause, l, {:bind, l, variable()}, [guard], value}]
    end)
  end

  # A value that some clauses must fit.
  defp checked(l, e, s, primitive, clauses) do
    value = {:var, l, variable()}
    other = {:clause, l, {:bind, l, variable()}, [], raised(l, primitive, [value], s)}
    {:case, l, e, clauses.(value) ++ [other], :case_clause}
  end

  # No user has this name. Each such variable is read in its own clause only.
  defp variable, do: {:"the operand", 0}

  defp raised(l, primitive, es, s) do
    {:abort, l, AST.tuple(l, [{:lit, l, :raised}, {:lit, l, where(l, primitive, s)}, AST.tuple(l, es)])}
  end

  defp where(l, operation, s), do: {s.module, l, operation}
end
