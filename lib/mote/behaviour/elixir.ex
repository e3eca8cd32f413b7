defmodule Mote.Behaviour.Elixir do
  # Last pass towards Elixir: the checked, loop-free Mote AST -> plain functions of the user's module. They compute
  # with `Mote.Total`, stage their effects with `Mote.Turn.Stage` and spend fuel exactly where the machine does.
  # Patterns, clauses and guards are in `elixir/match.ex`, what all of it is made of in `elixir/forms.ex`.
  #
  # Generated: `name/captures` giving the behaviour and `__mote_turn__/3` for behaviours; `name/arity` and, for
  # calls from other behaviours, `"mote name"/arity` for functions; `__mote__/1` about the module. What other modules are
  # called for is looked at when all modules are there, by `Mote.Behaviour.Warnings`, which knows the names as written.
  @moduledoc false

  alias Mote.Behaviour.{AST, Beam, Code, Delegate, Failures, Flow, IR}
  alias Mote.Behaviour.Elixir.{Forms, Match}

  @doc "The code to be put at the end of the module."
  @spec unit(map, [map], [module], {binary, non_neg_integer, binary}) :: Macro.t()
  def unit(unit, delegates, required, {binary, hash, lines}) do
    {functions, actors} = Enum.split_with(unit.codes, &Flow.function?/1)
    public = Enum.filter(functions, & &1.public)
    delegated = for %{delegate: {module, _, _}} when module != nil <- delegates, do: module
    imports = (delegated ++ Enum.flat_map(unit.codes, &modules(&1.body))) |> Enum.uniq() |> Enum.sort()

    references =
      for {kind, {_, name, _} = function, line} <- Enum.flat_map(unit.codes, &references(&1.body)),
          uniq: true,
          do: {kind, function, line, unit.columns[{line, {:call, name}}]}

    references = Enum.sort_by(references, &elem(&1, 2))

    hidden =
      for {:function, {module, name, arity}, _, _} <- references,
          uniq: true,
          do: {module, Code.hidden(name), arity}

    quote generated: true do
      unquote_splicing(for module <- required, do: quote(do: require(unquote(module))))
      @compile {:no_warn_undefined, unquote(Macro.escape(hidden))}
      @after_verify {Mote.Behaviour.Warnings, :undefined}

      unquote_splicing(Enum.map(actors, &constructor(&1, unit.module, hash)))
      unquote_splicing(Delegate.functions(delegates))
      unquote_splicing(Enum.map(public, &public/1))
      unquote_splicing(Enum.map(functions, &function/1))
      unquote_splicing(for code <- functions, not code.public, name(code) in unit.named, do: named(code))

      @doc false
      unquote_splicing(Enum.map(actors, &turn/1))

      unquote(if actors == [], do: no_turn())

      unquote(if delegates != [], do: exported(delegates))

      @doc false
      def __mote__(:unit), do: unquote(binary)
      def __mote__(:hash), do: unquote(hash)
      def __mote__(:lines), do: unquote(lines)
      def __mote__(:behaviours), do: unquote(names(actors))
      def __mote__(:functions), do: unquote(names(public))
      def __mote__(:effects), do: unquote(functions |> Enum.filter(&written_effect?/1) |> names())
      def __mote__(:delegates), do: unquote(Macro.escape(Delegate.table(delegates)))
      def __mote__(:imports), do: unquote(imports)
      def __mote__(:references), do: unquote(Macro.escape(references))
      def __mote__(:beam), do: unquote(actors |> Enum.filter(& &1.beam) |> names())
      def __mote__(:safe), do: unquote(actors |> Enum.reject(& &1.becomes) |> names())
      unquote_splicing(Enum.map(public, &call(&1, hash)))
      def __mote__({:call, _name, _arity}), do: nil
    end
  end

  # Looked up for every call: without making an atom each time.
  defp call(code, hash) do
    quote do
      def __mote__({:call, unquote(code.name), unquote(code.arity)}),
        do: unquote({IR.call_name(code.name, code.arity), hash})
    end
  end

  # Not what loops in an effect have become.
  defp written_effect?(code), do: code.kind == :effect and code.args != nil

  defp names(codes), do: Enum.map(codes, &name/1)
  defp name(code), do: {code.name, code.arity}

  defp modules(node) do
    own =
      case node do
        {tag, _, {module, _, _}, _} when tag in [:call, :tail_call, :become] -> [module]
        {:create, _, {module, _, _}, _, _} -> [module]
        _ -> []
      end

    Enum.reject(own, &is_nil/1) ++ Enum.flat_map(AST.children(node), &modules/1)
  end

  # The functions and behaviours of other modules, with the lines at which they are named.
  defp references(node) do
    own =
      case node do
        {tag, l, {module, _, _} = function, _} when tag in [:call, :tail_call] and module != nil ->
          [{:function, function, l}]

        {:become, l, {module, _, _} = behaviour, _} when module != nil ->
          [{:behaviour, behaviour, l}]

        {:create, l, {module, _, _} = behaviour, _, _} when module != nil ->
          [{:behaviour, behaviour, l}]

        _ ->
          []
      end

    own ++ Enum.flat_map(AST.children(node), &references/1)
  end

  # Modules that name a delegate have it replaced when they are compiled, and require the module that defines it. Mix
  # compiles those again when the exports of a required module change: so what delegates stand for is part of a name.
  defp exported(delegates) do
    name = :"mote delegates #{delegates |> Delegate.table() |> :erlang.phash2()}"

    quote generated: true do
      @doc false
      def unquote(name)(), do: nil
    end
  end

  # -- functions -----------------------------------------------------------------------------------------------

  defp constructor(%Code{} = code, module, hash) do
    # Captures that nobody has written, those of a gather, may have the same name twice.
    variable = if code.args, do: &user_variable/1, else: &Forms.variable/1
    captures = code.params |> Enum.take(code.arity) |> Enum.map(variable)
    default = "The behaviour `#{code.name}(#{code.args})`, to create actors with."

    quote generated: true, line: code.line do
      @doc unquote(doc(code, default))
      @spec unquote(code.name)(unquote_splicing(terms(code.arity))) :: Mote.Behaviour.t()
      def unquote(code.name)(unquote_splicing(captures)) do
        %Mote.Behaviour{
          module: unquote(module),
          name: unquote(code.name),
          version: unquote(hash),
          captures: {unquote_splicing(captures)}
        }
      end
    end
  end

  defp public(%Code{} = code) do
    params = Enum.map(code.params, &Forms.variable/1)
    default = "The function `#{code.name}/#{code.arity}`, for behaviours and for Elixir."

    quote generated: true, line: code.line do
      @doc unquote(doc(code, default))
      def unquote(code.name)(unquote_splicing(params)) do
        Mote.Turn.pure(fn -> unquote(Code.hidden(code.name))(unquote_splicing(params)) end)
      end
    end
  end

  # `@doc false` and a doc of the user's stay what they are.
  defp doc(%{doc: nil}, default), do: default
  defp doc(%{doc: doc}, _), do: doc

  defp terms(n), do: List.duplicate(quote(do: term), n)

  defp function(%Code{} = code) do
    params = Enum.map(code.params, &Forms.variable/1)
    definer = if code.public, do: :def, else: :defp
    head = {Code.hidden(code.name), [line: code.line, generated: true], params}

    quote generated: true, line: code.line do
      unquote(if code.public, do: quote(do: @doc(false)))
      unquote({definer, [context: __MODULE__, import: Kernel], [head, [do: expr(code.body)]]})
    end
  end

  # What is not public, by the name that it was written under, for behaviours that call it as any Elixir.
  defp named(%Code{} = code) do
    params = Enum.map(code.params, &Forms.variable/1)

    quote generated: true, line: code.line do
      defp unquote(code.name)(unquote_splicing(params)),
        do: unquote(Code.hidden(code.name))(unquote_splicing(params))
    end
  end

  # The clauses are in a function of their own, which stands where they were written.
  defp turn(%Code{beam: true} = code) do
    captures = code.params |> Enum.drop(-1) |> Enum.map(&Forms.variable/1)
    message = code.params |> List.last() |> Forms.variable()

    quote generated: true, line: code.line do
      def __mote_turn__(unquote(code.name), {unquote_splicing(captures)} = captures, unquote(message)) do
        Mote.Turn.Stage.captured(captures)
        unquote(Beam.function(code.name))(unquote_splicing(captures), unquote(message))
      end
    end
  end

  defp turn(%Code{} = code) do
    {captures, [message]} = code.params |> Enum.map(&Forms.variable/1) |> Enum.split(-1)

    quote generated: true, line: code.line do
      def __mote_turn__(unquote(code.name), {unquote_splicing(captures)}, unquote(message)) do
        unquote(commit(code.body))
      end
    end
  end

  defp no_turn do
    quote generated: true do
      def __mote_turn__(name, _captures, _message),
        do: raise(ArgumentError, "no behaviour #{name}")
    end
  end

  # The value of a turn's code is of no interest, only that a clause matched; `:ignored` when none did.
  defp commit({:case, l, e, clauses, :ignore}) do
    clauses =
      for {:clause, l, pattern, guards, body} <- clauses,
          do: {:clause, l, pattern, guards, {:block, l, [body, {:lit, l, :commit}]}}

    expr({:case, l, e, clauses, :ignore})
  end

  # -- expressions ---------------------------------------------------------------------------------------------

  @doc "The Elixir code of an expression."
  @spec expr(AST.expr()) :: Macro.t()
  def expr(node)

  def expr({tag, _, _} = node) when tag in [:lit, :var], do: Forms.simple(node)
  def expr({:tuple, _, es}), do: {:{}, Forms.generated(), Enum.map(es, &expr/1)}
  def expr({:cons, _, h, t}), do: [{:|, Forms.generated(), [expr(h), expr(t)]}]

  # Elixir would warn about values that nobody looks at.
  def expr({:block, _, es}) do
    {init, [last]} = Enum.split(es, -1)
    {:__block__, Forms.generated(), Enum.map(Enum.reject(init, &AST.simple?/1) ++ [last], &expr/1)}
  end

  def expr({:op, l, primitive, es}), do: Forms.op(primitive, es, Enum.map(es, &expr/1), l)

  def expr({:ordered, l, primitive, es}) do
    variables =
      for name <- [:left, :right], do: {name, [generated: true, counter: Forms.unique()], __MODULE__}

    compared = Forms.op(primitive, Enum.map(es, &plain/1), variables, l)

    quote generated: true, line: l do
      case {unquote_splicing(Enum.map(es, &expr/1))} do
        {unquote_splicing(variables)} when unquote(Forms.defined(es, variables)) -> unquote(compared)
        _ -> :undefined
      end
    end
  end

  def expr({:holds, l, e}) do
    quote generated: true, line: l do
      case unquote(expr(e)) do
        :undefined -> false
        value -> value
      end
    end
  end

  def expr({:must, l, {_, _, operation} = where, es}),
    do:
      Forms.remote(
        Mote.Total.Must,
        Failures.primitive(operation),
        [Macro.escape(where) | Enum.map(es, &expr/1)],
        l
      )

  def expr({:and, l, a, b}) do
    quote generated: true, line: l do
      case unquote(expr(a)) do
        true -> unquote(expr(b))
        false -> false
        _ -> :undefined
      end
    end
  end

  def expr({:or, l, a, b}) do
    quote generated: true, line: l do
      case unquote(expr(a)) do
        true -> true
        false -> unquote(expr(b))
        _ -> :undefined
      end
    end
  end

  def expr({:both, l, a, b}) do
    quote generated: true, line: l do
      case unquote(expr(a)) do
        falsy when falsy === false or falsy === nil -> falsy
        _ -> unquote(expr(b))
      end
    end
  end

  def expr({:either, l, a, b}) do
    quote generated: true, line: l do
      case unquote(expr(a)) do
        falsy when falsy === false or falsy === nil -> unquote(expr(b))
        truthy -> truthy
      end
    end
  end

  def expr({:if, l, test, yes, no}) do
    quote generated: true, line: l do
      case unquote(expr(test)) do
        falsy when falsy === false or falsy === nil -> unquote(expr(no))
        _ -> unquote(expr(yes))
      end
    end
  end

  def expr({:cond, l, clauses}) do
    clauses =
      for {test, body} <- clauses do
        {:->, Forms.generated(l), [[expr(test)], expr(body)]}
      end

    last = {:->, Forms.generated(l), [[true], expr({:abort, l, {:lit, l, :cond_clause}})]}
    {:cond, Forms.generated(l), [[do: clauses ++ [last]]]}
  end

  def expr({:match, l, {:bind, _, v}, e}), do: {:=, Forms.generated(l), [Forms.variable(v), expr(e)]}
  def expr({:match, l, pattern, e}), do: Match.match(pattern, expr(e), :badmatch, l)
  def expr({:match, l, pattern, e, fail}), do: Match.match(pattern, expr(e), fail, l)

  def expr({:case, l, e, clauses, fail}),
    do: clauses |> Enum.map(&clause/1) |> Match.clauses(expr(e), fail, l)

  def expr({:abort, l, e}), do: stage(:abort, [expr(e)], l)

  def expr({:call, l, function, es}) do
    {before, args} = arguments(es, l)
    {:__block__, Forms.generated(l), before ++ called(call(function, args, l), l)}
  end

  def expr({:placed, l, where, [{:call, _, function, es}]}) do
    {before, args} = arguments(es, l)
    fun = {:fn, Forms.generated(l), [{:->, Forms.generated(l), [[], call(function, args, l)]}]}
    call = stage(:told, [Macro.escape(where), {:{}, Forms.generated(l), args}, fun], l)
    {:__block__, Forms.generated(l), before ++ called(call, l)}
  end

  def expr({:tail_call, l, function, es}) do
    {before, args} = arguments(es, l)
    {:__block__, Forms.generated(l), before ++ [stage(:tick, [], l), call(function, args, l)]}
  end

  def expr({:self, l}), do: stage(:me, [], l)

  def expr({:create, l, behaviour, es, nil}), do: stage(:create, [behaviour(behaviour, es, l)], l)

  def expr({:create, l, behaviour, es, sponsor}),
    do: stage(:create, [behaviour(behaviour, es, l), expr(sponsor)], l)

  def expr({:send, l, target, message}), do: stage(:send, [expr(target), expr(message)], l)
  def expr({:sendx, l, a, b, c}), do: stage(:sendx, [expr(a), expr(b), expr(c)], l)
  def expr({:send_after, l, a, b, c}), do: stage(:send_after, [expr(a), expr(b), expr(c)], l)
  def expr({:cancel_timer, l, timer}), do: stage(:cancel_timer, [expr(timer)], l)
  def expr({:unstash, l, kept}), do: stage(:unstash, [expr(kept)], l)
  def expr({:become, l, behaviour, es}), do: stage(:become, [behaviour(behaviour, es, l)], l)

  # What an operand is known to be where a variable holds it.
  defp plain({:lit, _, _} = literal), do: literal
  defp plain(e), do: {:var, AST.line(e), :operand}

  defp clause({:clause, l, pattern, guards, body}), do: {:clause, l, pattern, guards, expr(body)}

  defp called(call, l), do: [stage(:enter, [], l), stage(:leave, [call], l)]

  # Arguments are calculated before the call goes one deeper.
  defp arguments(es, l) do
    {args, before} =
      es
      |> Enum.with_index()
      |> Enum.map_reduce([], fn {e, n}, before ->
        if AST.simple?(e) do
          {expr(e), before}
        else
          temporary = {:"arg#{n}", [generated: true, counter: Forms.unique()], __MODULE__}
          {temporary, [{:=, Forms.generated(l), [temporary, expr(e)]} | before]}
        end
      end)

    {Enum.reverse(before), args}
  end

  defp call({nil, name, _}, args, l), do: {Code.hidden(name), Forms.generated(l), args}
  defp call({module, name, _}, args, l), do: Forms.remote(module, Code.hidden(name), args, l)

  defp behaviour(:sink, _, _), do: :sink

  defp behaviour({nil, name, _}, es, l),
    do: Forms.remote({:__MODULE__, [], nil}, name, Enum.map(es, &expr/1), l)

  defp behaviour({module, name, _}, es, l), do: Forms.remote(module, name, Enum.map(es, &expr/1), l)

  defp stage(name, args, l), do: Forms.remote(Mote.Turn.Stage, name, args, l)

  # In heads that people see in their editor the names are plain.
  defp user_variable({name, _}), do: {name, [generated: true], nil}
end
