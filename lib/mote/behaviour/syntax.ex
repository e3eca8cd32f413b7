defmodule Mote.Behaviour.Syntax do
  # First pass: Elixir AST -> Mote AST (see `ast.ex`). Names of primitives, effects and modules are resolved,
  # macros expanded, lines kept. Variables stay as the user wrote them; whether they are bound, and whether the
  # functions called exist, is for `check.ex` to find out.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Imports, Primitives, Warnings}

  alias Mote.Behaviour.Syntax.{
    Binaries,
    Calls,
    Effects,
    Functions,
    Hints,
    Loops,
    Maps,
    Paths,
    Pattern,
    Ranges,
    Regexes,
    Try,
    With
  }

  # As text, since formatters differ in how they write the atom.
  @stepped String.to_atom("..//")
  @kernel_functions Kernel.__info__(:functions) ++ Kernel.__info__(:macros)
  @kernel Enum.uniq(Keyword.keys(@kernel_functions))

  @doc "An expression; `env` is the environment of the definition, its line that of the node around."
  @spec expr(Macro.t(), Macro.Env.t()) :: AST.expr()
  def expr(ast, env)

  def expr(number, env) when is_number(number), do: {:lit, env.line, number}
  def expr(atom, env) when is_atom(atom), do: {:lit, env.line, atom}
  def expr(binary, env) when is_binary(binary), do: {:lit, env.line, binary}
  def expr(list, env) when is_list(list), do: list(list, env)
  def expr({a, b}, env), do: AST.tuple(env.line, exprs([a, b], env))

  def expr({form, meta, args}, env) do
    env = Error.at(env, meta)
    node(form, meta, args, env)
  end

  def expr(other, env) do
    Error.raise_at(env, env.line, "cannot use #{inspect(other)} in a behaviour")
  end

  @doc "Several expressions."
  def exprs(asts, env), do: Enum.map(asts, &expr(&1, env))

  @doc "The clauses of a `case`, a `fn` or a `defactor`: `pattern [when guard] -> body`."
  @spec clauses(Macro.t(), Macro.Env.t()) :: [AST.clause()]
  def clauses(arrows, env) do
    clauses = Error.map(arrows, &clause(&1, env))

    arrows
    |> Enum.zip_with(clauses, fn {:->, meta, _}, {:clause, _, pattern, _, _} = clause ->
      {[pattern], clause, meta}
    end)
    |> Warnings.unreachable(env)

    clauses
  end

  @doc "The clauses in a `do` block; `what` the block belongs to and how a clause of it looks are for the error."
  @spec arrows(Macro.t(), String.t(), String.t(), Macro.Env.t()) :: [Macro.t()]
  def arrows([{:->, _, _} | _] = arrows, _, _, _), do: arrows

  def arrows(_, what, shape, env),
    do: Error.raise_at(env, env.line, "the body of #{what} consists of clauses, #{shape}")

  @doc "One clause from its pattern, its guards and its body."
  def clause(pattern, guards, body, env) do
    {:clause, env.line, Pattern.pattern(pattern, env), guards(guards, env), expr(body, env)}
  end

  @doc "Takes `pattern when guard when guard` apart."
  def split_guards({:when, _, [pattern, guards]}), do: {pattern, alternatives(guards)}
  def split_guards(pattern), do: {pattern, []}

  @doc "Guards as expressions."
  def guards(guards, env), do: exprs(guards, %{env | context: :guard})

  def alternatives({:when, _, [one, others]}), do: [one | alternatives(others)]
  def alternatives(guard), do: [guard]

  @doc "A variable that the user cannot name."
  def fresh(name), do: {name, {:fresh, System.unique_integer()}}

  # -- nodes ---------------------------------------------------------------------------------------------------

  defp node(:__block__, _, asts, env),
    do: AST.block(env.line, asts |> Calls.again() |> Error.map(&expr(&1, env)))

  defp node(:{}, _, elements, env), do: AST.tuple(env.line, exprs(elements, env))

  defp node(:%{}, _, pairs, env), do: Maps.literal(pairs, env)
  defp node(:<<>>, _, segments, env), do: Binaries.construct(segments, env)
  defp node(:<>, _, [a, b], env), do: Binaries.construct(Binaries.joined(a, b), env)
  defp node(:%, _, [module, map], env), do: Maps.struct(module, map, env)

  defp node(:_, _, context, env) when is_atom(context),
    do: Error.raise_at(env, env.line, "_ can only be used in a pattern")

  # It holds the process that compiles.
  defp node(:__ENV__, meta, context, env) when is_atom(context),
    do: unexpanded({:__ENV__, meta, context}, env)

  defp node(:__STACKTRACE__, _, context, env) when is_atom(context), do: Try.no_stacktrace(env)

  # Special forms look like variables when written without arguments.
  defp node(form, meta, context, env)
       when form in [:__MODULE__, :__DIR__, :__CALLER__] and
              is_atom(context),
       do: expand({form, meta, context}, env)

  defp node(name, meta, context, env) when is_atom(name) and is_atom(context),
    do: {:var, env.line, {name, Keyword.get(meta, :counter, context)}}

  defp node(:__aliases__, meta, parts, env) do
    alias = {:__aliases__, meta, parts}

    if is_atom(hd(parts)) or is_atom(Macro.expand(alias, env)),
      do: expand(alias, env),
      else: no_alias(alias, env)
  end

  defp node(:=, _, [pattern, value], env),
    do: {:match, env.line, Pattern.pattern(pattern, env), expr(value, env)}

  defp node(:case, meta, [value, [do: body]], env) do
    clauses = arrows(body, "case", "pattern -> body", env)
    fail = Keyword.get(meta, :mote_fail, :case_clause)
    {:case, env.line, expr(value, env), clauses(clauses, env), fail}
  end

  defp node(:case, _, [_value, [{key, _} | _] = opts], env) when is_atom(key), do: only_do(:case, opts, env)

  defp node(:cond, _, [[do: body]], env) do
    {:cond, env.line,
     Enum.map(arrows(body, "cond", "condition -> body", env), fn
       {:->, meta, [[test], body]} -> {expr(test, Error.at(env, meta)), expr(body, Error.at(env, meta))}
       {:->, meta, _} -> Error.raise_at(Error.at(env, meta), env.line, "a cond clause has one condition")
     end)}
  end

  defp node(:cond, _, [[{key, _} | _] = opts], env) when is_atom(key), do: only_do(:cond, opts, env)

  defp node(:if, _, [test, opts], env) when is_list(opts) do
    {yes, no} = branches(:if, opts, env)
    {:if, env.line, expr(test, env), expr(yes, env), expr(no, env)}
  end

  defp node(:unless, _, [test, opts], env) when is_list(opts) do
    {no, yes} = branches(:unless, opts, env)
    {:if, env.line, expr(test, env), expr(yes, env), expr(no, env)}
  end

  defp node(:and, _, [a, b], env), do: {:and, env.line, expr(a, env), expr(b, env)}
  defp node(:or, _, [a, b], env), do: {:or, env.line, expr(a, env), expr(b, env)}
  defp node(:&&, _, [a, b], env), do: {:both, env.line, expr(a, env), expr(b, env)}
  defp node(:||, _, [a, b], env), do: {:either, env.line, expr(a, env), expr(b, env)}

  defp node(:!, _, [a], env),
    do: {:if, env.line, expr(a, env), {:lit, env.line, false}, {:lit, env.line, true}}

  # The sign belongs to the literal: the smallest integer is one that its opposite is not.
  defp node(:-, _, [n], env) when is_integer(n), do: {:lit, env.line, -n}

  # Multiplied by one: a number stays what it is (also -0.0), all else has no answer.
  defp node(:+, _, [a], env), do: AST.op(env.line, :mul, [expr(a, env), {:lit, env.line, 1}])

  defp node(:is_nil, _, [a], env),
    do: AST.op(env.line, :same, [expr(a, env), {:lit, env.line, nil}])

  defp node(:is_map_key, _, [map, key], env),
    do: AST.op(env.line, :map_has_key, exprs([map, key], env))

  defp node(:.., _, [first, last], %{context: nil} = env), do: Ranges.value(first, last, nil, env)
  defp node(@stepped, _, [first, last, step], %{context: nil} = env), do: Ranges.value(first, last, step, env)
  defp node(:in, _, [value, source], env), do: Calls.member(value, source, env)
  defp node(:struct, _, [struct], env), do: Maps.struct_of(struct, [], env)
  defp node(:struct, _, [struct, fields], env), do: Maps.struct_of(struct, fields, env)
  defp node(:struct!, _, [struct], env), do: Maps.struct!(struct, [], env)
  defp node(:struct!, _, [struct, fields], env), do: Maps.struct!(struct, fields, env)
  defp node(:for, _, args, env), do: Loops.for(args, env)
  defp node(:with, _, [_ | _] = args, env), do: With.expr(args, env)
  defp node(:try, _, args, env), do: Try.expr(args, env)
  defp node(:raise, _, [value], env), do: Try.raised(value, env)
  defp node(:raise, _, [module, argument], env), do: Try.raised(module, argument, env)
  defp node(:throw, _, [value], env), do: Try.thrown(value, env)

  defp node(:tap, _, [value, fun], env) do
    {name, counter} = variable = fresh(:value)
    seen = expr({{:., [], [fun]}, [], [{name, [counter: counter], nil}]}, env)
    body = AST.block(env.line, [seen, {:var, env.line, variable}])
    clause = {:clause, env.line, {:bind, env.line, variable}, [], body}
    {:case, env.line, expr(value, env), [clause], :case_clause}
  end

  defp node(:destructure, _, [left, right], env) when is_list(left) do
    call = quote(do: Mote.Prelude.Kernel.elements(unquote(right), unquote(length(left))))
    {:match, env.line, Pattern.pattern(left, env), expr(call, env)}
  end

  defp node(:to_string, _, [value], env), do: Calls.text(value, env)

  # By the form of guards, if the name is one: it looks at the term several times, which Kernel has inside of a case.
  defp node(name, meta, [term, struct], %{context: nil} = env) when name in [:is_struct, :is_exception] do
    test = &{{:., meta, [Kernel, name]}, meta, [&1, struct]}

    if is_atom(Macro.expand(struct, env)),
      do: Functions.inside([], env, fn [] -> Functions.given([term], env, &of_guard(test.(hd(&1)), env)) end),
      else: expand(test.(term), env)
  end

  defp node(form, meta, args, %{context: nil} = env) when form in [:fn, :&],
    do: Functions.value({form, meta, args}, env)

  defp node(sigil, _, [{:<<>>, _, _}, modifiers] = args, %{context: nil} = env)
       when sigil in [:sigil_r, :sigil_R] and is_list(modifiers),
       do: Regexes.literal(sigil, args, env)

  defp node(:self, _, [], env), do: {:self, env.line}

  defp node(:send, _, [target, message], env), do: Effects.send(target, message, env)

  defp node(:sendx, _, [sponsor, target, message], env),
    do: Effects.sendx(sponsor, target, message, env)

  defp node(:send_after, _, [ms, target, message], env),
    do: Effects.send_after(ms, target, message, env)

  defp node(:cancel_timer, _, [timer], env), do: {:cancel_timer, env.line, expr(timer, env)}

  defp node(:monitor, meta, [process, message], env),
    do: Effects.monitor(process, {:self, meta, []}, message, env)

  defp node(:monitor, _, [process, target, message], env),
    do: Effects.monitor(process, target, message, env)

  # What `monitor` returns is a timer, which is due when the process has ended.
  defp node(:demonitor, _, [monitor], env), do: {:cancel_timer, env.line, expr(monitor, env)}
  defp node(:create, _, [behaviour], env), do: Calls.create(behaviour, [], env)
  defp node(:create, _, [behaviour, opts], env), do: Calls.create(behaviour, opts, env)
  defp node(:stash, _, [], env), do: {:stash, env.line, [], []}
  defp node(:stash, _, [changes], env), do: Calls.stash(changes, env)
  defp node(:become, _, [behaviour], env), do: Calls.become(behaviour, env)
  defp node(:again, _, [], env), do: Calls.again_alone(env)
  # No name that can be written, as the next but one.
  defp node(:"mote again", _, [become], env), do: {:again, env.line, expr(become, env)}
  defp node(:abort, _, [reason], env), do: {:abort, env.line, abort_reason(expr(reason, env))}

  # What Elixir has made of `raise` and its relatives: no name that can be written, as the next one.
  defp node(:"mote raised", _, [function, argument], env), do: Imports.raised(function, argument, env)

  defp node(:"mote attempt", _, [body], env), do: Try.attempt(body, env)
  defp node(:"mote failed", _, [reason], env), do: {:abort, env.line, expr(reason, env)}

  # In the code of paths only: arguments, and what makes code of them.
  defp node(:"mote given", _, [args, make], env), do: Functions.inside(args, env, &expr(make.(&1), env))

  # In the code of templates only.
  defp node(:"mote local", _, [key | args], env), do: {:local, env.line, key, exprs(args, env)}

  defp node({:., _, [module, name]}, meta, args, env) when is_atom(name) and is_list(args),
    do: Calls.remote(module, name, args, meta, env)

  defp node({:., _, [{form, _, _} = fun]}, _, args, env) when form in [:fn, :&],
    do: Functions.call(fun, args, env)

  defp node({:., _, [fun]}, _, args, env), do: Functions.apply(fun, args, env)

  defp node(name, meta, args, env) when is_atom(name) and is_list(args) do
    case Primitives.local(name, length(args)) do
      nil ->
        call(name, meta, args, env)

      primitive ->
        imported(name, meta, args, env)
        AST.op(env.line, primitive, exprs(args, env))
    end
  end

  defp node(form, _, args, env) do
    Error.raise_at(env, env.line, "cannot call #{Macro.to_string({form, [], args})} in a behaviour")
  end

  defp of_guard(ast, env), do: expr(Macro.expand_once(ast, %{env | context: :guard}), env)

  # As Elixir does, which has no other order of them, either.
  defp branches(_, [do: yes], _), do: {yes, nil}
  defp branches(_, [do: yes, else: no], _), do: {yes, no}

  defp branches(name, opts, env) do
    Error.raise_at(
      env,
      env.line,
      "invalid or duplicate keys for #{name}, only \"do\" and an optional \"else\" are permitted, in this order: got " <>
        keys(opts)
    )
  end

  defp keys(opts) do
    if Keyword.keyword?(opts),
      do: opts |> Keyword.keys() |> Enum.map_join(", ", &inspect/1),
      else: Macro.to_string(opts)
  end

  defp only_do(name, opts, env) do
    text =
      case Enum.find(opts, &(not match?({:do, _}, &1))) do
        {:else, _} -> "unexpected option :else in \"#{name}\": #{otherwise(name)}"
        {key, _} -> "unexpected option #{inspect(key)} in \"#{name}\": it takes a do block, and nothing else"
        _ -> "#{name} takes one do block, and nothing else"
      end

    Error.raise_at(env, env.line, text)
  end

  defp otherwise(:case), do: "a last clause _ -> … takes what no other one matches"
  defp otherwise(:cond), do: "a last clause true -> … stands for all other cases"

  defp no_alias({:__aliases__, _, [left | names]} = alias, env) do
    quoted = Enum.map_join(names, &".\"#{&1}\"")

    Error.raise_at(
      env,
      env.line,
      "invalid alias: \"#{Macro.to_string(alias)}\": an alias is an atom that is known when compiling; to call a function " <>
        "or to read a field of that name write it in double quotes, #{Macro.to_string(left)}#{quoted}"
    )
  end

  # Where a module other than Kernel has the primitive, Elixir is to know that its import is used.
  defp imported(name, meta, args, env) do
    case Macro.Env.lookup_import(env, {name, length(args)}) do
      [{:function, module}] when module != Kernel -> Macro.expand_once({name, meta, args}, env)
      _ -> nil
    end
  end

  # Neither primitive nor construct: refused by name, a macro, an imported or a local function.
  defp call(name, meta, args, env) do
    arity = length(args)

    with nil <- if(not own?(name, arity, meta, env), do: Hints.construct(name)),
         nil <- Hints.effect_usage(name, args) do
      cond do
        of_kernel?(name, arity, env) -> Calls.kernel(name, args, env)
        meta[:mote_kernel] -> expand({{:., meta, [Kernel, name]}, meta, args}, env)
        true -> expand({name, meta, args}, env)
      end
    else
      hint -> Error.raise_at(env, env.line, hint)
    end
  end

  # A name of Kernel's that is the module's own, or another module's: Kernel's is not imported with so many arguments, as for
  # `node(key, left, right)`, and neither `Kernel.` stands before it nor the import of a macro that has written it.
  defp own?(name, arity, meta, env) do
    name in @kernel and meta[:mote_kernel] == nil and {arity, Kernel} not in Keyword.get(meta, :imports, []) and
      Enum.all?(Macro.Env.lookup_import(env, {name, arity}), fn {_, module} -> module != Kernel end)
  end

  @doc "Returns whether a call of that name means what it does in Kernel although the module does not import it."
  @spec keeps?(atom, arity, Macro.Env.t()) :: boolean
  def keeps?(name, arity, env) do
    {name, arity} in @kernel_functions and Hints.construct(name) == nil and
      Macro.Env.lookup_import(env, {name, arity}) == []
  end

  # A macro of Kernel that is not to be expanded: what it becomes is not in the language. Of those with paths one is newer than
  # some releases of Elixir.
  defp of_kernel?(name, arity, env) do
    case Macro.Env.lookup_import(env, {name, arity}) do
      [macro: Kernel] -> Paths.macro?(name, arity) or Mote.Prelude.entry(Kernel, name, arity) != nil
      [] -> Paths.macro?(name, arity)
      _ -> false
    end
  end

  @doc "Expands a macro once and goes on with the result; anything that is not a macro is a call."
  def expand(ast, env) do
    case Macro.expand_once(ast, env) do
      ^ast -> unexpanded(ast, env)
      expanded -> expr(expanded, env)
    end
  end

  defp unexpanded({name, meta, args}, env) when is_atom(name) and is_list(args) do
    case Macro.Env.lookup_import(env, {name, length(args)}) do
      [{:function, Kernel} | _] -> Calls.kernel(name, args, env)
      [{:function, module} | _] -> Calls.remote(module, name, args, meta, env)
      _ -> Calls.function(nil, name, args, env)
    end
  end

  defp unexpanded({{:., _, [Kernel, name]}, _, args}, env), do: Calls.kernel(name, args, env)

  defp unexpanded({{:., _, [module, name]}, _, args}, env) do
    with true <-
           module != env.module and Code.ensure_loaded?(module) and
             macro_exported?(module, name, length(args)),
         do: Error.raise_at(env, env.line, Hints.macro(module, name, length(args)))

    Calls.function(module, name, args, env)
  end

  defp unexpanded(ast, env),
    do: Error.raise_at(env, env.line, "#{Macro.to_string(ast)} is not available in a behaviour")

  defp clause({:->, meta, [[head], body]}, env) do
    {pattern, guards} = split_guards(head)
    clause(pattern, guards, body, Error.at(env, meta))
  end

  defp clause({:->, meta, [heads, _]}, env) do
    env = Error.at(env, meta)

    Error.raise_at(
      env,
      env.line,
      "a clause matches one value here, this one has #{length(heads)} patterns; use a tuple pattern"
    )
  end

  defp list(list, env) do
    case List.pop_at(list, -1) do
      {{:|, _, [last, tail]}, before} ->
        AST.list(env.line, exprs(before ++ [last], env), expr(tail, env))

      _ ->
        AST.list(env.line, exprs(list, env))
    end
  end

  defp abort_reason(reason),
    do: AST.tuple(AST.line(reason), [{:lit, AST.line(reason), :abort}, reason])
end
