defmodule Mote.Behaviour.Failures do
  # Fifth pass, between flow and the two forms: what happens to an operation without an answer, `1 + :a`, and
  # to a value that matches no clause, as the module has chosen. After it the name of every operation but
  # those of `:must` is a primitive.
  #
  #   * `:abort`: the turn is aborted, as a process would end with the exception that Elixir raises there. Of such operations
  #     the pass makes `:must` nodes, whose failure is a jump to an abort that knows its line.
  #   * `:undefined`: the value is `:undefined`, and the code goes on; where no clause matches, the turn is still
  #     aborted, with a reason without a line. A check must not pass because of it: `:undefined` has no place in the
  #     order, so comparing with it has no answer either, and a condition that is `:undefined` does not hold.
  #
  # In guards both mean that the guard fails. A calculation of the loops pass itself is certain to have an answer, or
  # nobody looks at it (`:sure`).
  #
  # The reason of such an abort is `{:raised, {module, line, operation}, arguments}`; `Mote.Raised` makes the exception of
  # it. The operation is a primitive, or says what a value has not fitted (`:badmatch`, `:case_clause`, `:with_clause`,
  # `:cond_clause`, `{:function_clause, name, arity}`), and that value is the argument. Or it is a function of the library,
  # `{module, name}`, whatever has failed in it. So calls of these are `:placed` nodes, and never tail calls: the caller has
  # to be there.
  @moduledoc false

  alias Mote.Behaviour.{AST, Imports, Primitives}
  alias Mote.Behaviour.IR.Conditions
  alias Mote.{Prelude, Timer}

  @type mode :: :abort | :undefined

  @ordered [:lt, :le, :gt, :ge]

  @doc "The unit without `:sure` and `:none` nodes."
  @spec unit(map, mode) :: map
  def unit(unit, mode) do
    library =
      for %{origin: {module, name}} = code <- unit.codes,
          Imports.library?(module),
          into: %{},
          do: {{code.name, code.arity}, {module, name}}

    codes =
      for code <- unit.codes do
        s = Map.put(state(code, mode, unit.module), :library, library)
        %{code | body: expr(code.body, s)}
      end

    %{unit | codes: codes}
  end

  # `quiet` is code of the library, of which the caller tells.
  defp state(%{origin: nil} = code, mode, module) do
    quiet = Prelude.called(module, code.name) != nil
    %{mode: mode, module: module, function: {:function_clause, code.name, code.arity}, quiet: quiet}
  end

  # It has been written for Elixir, in which an operation raises.
  defp state(%{origin: {module, name}, arity: arity}, _, _) do
    function = {:function_clause, {module, name}, arity}
    %{mode: :abort, module: module, function: function, quiet: Imports.library?(module)}
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

  defp expr({:op, l, primitive, [_, _] = operands}, %{mode: :undefined} = s) when primitive in @ordered,
    do: compared(l, primitive, exprs(operands, s))

  defp expr({:if, l, test, yes, no}, %{mode: :undefined} = s),
    do: {:if, l, condition(test, s), expr(yes, s), expr(no, s)}

  defp expr({:cond, l, clauses}, %{mode: :undefined} = s),
    do: {:cond, l, for({test, body} <- clauses, do: {condition(test, s), expr(body, s)})}

  defp expr({:either, l, a, b}, %{mode: :undefined} = s), do: {:either, l, holds(expr(a, s)), expr(b, s)}

  defp expr({:both, l, a, b}, %{mode: :undefined} = s) do
    known(l, expr(a, s), {:lit, l, :undefined}, &{:both, l, &1, expr(b, s)})
  end

  defp expr({:op, l, primitive, [tuple, index | values]}, %{mode: :abort} = s)
       when primitive in [:elem, :put_elem] do
    [tuple | values] = exprs([tuple | values], s)
    index = if Enum.all?([tuple | values], &AST.simple?/1), do: expr(index, s), else: counted(l, index, s)
    {:must, l, where(l, primitive, s), [tuple, index | values]}
  end

  defp expr({:op, l, primitive, es}, %{mode: :abort} = s) do
    es = exprs(es, s)

    cond do
      Primitives.always?(primitive) -> {:op, l, primitive, es}
      primitive == :not and Conditions.boolean?(hd(es)) -> {:op, l, primitive, es}
      true -> {:must, l, where(l, primitive, s), es}
    end
  end

  defp expr({tag, l, a, b}, %{mode: :abort} = s) when tag in [:and, :or] do
    [a, b] = exprs([a, b], s)
    if Conditions.boolean?(a), do: {tag, l, a, b}, else: strict(tag, l, a, b, s)
  end

  defp expr({:send_after, l, ms, target, message}, %{mode: :abort} = s) do
    [ms, target, message] = exprs([ms, target, message], s)
    {:send_after, l, milliseconds(ms, l, s), target, message}
  end

  defp expr({:monitor, l, process, target, message}, s) do
    [process, target, message] = exprs([process, target, message], s)
    value = {:var, l, variable(0)}
    pid? = {:op, l, :is_pid, [value]}
    clause = &{:clause, l, {:bind, l, variable(0)}, [pid?], &1}

    if s.mode == :abort do
      {:monitor, l, checked(l, process, s, :monitor, &[clause.(&1)]), target, message}
    else
      other = {:clause, l, {:bind, l, variable(0)}, [], {:lit, l, :undefined}}
      {:case, l, process, [clause.({:monitor, l, value, target, message}), other], :case_clause}
    end
  end

  defp expr({tag, l, nil, es}, s) when tag in [:apply, :tail_apply],
    do: {tag, l, if(s.mode == :abort, do: where(l, :apply, s), else: :apply), exprs(es, s)}

  defp expr({tag, l, {module, name, arity} = function, es}, s) when tag in [:call, :tail_call] do
    es = exprs(es, s)

    # The library itself tells of what has failed.
    called =
      unless s.quiet,
        do: if(module == nil, do: s.library[{name, arity}], else: Prelude.called(module, name))

    if called,
      do: {:placed, l, where(l, called, s), [{:call, l, function, es}]},
      else: {tag, l, function, es}
  end

  defp expr({:case, l, e, clauses, fail}, s) do
    clauses =
      for {:clause, l, pattern, guards, body} <- clauses,
          do: {:clause, l, pattern, Enum.map(guards, &guard(&1, s)), expr(body, s)}

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

  # -- what is undefined ---------------------------------------------------------------------------------------

  # What does not hold if it is undefined.
  defp condition({tag, l, a, b}, s) when tag in [:both, :either],
    do: {tag, l, condition(a, s), condition(b, s)}

  defp condition(e, s), do: e |> expr(s) |> holds()

  defp holds(e), do: if(defined?(e), do: e, else: {:holds, AST.line(e), e})

  # `fun` of a value that is not `:undefined`.
  defp known(l, e, undefined, fun) do
    if defined?(e) do
      fun.(e)
    else
      value = variable(0)
      clause = {:clause, l, {:bind, l, value}, [], fun.({:var, l, value})}
      {:case, l, e, [{:clause, l, {:lit, l, :undefined}, [], undefined}, clause], :case_clause}
    end
  end

  # In a guard it fails where an operand is undefined, also behind a `not`.
  defp compared(l, primitive, operands),
    do: {if(Enum.all?(operands, &defined?/1), do: :op, else: :ordered), l, primitive, operands}

  defp guard({:op, l, primitive, [_, _] = operands}, %{mode: :undefined} = s) when primitive in @ordered,
    do: compared(l, primitive, Enum.map(operands, &guard(&1, s)))

  defp guard(node, %{mode: :undefined} = s), do: AST.map_children(node, &guard(&1, s))
  defp guard(node, _), do: node

  @doc "Returns whether the value of an expression is certain not to be `:undefined`."
  @spec defined?(AST.expr()) :: boolean
  def defined?({:lit, _, value}), do: value != :undefined
  def defined?({:tuple, _, _}), do: true
  def defined?({:cons, _, _, _}), do: true
  def defined?(e), do: Conditions.boolean?(e)

  # -- what is raised ------------------------------------------------------------------------------------------

  # What happens where no clause fits.
  defp fail(:case_clause, l, %{mode: :abort} = s), do: {:raised, where(l, :case_clause, s)}
  defp fail(:with_clause, l, %{mode: :abort} = s), do: {:raised, where(l, :with_clause, s)}
  defp fail(:try_clause, l, %{mode: :abort} = s), do: {:raised, where(l, :try_clause, s)}
  defp fail(:function_clause, l, %{mode: :abort} = s), do: {:raised, where(l, s.function, s)}
  defp fail({:function_clause, _, _} = called, l, %{mode: :abort} = s), do: {:raised, where(l, called, s)}
  defp fail(:with_clause, _, _), do: :case_clause
  defp fail({:function_clause, _, _}, _, _), do: :function_clause
  defp fail(fail, _, _), do: fail

  # Elixir counts from one there, and adds it to the index before the others are calculated. What is no number fails then.
  defp counted(_, {:lit, _, n} = index, _) when is_number(n), do: index

  defp counted(l, index, s) do
    [one, value] = [{:lit, l, 1}, expr(index, s)]
    added = {:must, l, where(l, :add, s), [value, one]}

    cond do
      match?({:op, _, _, _}, index) and Primitives.number?(elem(index, 2)) -> value
      AST.simple?(value) -> {:block, l, [added, value]}
      true -> {:must, l, where(l, :sub, s), [added, one]}
    end
  end

  # The left operand decides, and must be a boolean.
  defp strict(tag, l, a, b, s) do
    {on_true, on_false} = if tag == :and, do: {b, {:lit, l, false}}, else: {{:lit, l, true}, b}

    checked(l, a, s, tag, fn _left ->
      [{:clause, l, {:lit, l, true}, [], on_true}, {:clause, l, {:lit, l, false}, [], on_false}]
    end)
  end

  defp milliseconds(ms, l, s) do
    most = Timer.most()

    if match?({:lit, _, n} when is_integer(n) and n >= 0 and n <= most, ms),
      do: ms,
      else: checked_milliseconds(ms, most, l, s)
  end

  defp checked_milliseconds(ms, most, l, s) do
    checked(l, ms, s, :send_after, fn value ->
      guards = [
        {:op, l, :is_integer, [value]},
        {:op, l, :ge, [value, {:lit, l, 0}]},
        {:op, l, :le, [value, {:lit, l, most}]}
      ]

      guard = guards |> Enum.reverse() |> Enum.reduce(&{:and, l, &1, &2})
      [{:clause, l, {:bind, l, variable(0)}, [guard], value}]
    end)
  end

  # A value that some clauses must fit.
  defp checked(l, e, s, primitive, clauses) do
    value = {:var, l, variable(0)}
    other = {:clause, l, {:bind, l, variable(0)}, [], raised(l, primitive, [value], s)}
    {:case, l, e, clauses.(value) ++ [other], :case_clause}
  end

  # No user has this name. Each such variable is read in its own clause only, before anything else is calculated.
  defp variable(n), do: {:"the operand", n}

  defp raised(l, primitive, es, s) do
    {:abort, l, AST.tuple(l, [{:lit, l, :raised}, {:lit, l, where(l, primitive, s)}, AST.tuple(l, es)])}
  end

  defp where(l, operation, s), do: {s.module, l, operation}
end
