defmodule Mote.Behaviour.Syntax.Try do
  # `try`, `raise` and `throw`.
  #
  # 1. The protected part is an `:attempt`, whose value says whether it failed, and for what reason. A reason that no
  #    clause takes goes on. Handlers, `else` and `after` stand outside of the protected part.
  # 2. `Mote.Prelude.Tried.caught/1` turns a reason into the parts that Elixir would catch: its kind, the value that
  #    `catch` sees, the module of the exception, and the exception. If a machine does not know one of these and a clause
  #    asks for it, the turn is aborted with `{:uncaught, reason}`, which no `try` around it catches. So no program
  #    behaves differently from Elixir.
  # 3. An exception of `raise` is made at once where its module has the `exception/1` that `defexception` makes.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}

  @unseen :"mote unseen"
  @sections [:do, :rescue, :catch, :else, :after]

  @doc "A `try`, by its arguments."
  @spec expr([Macro.t()], Macro.Env.t()) :: AST.expr()
  def expr([[{:do, body} | sections]], env) do
    if Module.get_attribute(env.module, :mote_errors) == :undefined and not imported?(env),
      do: refuse("try is not available with errors: :undefined, where nothing is raised", env)

    case Enum.find(Keyword.keys(sections), &(&1 not in @sections)) do
      nil -> sections |> whole(body) |> Syntax.expr(env)
      other -> refuse("try takes rescue, catch, else and after behind its do block, not #{other}", env)
    end
  end

  def expr([], env), do: refuse("this try is not available in a behaviour", env)
  def expr(_, env), do: refuse("try needs a do block", env)

  defp imported?(env), do: match?(%{mote_import: %{within: [_ | _]}}, env)

  defp refuse(text, env), do: Error.raise_at(env, env.line, text)

  defp whole(sections, body) do
    case Keyword.pop(sections, :after) do
      {nil, []} -> body
      {nil, sections} -> handled(body, sections)
      {last, []} -> finished(body, last)
      {last, sections} -> body |> handled(sections) |> finished(last)
    end
  end

  defp finished(body, last) do
    {value, failed} = {variable(:value), variable(:failed)}

    quote generated: true do
      case unquote(attempt_of(body)) do
        {unquote(value), false} ->
          unquote(last)
          unquote(value)

        {_, unquote(failed)} ->
          unquote(last)
          unquote(failing(failed))
      end
    end
  end

  defp handled(body, sections) do
    {value, failed} = {variable(:value), variable(:failed)}

    success =
      case sections[:else] do
        nil -> value
        clauses -> {:case, [mote_fail: :try_clause], [value, [do: clauses]]}
      end

    clauses = for {section, clauses} <- sections, section != :else, clause <- clauses, do: {section, clause}

    quote generated: true do
      case unquote(attempt_of(body)) do
        {unquote(value), false} -> unquote(success)
        {_, unquote(failed)} -> unquote(handlers(clauses, failed))
      end
    end
  end

  defp handlers([], failed), do: failing(failed)

  defp handlers(clauses, failed) do
    caught = quote(do: Mote.Prelude.Tried.caught(unquote(failed)))
    last = clause(any(), nil, [], failing(failed))
    {:case, [], [caught, [do: Enum.flat_map(clauses, &handler(&1, failed)) ++ [last]]]}
  end

  # -- clauses of what is caught: {kind, value, module of the exception, exception} ------------------------------

  defp handler({:rescue, {:->, meta, [[{:in, _, [{_, _, context} = variable, types]}], body]}}, failed)
       when is_atom(context),
       do: rescued(variable, types, {meta, body}, failed)

  defp handler({:rescue, {:->, meta, [[{_, _, context} = variable], body]}}, failed) when is_atom(context),
    do: rescued(variable, nil, {meta, body}, failed)

  defp handler({:rescue, {:->, meta, [[types], body]}}, failed),
    do: rescued(any(), types, {meta, body}, failed)

  defp handler({:catch, {:->, meta, [left, body]}}, failed) do
    {left, guards} =
      case left do
        [{:when, _, all}] -> {Enum.drop(all, -1), List.last(all)}
        _ -> {left, nil}
      end

    [kind, value] = if match?([_, _], left), do: left, else: [:throw | left]
    known? = kind in [:throw, :exit] or ignored?(value, [body, guards])
    unseen = if known?, do: [], else: [clause(caught(@unseen, any(), any()), nil, [], uncaught(failed))]
    unseen ++ [clause({:{}, [], [kind, value, any(), any()]}, guards, meta, body)]
  end

  defp rescued(variable, types, {meta, body}, failed) do
    body = reraising(body, variable, failed)
    seen = if ignored?(variable, body), do: any(), else: variable
    {{value, type}, guard, unknown} = typed(types, failed)

    unseen =
      if seen == any(), do: [], else: [clause(caught(value, type, @unseen), guard, [], uncaught(failed))]

    unknown ++ unseen ++ [clause(caught(value, type, seen), guard, meta, body)]
  end

  # Any exception, or one of some modules.
  defp typed(nil, _), do: {{any(), any()}, nil, []}
  defp typed({:_, _, _}, _), do: {{any(), any()}, nil, []}

  defp typed(types, failed) do
    types = List.wrap(types)
    type = variable(:type)
    guard = quote(do: unquote(type) in unquote(types))
    unknown = clause(caught(any(), :"mote unknown", any()), nil, [], uncaught(failed))

    # An `ErlangError` is all that Erlang has raised, whose value is no exception.
    if Enum.any?(types, &match?({:__aliases__, _, [:ErlangError]}, &1)) or ErlangError in types do
      value = variable(:value)
      unseen = clause(caught(@unseen, type, any()), quote(do: not unquote(guard)), [], uncaught(failed))
      {{value, type}, quote(do: unquote(guard) or not is_map(unquote(value))), [unknown, unseen]}
    else
      {{any(), type}, guard, [unknown]}
    end
  end

  defp caught(value, type, exception), do: {:{}, [], [:error, value, type, exception]}

  defp clause(pattern, nil, meta, body), do: {:->, [generated: true] ++ meta, [[pattern], body]}
  defp clause(pattern, guard, meta, body), do: clause({:when, [], [pattern, guard]}, nil, meta, body)

  defp reraising(body, {name, _, context}, failed) do
    Macro.prewalk(body, fn
      {:reraise, _, [{^name, _, ^context}, {:__STACKTRACE__, _, _}]} -> again(failed)
      {:"mote reraise", _, [{^name, _, ^context}]} -> again(failed)
      node -> node
    end)
  end

  defp ignored?({:_, _, _}, _), do: true

  defp ignored?({name, meta, context}, code) when is_atom(name) and is_atom(context) do
    {_, used?} =
      Macro.prewalk(code, false, fn
        {^name, other, ^context} = node, used? -> {node, used? or other[:counter] == meta[:counter]}
        node, used? -> {node, used?}
      end)

    not used?
  end

  defp ignored?(_, _), do: false

  defp any, do: {:_, [], nil}
  defp failing(failed), do: {:"mote failed", [], [failed]}
  defp again(failed), do: failing(quote(do: Mote.Prelude.Tried.again(unquote(failed))))
  defp uncaught(failed), do: {:"mote failed", [], [{:uncaught, failed}]}
  defp attempt_of(body), do: {:"mote attempt", [], [body]}

  defp variable(name) do
    {name, counter} = Syntax.fresh(name)
    {name, [counter: counter], nil}
  end

  @doc "Builds the protected part."
  @spec attempt(Macro.t(), Macro.Env.t()) :: AST.expr()
  def attempt(body, %{line: l} = env) do
    key = {:attempt, System.unique_integer()}
    {:letrec, l, [{key, [], Syntax.expr(body, env)}], {:attempt, l, {:local, l, key, []}}}
  end

  @doc "Refuses a stacktrace, of which a machine has none."
  @spec no_stacktrace(Macro.Env.t()) :: no_return
  def no_stacktrace(env),
    do: refuse("__STACKTRACE__ is not available in a behaviour, except in reraise e, __STACKTRACE__", env)

  # -- raise and throw -----------------------------------------------------------------------------------------

  @doc "`raise value`."
  @spec raised(Macro.t(), Macro.Env.t()) :: AST.expr()
  def raised(value, env) do
    case Macro.expand(value, env) do
      text when is_binary(text) -> raised(RuntimeError, text, env)
      {form, _, _} = text when form in [:<<>>, :<>] -> raised(RuntimeError, text, env)
      module when is_atom(module) and module != nil -> raised(module, [], env)
      _ -> raised_value(value, env)
    end
  end

  defp raised_value(value, %{line: l} = env) do
    {name, counter} = Syntax.fresh(:exception)
    exception = {name, [counter: counter], nil}
    bound = {:match, l, {:bind, l, {name, counter}}, Syntax.expr(value, env)}
    text = quote(do: is_binary(unquote(exception)))

    AST.block(l, [
      bound,
      {:if, l, Syntax.expr(quote(do: is_exception(unquote(exception))), env),
       reason(Syntax.expr(exception, env), [], env),
       {:if, l, Syntax.expr(text, env), raised(RuntimeError, exception, env),
        reason({:lit, l, {Kernel.Utils, :raise}}, [Syntax.expr(exception, env)], env)}}
    ])
  end

  @doc "`raise module, argument`."
  @spec raised(Macro.t(), Macro.t(), Macro.Env.t()) :: AST.expr()
  def raised(module, argument, %{line: l} = env) do
    case Macro.expand(module, env) do
      module when is_atom(module) ->
        default = default(module)

        cond do
          default == nil ->
            reason({:lit, l, {module, :exception}}, [Syntax.expr(argument, env)], env)

          argument == [] ->
            reason({:lit, l, default}, [], env)

          is_list(argument) ->
            reason(Syntax.expr(quote(do: struct(unquote(module), unquote(argument))), env), [], env)

          text?(argument, default) ->
            reason(with_message(default, argument, env), [], env)

          true ->
            reason({:lit, l, {module, :exception}}, [Syntax.expr(argument, env)], env)
        end

      _ ->
        refuse("raise names the module of an exception: which one it is must be known when compiling", env)
    end
  end

  # What is certain to be a text; or is the variable that was seen to be one.
  defp text?({:exception, _, _}, %RuntimeError{}), do: true
  defp text?({form, _, _}, default) when form in [:<<>>, :<>], do: is_map_key(default, :message)
  defp text?(argument, default), do: is_binary(argument) and is_map_key(default, :message)

  defp with_message(default, argument, %{line: l} = env),
    do: AST.op(l, :map_put, [{:lit, l, default}, {:lit, l, :message}, Syntax.expr(argument, env)])

  # The exception of a module whose `exception/1` is the one that `defexception` makes.
  defp default(module) do
    with {:module, _} <- Code.ensure_compiled(module),
         true <- function_exported?(module, :exception, 1) and function_exported?(module, :__struct__, 0) do
      default = module.__struct__()
      text = if is_map_key(default, :message), do: %{default | message: "m"}, else: default
      if module.exception([]) == default and made(module, text) == text, do: default
    else
      _ -> nil
    end
  rescue
    _ -> nil
  end

  defp made(module, %{message: text}), do: module.exception(text)
  defp made(_, default), do: default

  @doc "`throw value`."
  @spec thrown(Macro.t(), Macro.Env.t()) :: AST.expr()
  def thrown(value, env), do: reason({:lit, env.line, {:erlang, :throw}}, [Syntax.expr(value, env)], env)

  defp reason(operation, operands, %{line: l} = env) do
    where = AST.tuple(l, [{:lit, l, env.module}, {:lit, l, l}, operation])
    {:abort, l, AST.tuple(l, [{:lit, l, :raised}, where, AST.tuple(l, operands)])}
  end
end
