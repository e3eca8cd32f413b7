defmodule Mote.Behaviour.Elixir.Expressions do
  # Expressions as plain Elixir, in one of two forms. Part of the pass to Elixir.
  #
  # `:staged` is what a turn runs: effects are staged with `Mote.Turn.Stage`, fuel is spent and depth counted exactly as the
  # machine does, and a failure aborts the turn. `:direct` is a `defpure` function that plain Elixir calls:
  # nothing is counted, calls are calls, arithmetic is Elixir's, and a failure raises (`Mote.Turn.Direct`).
  # `:undefined` is the same in a module in which an operation without an answer returns `:undefined`. Values
  # are the same in all of them, except integers of more than 2^20 bits: those are numbers in Elixir, but not
  # in a machine.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Failures}
  alias Mote.Behaviour.Elixir.{Direct, Forms, Match}

  @type form :: :staged | :direct | :undefined

  @doc "The Elixir code of an expression."
  @spec expr(AST.expr(), form) :: Macro.t()
  def expr(node, form)

  def expr({tag, _, _} = node, _form) when tag in [:lit, :var], do: Forms.simple(node)
  def expr({:tuple, _, es}, form), do: {:{}, Forms.generated(), Enum.map(es, &expr(&1, form))}
  def expr({:cons, _, h, t}, form), do: [{:|, Forms.generated(), [expr(h, form), expr(t, form)]}]

  # Elixir would warn about values that nobody looks at.
  def expr({:block, _, es}, form) do
    {init, [last]} = Enum.split(es, -1)
    {:__block__, Forms.generated(), Enum.map(Enum.reject(init, &AST.simple?/1) ++ [last], &expr(&1, form))}
  end

  def expr({:op, l, primitive, es}, :staged), do: Forms.op(primitive, es, Enum.map(es, &expr(&1, :staged)), l)
  def expr({:op, l, primitive, es}, form), do: Direct.op(primitive, es, Enum.map(es, &expr(&1, form)), l)

  def expr({:ordered, l, primitive, es}, form) do
    variables =
      for name <- [:left, :right], do: {name, [generated: true, counter: Forms.unique()], __MODULE__}

    compared = Forms.op(primitive, Enum.map(es, &plain/1), variables, l)

    quote generated: true, line: l do
      case {unquote_splicing(Enum.map(es, &expr(&1, form)))} do
        {unquote_splicing(variables)} when unquote(Forms.defined(es, variables)) -> unquote(compared)
        _ -> :undefined
      end
    end
  end

  def expr({:holds, l, e}, form) do
    quote generated: true, line: l do
      case unquote(expr(e, form)) do
        :undefined -> false
        value -> value
      end
    end
  end

  def expr({:must, l, {_, _, operation} = where, es}, form) do
    args = Enum.map(es, &expr(&1, form))
    primitive = Failures.primitive(operation)

    case form do
      :direct -> Direct.must(where, primitive, es, args, l)
      :staged -> Forms.remote(Mote.Total.Must, primitive, [Macro.escape(where) | args], l)
    end
  end

  def expr({:and, l, a, b}, form) do
    quote generated: true, line: l do
      case unquote(expr(a, form)) do
        true -> unquote(expr(b, form))
        false -> false
        _ -> :undefined
      end
    end
  end

  def expr({:or, l, a, b}, form) do
    quote generated: true, line: l do
      case unquote(expr(a, form)) do
        true -> true
        false -> unquote(expr(b, form))
        _ -> :undefined
      end
    end
  end

  def expr({:both, l, a, b}, form) do
    quote generated: true, line: l do
      case unquote(expr(a, form)) do
        falsy when falsy === false or falsy === nil -> falsy
        _ -> unquote(expr(b, form))
      end
    end
  end

  def expr({:either, l, a, b}, form) do
    quote generated: true, line: l do
      case unquote(expr(a, form)) do
        falsy when falsy === false or falsy === nil -> unquote(expr(b, form))
        truthy -> truthy
      end
    end
  end

  def expr({:if, l, test, yes, no}, form) do
    quote generated: true, line: l do
      case unquote(expr(test, form)) do
        falsy when falsy === false or falsy === nil -> unquote(expr(no, form))
        _ -> unquote(expr(yes, form))
      end
    end
  end

  def expr({:cond, l, clauses}, form) do
    # Nothing is done behind a condition that always holds.
    clauses =
      if match?({{:lit, _, true}, _}, List.last(clauses)),
        do: clauses,
        else: clauses ++ [{{:lit, l, true}, {:abort, l, {:lit, l, :cond_clause}}}]

    arrows =
      for {test, body} <- clauses, do: {:->, Forms.generated(l), [[expr(test, form)], expr(body, form)]}

    {:cond, Forms.generated(l), [[do: arrows]]}
  end

  def expr({:match, l, {:bind, _, v}, e}, form),
    do: {:=, Forms.generated(l), [Forms.variable(v), expr(e, form)]}

  def expr({:match, l, pattern, e}, form), do: Match.match(pattern, expr(e, form), {form, :badmatch}, l)
  def expr({:match, l, pattern, e, fail}, form), do: Match.match(pattern, expr(e, form), {form, fail}, l)

  def expr({:case, l, e, clauses, fail}, form),
    do: clauses |> Enum.map(&clause(&1, form)) |> Match.clauses(expr(e, form), {form, fail}, l)

  def expr({:abort, l, e}, form), do: Forms.abort(form, expr(e, form), l)

  def expr({:call, l, function, es}, :staged) do
    {before, args} = arguments(es, :staged, l)
    {:__block__, Forms.generated(l), before ++ called(call(function, args, l), l)}
  end

  def expr({:placed, l, where, [{:call, _, function, es}]}, :staged) do
    {before, args} = arguments(es, :staged, l)
    call = told(where, args, call(function, args, l), l)
    {:__block__, Forms.generated(l), before ++ called(call, l)}
  end

  def expr({:tail_call, l, function, es}, :staged) do
    {before, args} = arguments(es, :staged, l)
    {:__block__, Forms.generated(l), before ++ [stage(:tick, [], l), call(function, args, l)]}
  end

  def expr({tag, l, function, es}, form) when tag in [:call, :tail_call],
    do: Direct.call(function, Enum.map(es, &expr(&1, form)), l)

  def expr({:placed, l, where, [{:call, _, function, es}]}, form) do
    {before, args} = arguments(es, form, l)
    {:__block__, Forms.generated(l), before ++ [Direct.library(where, function, args, l)]}
  end

  def expr({:self, l}, :staged), do: stage(:me, [], l)

  def expr({:create, l, behaviour, es, nil}, :staged), do: stage(:create, [behaviour(behaviour, es, l)], l)

  def expr({:create, l, behaviour, es, sponsor}, :staged),
    do: stage(:create, [behaviour(behaviour, es, l), expr(sponsor, :staged)], l)

  def expr({:send, l, target, message}, :staged),
    do: stage(:send, [expr(target, :staged), expr(message, :staged)], l)

  def expr({:sendx, l, a, b, c}, :staged),
    do: stage(:sendx, [expr(a, :staged), expr(b, :staged), expr(c, :staged)], l)

  def expr({:send_after, l, a, b, c}, :staged),
    do: stage(:send_after, [expr(a, :staged), expr(b, :staged), expr(c, :staged)], l)

  def expr({:monitor, l, a, b, c}, :staged),
    do: stage(:monitor, [expr(a, :staged), expr(b, :staged), expr(c, :staged)], l)

  def expr({:cancel_timer, l, timer}, :staged), do: stage(:cancel_timer, [expr(timer, :staged)], l)
  def expr({:unstash, l, kept}, :staged), do: stage(:unstash, [expr(kept, :staged)], l)
  def expr({:become, l, behaviour, es}, :staged), do: stage(:become, [behaviour(behaviour, es, l)], l)

  # What an operand is known to be where a variable holds it.
  defp plain({:lit, _, _} = literal), do: literal
  defp plain(e), do: {:var, AST.line(e), :operand}

  @doc "A clause whose body is code."
  @spec clause(AST.clause(), form) :: tuple
  def clause({:clause, l, pattern, guards, body}, form), do: {:clause, l, pattern, guards, expr(body, form)}

  defp called(call, l), do: [stage(:enter, [], l), stage(:leave, [call], l)]

  # What fails in a function of the library is told of its call.
  defp told(where, args, call, l) do
    fun = {:fn, Forms.generated(l), [{:->, Forms.generated(l), [[], call]}]}
    stage(:told, [Macro.escape(where), {:{}, Forms.generated(l), args}, fun], l)
  end

  # Arguments are calculated before the call goes one deeper.
  defp arguments(es, form, l) do
    {args, before} =
      es
      |> Enum.with_index()
      |> Enum.map_reduce([], fn {e, n}, before ->
        if AST.simple?(e) do
          {expr(e, form), before}
        else
          temporary = {:"arg#{n}", [generated: true, counter: Forms.unique()], __MODULE__}
          {temporary, [{:=, Forms.generated(l), [temporary, expr(e, form)]} | before]}
        end
      end)

    {Enum.reverse(before), args}
  end

  defp call({nil, name, _}, args, l), do: {Code.hidden(name), Forms.generated(l), args}
  defp call({module, name, _}, args, l), do: Forms.remote(module, Code.hidden(name), args, l)

  defp behaviour(:sink, _, _), do: :sink

  # Not as a remote call: of these the compiler tells where the behaviour is deprecated.
  defp behaviour({nil, name, _}, es, l),
    do: Forms.remote(:erlang, :apply, [{:__MODULE__, [], nil}, name, Enum.map(es, &expr(&1, :staged))], l)

  defp behaviour({module, name, _}, es, l),
    do: Forms.remote(module, name, Enum.map(es, &expr(&1, :staged)), l)

  defp stage(name, args, l), do: Forms.remote(Mote.Turn.Stage, name, args, l)
end
