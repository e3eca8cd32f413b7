defmodule Mote.Behaviour.IR do
  # Sixth pass: the checked, loop-free Mote AST -> instructions of guides/ir.md, still with names for functions and
  # terms for constants (`encode.ex` numbers them). This file does the expressions; conditions and guards are in
  # `ir/conditions.ex`, patterns and clauses in `ir/match.ex`, the list of instructions under construction in
  # `ir/builder.ex`, values that need not be calculated again in `ir/known.ex`, registers and labels in
  # `ir/registers.ex`.
  #
  # Code is generated towards a destination:
  #
  #     :any      the value, as an operand wherever it is already
  #     {:r, n}   the value, in register n
  #     :none     only the effects
  #     :return   the function ends with the value
  #     :done     the behaviour ends
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Failures, Flow, Primitives}
  alias Mote.Behaviour.IR.{Builder, Known, Match, Registers, Conditions, Turned}

  import Builder, only: [emit: 2, finish: 3, fresh: 1, label: 1, place: 2, stop: 2]

  @doc "The functions and behaviours of a unit as instructions."
  @spec unit(map) :: map
  def unit(unit) do
    {functions, behaviours} = Enum.split_with(unit.codes, &Flow.function?/1)

    sink =
      if Enum.any?(unit.codes, fn code -> AST.any?(code.body, &creates_sink?/1) end),
        do: [%{name: :sink, captures: 0, registers: 1, safe: true, code: [{:ignore}]}],
        else: []

    hidden = sink ++ for %{public: true} = function <- functions, do: call(function)

    %{
      module: unit.module,
      functions: Enum.map(functions, &function(&1, unit)),
      behaviours: Enum.map(behaviours, &behaviour(&1, unit)) ++ hidden
    }
  end

  defp creates_sink?({:create, _, :sink, _, _}), do: true
  defp creates_sink?(_), do: false

  @doc """
  The name of the behaviour through which the outside calls a public function, for `Mote.Future`: no name that a
  `defactor` can have.
  """
  @spec call_name(atom, arity) :: atom
  def call_name(name, arity), do: :"#{name}/#{arity}"

  # Takes `{customer, arguments}`, unless nobody wants the answer any more.
  defp call(%{name: name, arity: arity}) do
    [message, customer, arguments, first] = [0, 1, 2, 3]
    open = first + arity
    given = for n <- 1..arity//1, do: {:r, first + n - 1}
    ignore = 7

    code = [
      {:match_tuple, {:r, message}, 2, customer, ignore},
      {:op, open, :is_address, [{:r, customer}]},
      {:branch, {:r, open}, ignore},
      {:match_tuple, {:r, arguments}, arity, first, ignore},
      {:call, open, {nil, name, arity}, given, nil},
      {:send, {:r, customer}, {:r, open}},
      {:done},
      {:ignore}
    ]

    %{name: call_name(name, arity), captures: 0, registers: open + 1, safe: true, code: code}
  end

  defp function(code, unit) do
    {registers, instructions, source} = code(code, :return, unit)
    fields = %{name: code.name, arity: code.arity, registers: registers, effects: code.effects}
    Map.merge(fields, %{code: instructions, source: source})
  end

  defp behaviour(code, unit) do
    {registers, instructions, source} = code(code, :done, unit)

    fields = %{
      name: code.name,
      captures: code.arity,
      registers: registers,
      safe: not code.becomes,
      beam: code.beam
    }

    Map.merge(fields, %{code: instructions, source: source})
  end

  defp code(%Code{} = code, dest, unit) do
    {_, g} = gen(code.body, dest, Builder.new(code.params))

    instructions = Builder.instructions(g)

    {registers, instructions, lines} =
      Registers.assign(length(code.params), instructions, %{file: unit.file}, code)

    {registers, instructions, {code.line, Enum.map(code.params, &elem(&1, 0)), lines}}
  end

  # -- expressions ---------------------------------------------------------------------------------------------

  @doc "Emits the code of an expression; returns its operand and the builder."
  def gen(node, dest, g)

  def gen({:lit, _, value}, dest, g), do: finish({:k, value}, dest, g)
  def gen({:var, _, v}, dest, g), do: finish(Map.fetch!(g.env, v), dest, g)

  def gen({:block, _, es}, dest, g) do
    {init, [last]} = Enum.split(es, -1)

    g =
      Enum.reduce(init, g, fn e, g ->
        {_, g} = gen(e, :none, g)
        g
      end)

    gen(last, dest, g)
  end

  # Nothing in here can fail or be noticed: without anybody to look at the value only the operands matter.
  def gen({tag, _, es}, :none, g) when tag == :tuple, do: effects_of(es, g)
  def gen({:cons, _, h, t}, :none, g), do: effects_of([h, t], g)

  def gen({:op, _, primitive, es} = op, :none, g) do
    # But for the fuel that it takes.
    if Primitives.pays?(primitive), do: gen(op, :any, g), else: effects_of(es, g)
  end

  def gen({:closure, _, _, es}, :none, g), do: effects_of(es, g)

  def gen({:closure, _, function, es}, dest, g) do
    {os, g} = operands(es, g)
    into(dest, g, &{:fun, &1, function, os})
  end

  def gen({:tuple, _, es}, dest, g) do
    {os, g} = operands(es, g)
    into(dest, g, &{:tuple, &1, os})
  end

  def gen({:cons, _, h, t}, dest, g) do
    {[h, t], g} = operands([h, t], g)
    into(dest, g, &{:cons, &1, h, t})
  end

  def gen({:op, line, primitive, es}, dest, g) do
    {os, g} = operands(es, g)
    into(dest, Builder.at(g, line), Known.value(g.known, primitive, os), &{:op, &1, primitive, os})
  end

  def gen({:ordered, _, primitive, es}, :none, g), do: gen({:op, 0, primitive, es}, :none, g)

  def gen({:ordered, line, primitive, es}, dest, g) do
    {os, g} = operands(es, g)
    g = Builder.at(g, line)

    if Enum.all?(os, &Known.defined?(g.known, &1)) do
      into(dest, g, Known.value(g.known, primitive, os), &{:op, &1, primitive, os})
    else
      join(dest, g, fn dest, last, g ->
        {undefined, g} = label(g)
        g = Enum.reduce(os, g, &Conditions.defined(&1, undefined, &2))
        {_, g} = into(dest, g, Known.value(g.known, primitive, os), &{:op, &1, primitive, os})
        {_, g} = finish({:k, :undefined}, dest, place(undefined, leave(dest, last, g)))
        g
      end)
    end
  end

  def gen({:must, line, {_, _, operation} = where, es}, dest, g) do
    primitive = Failures.primitive(operation)
    {os, g} = Turned.operands(operation, es, g)
    g = Builder.at(g, line)

    case Known.answer(g.known, primitive, os) do
      nil ->
        {d, g} = destination(dest, g)
        {bad, g} = label(g)
        g = emit(g, {:guard_op, d, primitive, os, bad})
        finish({:r, d}, dest, Builder.cold(g, bad, &raised(where, os, &1)))

      o ->
        finish(o, dest, g)
    end
  end

  def gen({:match, _, {:bind, _, v}, e}, dest, g) do
    {o, g} = gen(e, :any, g)
    finish(o, dest, Builder.bind(g, v, o))
  end

  def gen({:match, l, pattern, e}, dest, g), do: gen({:match, l, pattern, e, :badmatch}, dest, g)

  def gen({:match, _, pattern, e, fail}, dest, g) do
    {subject, g} = subject(e, g)
    {bad, g} = label(g)
    g = Match.pattern(pattern, subject, bad, g)
    g = Builder.cold(g, bad, &Match.fail(fail, subject, &1))
    value(subject, dest, g)
  end

  # A test whose clauses are for true and for false.
  def gen(
        {:case, l, e, [{_, _, {:lit, _, true}, [], a}, {_, _, {:lit, _, false}, [], b}], fail} = node,
        dest,
        g
      ) do
    cond do
      Conditions.boolean?(e) -> gen_if({:if, l, e, a, b}, dest, g)
      match?({:ordered, _, _, _}, e) -> gen_answer(e, a, b, {:fail, fail}, dest, g)
      true -> gen_case(node, dest, g)
    end
  end

  def gen({:case, _, _, _, _} = node, dest, g), do: gen_case(node, dest, g)

  def gen({:if, _, test, {:lit, _, true}, {:lit, _, false}} = node, dest, g) do
    if Conditions.boolean?(test), do: gen(test, dest, g), else: gen_if(node, dest, g)
  end

  def gen({:if, l, test, {:lit, _, false}, {:lit, _, true}} = node, dest, g) do
    if Conditions.boolean?(test),
      do: gen({:op, l, :not, [test]}, dest, g),
      else: gen_if(node, dest, g)
  end

  def gen({:if, _, _, _, _} = node, dest, g), do: gen_if(node, dest, g)

  def gen({:cond, _, clauses}, dest, g) do
    join(dest, g, fn dest, last, g ->
      g =
        Enum.reduce(clauses, g, fn {test, body}, g ->
          {next, g} = label(g)
          g = Conditions.truthy(test, next, g)
          g = branch(body, dest, last, g)
          place(next, g)
        end)

      stop(g, {:abort, {:k, :cond_clause}})
    end)
  end

  def gen({:and, l, a, b}, dest, g) do
    gen_strict(l, a, b, {:lit, l, false}, dest, g)
  end

  def gen({:or, l, a, b}, dest, g) do
    gen_strict(l, a, {:lit, l, true}, b, dest, g)
  end

  def gen({:both, _, a, b}, dest, g) do
    {o, g} = gen(a, :any, g)

    join(dest, g, fn dest, last, g ->
      {falsy, g} = label(g)
      g = emit(g, {:falsy, o, falsy})
      g = place(falsy, branch(b, dest, last, g))
      {_, g} = finish(o, dest, g)
      g
    end)
  end

  def gen({:either, _, a, b}, dest, g) do
    {a, certain} = with {:holds, _, e} <- a, do: {e, false}, else: (_ -> {a, true})
    {o, g} = gen(a, :any, g)

    join(dest, g, fn dest, last, g ->
      {falsy, g} = label(g)
      g = emit(g, {:falsy, o, falsy})
      g = if certain, do: g, else: Conditions.defined(o, falsy, g)
      {_, g} = finish(o, dest, g)
      g = place(falsy, leave(dest, last, g))
      {_, g} = gen(b, dest, g)
      g
    end)
  end

  def gen({:self, _}, :none, g), do: {{:k, nil}, g}
  def gen({:self, _}, dest, g), do: into(dest, g, Known.self(g.known), &{:self, &1})

  def gen({:call, _, function, es}, dest, g), do: call(function, es, nil, dest, g)
  def gen({:placed, _, where, [{:call, _, function, es}]}, dest, g), do: call(function, es, where, dest, g)

  def gen({:tail_call, _, function, es}, :return, g) do
    {os, g} = Turned.operands(function, es, g)
    {{:k, nil}, stop(g, {:tail_call, function, os})}
  end

  def gen({:apply, line, place, es}, dest, g) do
    {[f | os], g} = operands(es, g)
    into(dest, Builder.at(g, line), &{:call_fun, &1, f, os, {:k, place}})
  end

  def gen({:tail_apply, _, place, es}, :return, g) do
    {[f | os], g} = operands(es, g)
    {{:k, nil}, stop(g, {:tail_call_fun, f, os, {:k, place}})}
  end

  def gen({:attempt, _, _} = attempt, dest, g) do
    {subject, g} = subject(attempt, g)
    value(subject, dest, g)
  end

  def gen({:abort, _, e}, dest, g) do
    {o, g} = gen(e, :any, g)
    finish({:k, :undefined}, dest, stop(g, {:abort, o}))
  end

  def gen({:create, _, behaviour, es, nil}, dest, g) do
    {os, g} = operands(es, g)
    into(dest, g, &{:create, &1, behaviour, os})
  end

  def gen({:create, _, behaviour, es, sponsor}, dest, g) do
    {all, g} = operands(es ++ [sponsor], g)
    {os, [sponsor]} = Enum.split(all, -1)
    into(dest, g, &{:create_on, &1, behaviour, os, sponsor})
  end

  def gen({:send, _, target, message}, dest, g) do
    {[target, message], g} = operands([target, message], g)
    finish(message, dest, emit(g, {:send, target, message}))
  end

  def gen({:sendx, _, sponsor, target, message}, dest, g) do
    {[sponsor, target, message], g} = operands([sponsor, target, message], g)
    finish(message, dest, emit(g, {:sendx, sponsor, target, message}))
  end

  def gen({:send_after, _, ms, target, message}, dest, g) do
    {[ms, target, message], g} = operands([ms, target, message], g)
    into(dest, g, &{:send_after, &1, ms, target, message})
  end

  # A process is seen to be one before (failures.ex).
  def gen({:monitor, l, process, target, message}, dest, g),
    do: gen({:send_after, l, process, target, message}, dest, g)

  def gen({:cancel_timer, _, timer}, dest, g) do
    {[timer], g} = operands([timer], g)
    into(dest, g, &{:cancel_timer, &1, timer})
  end

  def gen({:unstash, _, kept}, dest, g) do
    {[kept], g} = operands([kept], g)
    finish({:k, :ok}, dest, emit(g, {:unstash, kept}))
  end

  def gen({:become, _, :sink, _}, dest, g), do: finish({:k, :ok}, dest, emit(g, {:become_sink}))

  def gen({:become, _, behaviour, es}, dest, g) do
    {os, g} = operands(es, g)
    finish({:k, :ok}, dest, emit(g, {:become, behaviour, os}))
  end

  # -- helpers -------------------------------------------------------------------------------------------------

  @doc "Several expressions as operands."
  def operands(es, g), do: Enum.map_reduce(es, g, &gen(&1, :any, &2))

  defp effects_of(es, g) do
    g =
      Enum.reduce(es, g, fn e, g ->
        {_, g} = gen(e, :none, g)
        g
      end)

    {{:k, nil}, g}
  end

  @doc """
  What is going to be matched. A tuple that is only built to be taken apart is not built: it is `{:t, operands}`.
  """
  def subject({:tuple, _, es}, g) do
    {os, g} = Enum.map_reduce(es, g, &subject/2)
    {{:t, os}, g}
  end

  def subject({:attempt, l, {:call, _, function, es}}, g) do
    {os, g} = operands(es, g)
    {failed, g} = fresh(g)
    {d, g} = fresh(g)
    protected = [{:try, failed}, {:call, d, function, os, nil}, {:tried}]
    {{:t, [{:r, d}, {:r, failed}]}, Enum.reduce(protected, Builder.at(g, l), &emit(&2, &1))}
  end

  def subject(e, g), do: gen(e, :any, g)

  @doc "A subject as an operand."
  def operand({:t, subjects}, g) do
    {os, g} = Enum.map_reduce(subjects, g, &operand/2)
    {d, g} = fresh(g)
    {{:r, d}, emit(g, {:tuple, d, os})}
  end

  def operand(o, g), do: {o, g}

  defp value(_, :none, g), do: {{:k, nil}, g}

  defp value(subject, dest, g) do
    {o, g} = operand(subject, g)
    finish(o, dest, g)
  end

  @doc "Aborts where an operation has no answer, or nothing fits."
  def raised(where, os, g) do
    {arguments, g} = fresh(g)
    {reason, g} = fresh(g)

    g
    |> emit({:tuple, arguments, os})
    |> emit({:tuple, reason, [{:k, :raised}, {:k, where}, {:r, arguments}]})
    |> stop({:abort, {:r, reason}})
  end

  defp destination({:r, d}, g), do: {d, g}
  defp destination(_, g), do: fresh(g)

  defp call(function, es, where, dest, g) do
    {os, g} = Turned.operands(function, es, g)
    into(dest, g, &{:call, &1, function, os, where})
  end

  # An instruction with a destination register.
  defp into({:r, d}, g, make), do: {{:r, d}, emit(g, make.(d))}

  defp into(dest, g, make) do
    {d, g} = fresh(g)
    finish({:r, d}, dest, emit(g, make.(d)))
  end

  # The same, if the value is not known already.
  defp into(dest, g, nil, make), do: into(dest, g, make)
  defp into(dest, g, o, _), do: finish(o, dest, g)

  # Branches that meet again: a value that is wanted as an operand needs a register of its own for that.
  defp join(:any, g, fun) do
    {d, g} = fresh(g)
    join({:r, d}, g, fun)
  end

  defp join(dest, g, fun) do
    {last, g} = label(g)
    g = place(last, fun.(dest, last, g))
    {if(is_tuple(dest), do: dest, else: {:k, nil}), g}
  end

  defp branch(body, dest, last, g) do
    {_, g} = gen(body, dest, g)
    leave(dest, last, g)
  end

  defp leave(dest, _, g) when dest in [:return, :done], do: g
  defp leave(_, last, g), do: stop(g, {:jump, last})

  defp gen_case({:case, _, e, clauses, fail}, dest, g) do
    {subject, g} = subject(e, g)

    case clauses do
      [{:clause, _, pattern, guards, body}] ->
        {bad, g} = label(g)
        g = Match.pattern(pattern, subject, bad, g)
        g = Conditions.guards(guards, bad, g)
        g = Builder.cold(g, bad, &Match.fail(fail, subject, &1))
        gen(body, dest, g)

      _ ->
        join(dest, g, fn dest, last, g ->
          g = Match.clauses(clauses, subject, g, &branch(&1, dest, last, &2))
          Match.fail(fail, subject, g)
        end)
    end
  end

  defp gen_if({:if, _, test, yes, no}, dest, g) do
    join(dest, g, fn dest, last, g ->
      {otherwise, g} = label(g)
      g = Conditions.truthy(test, otherwise, g)
      g = branch(yes, dest, last, g)
      {_, g} = gen(no, dest, place(otherwise, g))
      g
    end)
  end

  # The left operand decides; the value is `:undefined` if that is not a boolean.
  defp gen_strict(l, a, yes, no, dest, g) do
    cond do
      Conditions.boolean?(a) ->
        gen({:if, l, a, yes, no}, dest, g)

      Conditions.answer?(a) ->
        gen_answer(a, yes, no, :undefined, dest, g)

      true ->
        clauses = [
          {:clause, l, {:lit, l, true}, [], yes},
          {:clause, l, {:lit, l, false}, [], no},
          {:clause, l, {:any, l}, [], {:lit, l, :undefined}}
        ]

        gen({:case, l, a, clauses, :case_clause}, dest, g)
    end
  end

  # A test that is true, false or `:undefined`; what then is the value, or fails.
  defp gen_answer(test, yes, no, otherwise, dest, g) do
    join(dest, g, fn dest, last, g ->
      {falsy, g} = label(g)
      {undefined, g} = label(g)
      g = Conditions.holds(test, falsy, undefined, g)
      g = branch(yes, dest, last, g)
      g = branch(no, dest, last, place(falsy, g))
      g = place(undefined, g)

      case otherwise do
        {:fail, fail} ->
          Match.fail(fail, {:k, :undefined}, g)

        :undefined ->
          {_, g} = finish({:k, :undefined}, dest, g)
          g
      end
    end)
  end
end
