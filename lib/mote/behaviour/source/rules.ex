defmodule Mote.Behaviour.Source.Rules do
  # The rules by which a behaviour's source means something else than the same text does in Elixir. Expressions are
  # rewritten. Guards, pins and the types of segments stay as they are written; patterns do, too, except for a name that
  # is bound by rule 1.
  #
  # 1. An address, which is a struct here, is not a map: if a pattern of a map might fit an address, a guard, or a test
  #    behind the `=`, refuses it.
  # 2. The time is that of the turn, and the shards of a directory are found, and sent to, without a machine.
  # 3. A function of the library that this release of Elixir lacks is the language's own (`Mote.Prelude`).
  # 4. A word is the language's wherever a macro has written it: so macros are expanded here, except Kernel's.
  # 5. With `errors: :undefined` a condition that is `:undefined` does not hold, and other modules' primitives, too, return
  #    `:undefined` (`Mote.Behaviour.Undefined`).
  @moduledoc false

  alias Mote.Behaviour.{Beam, Undefined}
  alias Mote.Behaviour.Source.Tried
  alias Mote.Behaviour.Syntax.Paths
  alias Mote.Prelude

  # Fields of addresses and timers: a pattern with another key fits none of them.
  @fields Enum.uniq([:__struct__, :id, :sponsor, :address, :machine, :key, :ref, :serial])

  @words %{
    {System, :monotonic_time} => {Beam, :monotonic_time},
    {Mote.Directory, :send} => {Beam, :send_to_key},
    {Mote.Directory, :shard} => {Beam, :shard}
  }

  @kernel [Kernel, Kernel.SpecialForms, Bitwise]
  # Of these the pattern, or the number of arguments, shows once they are expanded.
  @expanded [:match?, :|>]
  @instead Beam.instead()

  @type mode :: Mote.Behaviour.Failures.mode()

  @doc "Returns the head of a function."
  @spec head(Macro.t()) :: Macro.t()
  def head({:when, _, [head, guard]}), do: head(head, [guard])
  def head(head), do: head(head, [])

  defp head({name, meta, args}, guards) do
    {args, maps} = patterns(if is_list(args), do: args, else: [])
    hd(guarded([{name, meta, args}], guards, maps))
  end

  @doc "Returns clauses, or a body."
  @spec code(Macro.t(), mode, Macro.Env.t()) :: Macro.t()
  def code(ast, mode, env), do: walk(ast, %{mode: mode, env: env})

  # -- expressions ---------------------------------------------------------------------------------------------

  defp walk({form, _, _} = node, _) when form in [:quote, :^, :__aliases__], do: node

  # A clause for nothing is how a behaviour without others is written.
  defp walk({:->, meta, [[{:when, _, [_, false]}] = left, right]}, s),
    do: {:->, [generated: true] ++ meta, [left, walk(right, s)]}

  defp walk({:->, meta, [left, right]}, s), do: {:->, meta, [clause(left), walk(right, s)]}
  defp walk({:<-, meta, [left, right]}, s), do: {:<-, meta, clause([left]) ++ [walk(right, s)]}

  defp walk({:=, meta, [pattern, value]}, s) do
    value = walk(value, s)

    case patterns([pattern]) do
      {_, []} ->
        {:=, meta, [pattern, value]}

      {[pattern], maps} ->
        whole = Macro.unique_var(:value, __MODULE__)

        quote generated: true do
          unquote(whole) = unquote(value)
          unquote({:=, meta, [pattern, whole]})
          unquote(Beam).no_addresses(unquote(maps), unquote(whole))
        end
    end
  end

  # What is on the left is a condition.
  defp walk({:cond, meta, [[do: clauses]]}, s) do
    clauses = for {:->, m, [[test], body]} <- clauses, do: {:->, m, [[holds(test, s)], walk(body, s)]}
    {:cond, meta, [[do: clauses]]}
  end

  defp walk({:try, meta, [sections]}, s), do: Tried.code(meta, sections, &walk(&1, s))
  defp walk({:for, meta, args}, s), do: {:for, meta, Enum.map(args, &qualifier(&1, s))}
  defp walk({:"::", meta, [value, type]}, s), do: {:"::", meta, [walk(value, s), type]}

  # With its arguments it is a call like others.
  defp walk({:&, meta, [{:/, _, [{{:., dot, callee}, _, []}, arity]}]}, s) when is_integer(arity) do
    names = Macro.generate_arguments(arity, __MODULE__)
    {:fn, meta, [{:->, meta, [names, walk({{:., dot, callee}, meta, names}, s)]}]}
  end

  defp walk({{:., dot, [module, name] = callee}, meta, args} = node, s) when is_atom(name) do
    case expanded(node, s.env) do
      ^node ->
        call = {{:., dot, callee(callee, length(args), s)}, meta, arguments(name, args, s)}
        if s.mode == :undefined, do: Undefined.called(call, Macro.expand(module, s.env)), else: call

      other ->
        walk(other, s)
    end
  end

  defp walk({name, meta, args} = node, s) when is_atom(name) and is_list(args) do
    case expanded(node, s.env) do
      ^node -> {name, word(name, length(args), meta), arguments(name, args, s)}
      other -> walk(other, s)
    end
  end

  defp walk({form, meta, args}, s), do: {walk(form, s), meta, walk(args, s)}
  defp walk({a, b}, s), do: {walk(a, s), walk(b, s)}
  defp walk(list, s) when is_list(list), do: Enum.map(list, &walk(&1, s))
  defp walk(other, _), do: other

  # Kernel's macros take a path apart as it is written.
  defp arguments(name, [path | rest] = args, s) do
    if Paths.macro?(name, length(args)), do: [path(path, s) | walk(rest, s)], else: walk(args, s)
  end

  defp arguments(_, [], _), do: []

  defp path({{:., _, [Access, :get]} = get, meta, [container, key]}, s),
    do: {get, meta, [path(container, s), walk(key, s)]}

  defp path({{:., dot, [container, field]}, meta, []}, s) when is_atom(field),
    do: {{:., dot, [path(container, s), field]}, meta, []}

  defp path(other, s), do: walk(other, s)

  # In a loop what is no generator and no option is a filter.
  defp qualifier({:<-, _, _} = generator, s), do: walk(generator, s)

  defp qualifier({:<<>>, meta, parts} = bytes, s) do
    case Enum.split(parts, -1) do
      {parts, [{:<-, m, [last, source]}]} -> {:<<>>, meta, parts ++ [{:<-, m, [last, walk(source, s)]}]}
      _ -> holds(bytes, s)
    end
  end

  defp qualifier(options, s) when is_list(options), do: walk(options, s)
  defp qualifier(filter, s), do: holds(filter, s)

  defp holds(test, %{mode: :undefined} = s), do: test |> walk(s) |> Undefined.holding()
  defp holds(test, s), do: walk(test, s)

  defp expanded({name, _, args} = node, env) when is_atom(name) do
    case Macro.Env.lookup_import(env, {name, length(args)}) do
      [{_, module} | _] when module in @kernel and name not in @expanded -> node
      _ -> Macro.expand_once(node, env)
    end
  end

  defp expanded({{:., _, [module, _]}, _, _} = node, env) do
    module = Macro.expand(module, env)
    if is_atom(module) and module not in @kernel, do: Macro.expand_once(node, env), else: node
  end

  # In what a macro returns a word is Kernel's where it was quoted.
  defp word(name, arity, meta) when {name, arity} in @instead,
    do: Keyword.drop(meta, [:import, :imports, :context])

  defp word(_, _, meta), do: meta

  defp callee([module, name], arity, s) do
    with expanded when is_atom(expanded) <- Macro.expand(module, s.env),
         {place, own} <- @words[{expanded, name}] || instead(expanded, name, arity) do
      [place, own]
    else
      _ -> [walk(module, s), name]
    end
  end

  defp instead(module, name, arity) do
    with {_, place, own} <- Prelude.entry(module, name, arity),
         false <- Code.ensure_loaded?(module) and function_exported?(module, name, arity),
         false <- macro_exported?(module, name, arity),
         do: {place, own},
         else: (_ -> nil)
  end

  # -- maps in patterns ----------------------------------------------------------------------------------------

  # What stands left of an arrow.
  defp clause([{:when, _, parts}]) do
    {all, [guard]} = Enum.split(parts, -1)
    {all, maps} = patterns(all)
    guarded(all, [guard], maps)
  end

  defp clause(all) do
    {all, maps} = patterns(all)
    guarded(all, [], maps)
  end

  defp guarded(patterns, [], []), do: patterns

  defp guarded(patterns, guards, maps) do
    tests = for map <- maps, do: {{:., [], [Beam, :is_map]}, [], [map]}
    [{:when, [], patterns ++ [Enum.reduce(tests, List.first(guards, true), &both/2)]}]
  end

  defp both(test, {:when, meta, [a, b]}), do: {:when, meta, [both(test, a), both(test, b)]}
  defp both(test, true), do: test
  defp both(test, guard), do: quote(do: unquote(test) and unquote(guard))

  # Patterns, with the variables of those maps in them that are to be none of addresses.
  defp patterns(patterns), do: Enum.map_reduce(patterns, [], &pattern/2)

  # Only literals, pins and the names of structs are in front of what is matched.
  defp pattern({form, _, _} = node, maps) when form in [:^, :%, :"::"], do: {node, maps}

  defp pattern({:\\, meta, [pattern, default]}, maps) do
    {pattern, maps} = pattern(pattern, maps)
    {{:\\, meta, [pattern, default]}, maps}
  end

  defp pattern({:%{}, meta, pairs}, maps) do
    {pairs, maps} = pattern(pairs, maps)
    map = {:%{}, meta, pairs}

    if Enum.all?(pairs, &fits?/1) do
      name = Macro.unique_var(:map, __MODULE__)
      {{:=, [generated: true], [map, name]}, [name | maps]}
    else
      {map, maps}
    end
  end

  defp pattern({form, meta, args}, maps) when is_list(args) do
    {args, maps} = pattern(args, maps)
    {{form, meta, args}, maps}
  end

  defp pattern({a, b}, maps) do
    {[a, b], maps} = pattern([a, b], maps)
    {{a, b}, maps}
  end

  defp pattern(list, maps) when is_list(list), do: Enum.map_reduce(list, maps, &pattern/2)
  defp pattern(other, maps), do: {other, maps}

  # Whether an address may have the key.
  defp fits?({key, _}) when is_atom(key), do: key in @fields
  defp fits?({key, _}) when is_number(key) or is_binary(key), do: false
  defp fits?(_), do: true
end
