defmodule Mote.Behaviour.Source.Rules do
  # Where a behaviour's source means something else than the same text does in Elixir. There are three rules:
  #
  # 1. An address, which is a struct here, is no map: a pattern of a map that one might fit has a guard.
  # 2. The time is that of the turn; the shards of a directory are found, and sent to, without a machine.
  # 3. In a module with `errors: :undefined`, what raises in Elixir's kernel is `:undefined` (`Mote.Behaviour.Undefined`).
  @moduledoc false

  alias Mote.Behaviour.{Beam, Undefined}

  # Fields of addresses and timers: a pattern with another key fits none of them.
  @fields Enum.uniq([:__struct__, :id, :sponsor, :address, :machine, :key, :ref, :serial])

  @words %{
    {System, :monotonic_time} => :monotonic_time,
    {Mote.Directory, :send} => :send_to_key,
    {Mote.Directory, :shard} => :shard
  }

  @type mode :: Mote.Behaviour.Failures.mode()

  @doc "Code in which module attributes are what they are at this moment."
  @spec attributes(Macro.t(), Macro.Env.t()) :: Macro.t()
  def attributes(ast, env) do
    Macro.prewalk(ast, fn
      {:@, _, [{name, _, context}]} = read when is_atom(name) and is_atom(context) ->
        if Module.has_attribute?(env.module, name),
          do: env.module |> Module.get_attribute(name) |> Macro.escape(),
          else: read

      node ->
        node
    end)
  end

  @doc "What clauses call by its name alone."
  @spec called(Macro.t()) :: [{atom, arity}]
  def called(clauses) do
    {_, called} =
      Macro.prewalk(clauses, [], fn
        {:|>, _, [_, {name, _, args}]} = node, found when is_atom(name) and is_list(args) ->
          {node, [{name, length(args) + 1} | found]}

        {:&, _, [{:/, _, [{name, _, _}, arity]}]} = node, found when is_atom(name) and is_integer(arity) ->
          {node, [{name, arity} | found]}

        {name, _, args} = node, found when is_atom(name) and is_list(args) ->
          {node, [{name, length(args)} | found]}

        node, found ->
          {node, found}
      end)

    Enum.uniq(called)
  end

  @doc "What is imported besides the words."
  @spec imports(mode) :: [Macro.t()]
  def imports(:abort), do: []
  def imports(:undefined), do: Undefined.imports()

  @doc "The head of a function."
  @spec head(Macro.t()) :: Macro.t()
  def head(head) do
    {{name, meta, args}, guards} =
      case head do
        {:when, _, [call, guards]} -> {call, [guards]}
        call -> {call, []}
      end

    {args, tests} = if is_list(args), do: patterns(args), else: {args, []}
    guarded([{name, meta, args}], guards, tests) |> hd()
  end

  @doc "Clauses, or a body, of the language."
  @spec code(Macro.t(), mode, Macro.Env.t()) :: Macro.t()
  def code(ast, mode, env), do: walk(ast, %{mode: mode, env: env})

  defp walk({quoting, _, _} = node, _) when quoting in [:quote, :^, :__aliases__], do: node

  # The text of a sigil is its macro's, and a path is what `put_in` makes of it.
  defp walk({name, meta, [{:<<>>, _, _} = text, modifiers]} = node, s)
       when name != :for and is_atom(name) and is_list(modifiers) do
    if sigil?(name), do: node, else: {name, meta, walk([text, modifiers], s)}
  end

  defp walk({word, meta, [path | args]}, s) when word in [:put_in, :update_in, :pop_in, :get_and_update_in],
    do: {word, meta, [path | walk(args, s)]}

  defp walk({:->, meta, [left, right]}, s) do
    {all, guards} =
      case left do
        [{:when, _, all}] -> Enum.split(all, -1)
        all -> {all, []}
      end

    {all, tests} = patterns(all)
    # A clause for nothing is how a behaviour without others is written.
    meta = if guards == [false], do: [generated: true] ++ meta, else: meta
    {:->, meta, [guarded(all, guards, tests), walk(right, s)]}
  end

  # What is on the left is a condition.
  defp walk({:cond, meta, [[do: clauses]]}, s) do
    clauses =
      for {:->, m, [[test], body]} <- clauses, do: {:->, m, [[holds(walk(test, s), s)], walk(body, s)]}

    {:cond, meta, [[do: clauses]]}
  end

  defp walk({:<-, meta, [pattern, source]}, s) do
    {all, guards} =
      case pattern do
        {:when, _, all} -> Enum.split(all, -1)
        pattern -> {[pattern], []}
      end

    {all, tests} = patterns(all)
    {:<-, meta, [hd(guarded(all, guards, tests)), walk(source, s)]}
  end

  defp walk({:=, meta, [pattern, value]}, s) do
    value = walk(value, s)

    case pattern do
      {:%{}, _, pairs} ->
        {:=, meta, [pattern, if(loose?(pairs), do: beam(:no_address, [value]), else: value)]}

      _ ->
        {:=, meta, [pattern, value]}
    end
  end

  defp walk({:match?, meta, [pattern, value]}, s), do: {:match?, meta, [pattern, walk(value, s)]}

  defp walk({:for, meta, args}, s) do
    {parts, last} = Enum.split(args, -1)
    {:for, meta, Enum.map(parts, &qualifier(&1, s)) ++ walk(last, s)}
  end

  defp walk({:&, meta, [{:/, m, [{{:., dot, [module, name]}, call, []}, arity]}]}, s) do
    case Undefined.capture(Macro.expand(module, s.env), name, arity, s.mode) do
      nil -> {:&, meta, [{:/, m, [{{:., dot, callee(module, name, s)}, call, []}, arity]}]}
      capture -> capture
    end
  end

  defp walk({{:., dot, [module, name]}, meta, args} = node, s) when is_atom(name) do
    case expanded(node, s.env) do
      ^node ->
        args = walk(args, s)
        module = walk(module, s)

        with nil <- Undefined.remote(module, name, args, meta, s),
             do: {{:., dot, callee(module, name, s)}, meta, args}

      other ->
        walk(other, s)
    end
  end

  defp walk({:|>, meta, [left, right]}, %{mode: :undefined} = s),
    do: {:|>, meta, [left, right]} |> Macro.expand_once(s.env) |> walk(s)

  defp walk({form, _, parts} = node, %{mode: :undefined} = s) when form in [:<<>>, :%{}] and parts != [] do
    walked = walk(parts, s)
    with nil <- Undefined.made(form, walked), do: put_elem(node, 2, walked)
  end

  # A struct and its fields: the update is one of the struct.
  defp walk({:%, meta, [name, {:%{}, m, [{:|, bar, [struct, pairs]}]}]}, s),
    do: {:%, meta, [name, {:%{}, m, [{:|, bar, [walk(struct, s), walk(pairs, s)]}]}]}

  defp walk({:%, meta, [name, {:%{}, m, pairs}]}, s), do: {:%, meta, [name, {:%{}, m, walk(pairs, s)}]}
  # A segment of a binary: its type is no expression.
  defp walk({:"::", meta, [value, type]}, s), do: {:"::", meta, [walk(value, s), type]}

  # Macros are expanded here, except Kernel's: in what they return a word is Kernel's where it was quoted.
  defp walk({name, meta, args} = node, s) when is_atom(name) and is_list(args) do
    case expanded(node, s.env) do
      ^node -> {name, unquoted(name, length(args), meta), walk(args, s)}
      other -> walk(other, s)
    end
  end

  defp walk({form, meta, args}, s), do: {walk(form, s), meta, walk(args, s)}
  defp walk({a, b}, s), do: {walk(a, s), walk(b, s)}
  defp walk(list, s) when is_list(list), do: Enum.map(list, &walk(&1, s))
  defp walk(other, _), do: other

  defp qualifier({:<-, _, _} = generator, s), do: walk(generator, s)

  defp qualifier({:<<>>, meta, parts}, s) do
    case Enum.split(parts, -1) do
      {parts, [{:<-, m, [last, source]}]} -> {:<<>>, meta, parts ++ [{:<-, m, [last, walk(source, s)]}]}
      _ -> holds(walk({:<<>>, meta, parts}, s), s)
    end
  end

  defp qualifier(options, s) when is_list(options), do: walk(options, s)
  defp qualifier(filter, s), do: holds(walk(filter, s), s)

  @kernel [Kernel, Kernel.SpecialForms, Bitwise]

  defp expanded({name, _, args} = node, env) when is_atom(name) do
    case Macro.Env.lookup_import(env, {name, length(args)}) do
      [{_, module} | _] when module in @kernel -> node
      _ -> Macro.expand_once(node, env)
    end
  end

  defp expanded({{:., _, [module, _]}, _, _} = node, env) do
    module = Macro.expand(module, env)
    if is_atom(module) and module not in @kernel, do: Macro.expand_once(node, env), else: node
  end

  @instead Beam.instead()

  defp unquoted(name, arity, meta) do
    if {name, arity} in @instead, do: Keyword.drop(meta, [:import, :imports, :context]), else: meta
  end

  defp sigil?(name), do: name |> Atom.to_string() |> String.starts_with?("sigil_")

  defp holds(test, %{mode: :undefined}), do: Undefined.holding(test)
  defp holds(test, _), do: test

  defp callee(module, name, s) do
    case @words[{Macro.expand(module, s.env), name}] do
      nil -> [module, name]
      word -> [Beam, word]
    end
  end

  defp beam(word, args), do: {{:., [], [Beam, word]}, [], args}

  # -- maps in patterns ----------------------------------------------------------------------------------------

  # Patterns, and the guards that they need.
  defp patterns(patterns) do
    {patterns, {tests, _}} = Enum.map_reduce(patterns, {[], 0}, &pattern/2)
    {patterns, tests}
  end

  # Only literals, pins and the names of structs are in front of what is matched.
  defp pattern({form, _, _} = node, acc) when form in [:^, :%, :"::"], do: {node, acc}

  defp pattern({:\\, meta, [pattern, default]}, acc) do
    {pattern, acc} = pattern(pattern, acc)
    {{:\\, meta, [pattern, default]}, acc}
  end

  defp pattern({:%{}, meta, pairs}, acc) do
    {pairs, {tests, n}} = pattern(pairs, acc)
    map = {:%{}, meta, pairs}

    if loose?(pairs) do
      name = {:"map #{n}", [generated: true], __MODULE__}
      {{:=, [generated: true], [map, name]}, {[beam(:is_map, [name]) | tests], n + 1}}
    else
      {map, {tests, n}}
    end
  end

  defp pattern({form, meta, args}, acc) when is_list(args) do
    {args, acc} = pattern(args, acc)
    {{form, meta, args}, acc}
  end

  defp pattern({a, b}, acc) do
    {[a, b], acc} = pattern([a, b], acc)
    {{a, b}, acc}
  end

  defp pattern(list, acc) when is_list(list), do: Enum.map_reduce(list, acc, &pattern/2)
  defp pattern(other, acc), do: {other, acc}

  defp loose?(pairs),
    do:
      Enum.all?(pairs, fn pair ->
        not match?(
          {key, _} when (is_atom(key) and key not in @fields) or is_number(key) or is_binary(key),
          pair
        )
      end)

  defp guarded(patterns, guards, []),
    do: if(guards == [], do: patterns, else: [{:when, [generated: guards == [false]], patterns ++ guards}])

  defp guarded(patterns, guards, tests) do
    all = Enum.reduce(tests, &quote(do: unquote(&1) and unquote(&2)))
    guard = if guards == [], do: all, else: both(all, hd(guards))
    [{:when, [], patterns ++ [guard]}]
  end

  defp both(test, {:when, meta, [a, b]}), do: {:when, meta, [both(test, a), both(test, b)]}
  defp both(test, guard), do: quote(do: unquote(test) and unquote(guard))
end
