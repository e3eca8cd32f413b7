defmodule Mote.Behaviour.Imports.Expanded do
  # Clauses as Elixir's own compiler has left them in a module's debug information -> clauses that the syntax pass takes. Macros are
  # gone there, and so are names without a module, but for the module's own.
  #
  # 1. A call of the module's own is one of that module, by its name: no word of the language is meant by it.
  # 2. Code that `if`, `and`, `or`, `&&` and `||` have become is turned back into them, as far as it can be recognised.
  # 3. Code that ends a process becomes `"mote raised"`, with the function that makes the exception, and its arguments.
  # 4. A `try` whose handlers only raise again is its body, with what it does at its end; in the library, of which nobody
  #    learns the exception, they may raise anything. Nor is a message made there.
  # 5. A module that is calculated is one of those that may be meant: `candidates`. Where none may be in the library, the call fails.
  @moduledoc false

  @forms [:case, :cond, :fn, :for, :with, :receive, :try, :{}, :%{}, :%, :<<>>, :=, :^, :__block__] ++
           [:->, :<-, :|, :when, :in, :__aliases__]
  @ends [error: 1, error: 2, error: 3, throw: 1, exit: 1, nif_error: 1, nif_error: 2]
  @made [{Kernel.Utils, :raise}]
  @instead %{
    {Kernel.Utils, :destructure} => {Mote.Prelude.Kernel, :elements},
    {Inspect, :inspect} => {Mote.Prelude.Inspected, :doc},
    {Inspect.Algebra, :to_doc} => {Mote.Prelude.Inspected, :to_doc},
    {Inspect.Algebra, :to_doc_with_opts} => {Mote.Prelude.Inspected, :to_doc_with_opts},
    {Inspect.Algebra, :color} => {Mote.Prelude.Inspected, :plain},
    {Inspect.Algebra, :color_doc} => {Mote.Prelude.Inspected, :plain},
    {IO.ANSI, :format_fragment} => {Mote.Prelude.Inspected, :sequence},
    {Regex, :safe_run} => {Mote.Prelude.Regex, :run_safe},
    {Regex, :names} => {Mote.Prelude.Regex, :names},
    {:erlang, :fun_info} => {Mote.Prelude.Regex, :information},
    {:io_lib_format, :fwrite_g} => {Float, :to_string}
  }

  # What the library asks a node for, and a machine knows: ports, and no time zone but UTC. It warns nobody.
  @ports for scheme <- ~w[ftp sftp tftp http https ldap ldaps ws wss],
             into: %{},
             do: {{:uri, scheme}, URI.default_port(scheme)}

  @typep state :: %{
           module: module,
           library?: boolean,
           candidates: (atom, arity -> [module]),
           fails?: (atom, arity -> boolean)
         }

  @doc "Patterns, guards or a body."
  @spec code(Macro.t(), state) :: Macro.t()
  def code(ast, s), do: walk(ast, s)

  defp walk({{:., _, [:erlang, :apply]}, meta, args}, s) when length(args) in [2, 3],
    do: {{:., meta, [Kernel, :apply]}, meta, walk(args, s)}

  # Of those that may be meant.
  defp walk({{:., _, [:erlang, :function_exported]}, meta, [module, name, arity]}, %{library?: true} = s)
       when is_atom(name) and is_integer(arity),
       do: {{:., meta, [Enum, :member?]}, meta, [s.candidates.(name, arity), walk(module, s)]}

  # In other modules any may be meant: it is refused there, as it is written.
  defp walk({{:., _, [:erlang, :function_exported]}, meta, args}, s),
    do: {{:., meta, [Kernel, :function_exported?]}, meta, walk(args, s)}

  # What Elixir's own library asks of two comparisons.
  defp walk({{:., dot, [:erlang, :xor]}, meta, [_, _] = args}, %{library?: true} = s),
    do: {{:., dot, [:erlang, :"=/="]}, meta, walk(args, s)}

  defp walk({{:., _, [:erlang, name]}, meta, args} = call, s) do
    cond do
      {name, length(args)} in @ends -> ended(name, args, meta, s)
      true -> remote(call, s)
    end
  end

  # What Elixir makes of `in` from 1.20 on.
  defp walk({{:., _, [Enum, :__in__]}, meta, [_, _] = args}, s), do: {:in, meta, walk(args, s)}

  defp walk({{:., _, [_, name]}, _, _} = call, s) when is_atom(name), do: remote(call, s)
  defp walk({{:., dot, [fun]}, meta, args}, s), do: {{:., dot, [walk(fun, s)]}, meta, walk(args, s)}

  # Of an overridable function, and of one with its defaults.
  defp walk({:super, meta, args}, s) when is_list(args) do
    {_, name} = Keyword.fetch!(meta, :super)
    own(name, meta, args, s)
  end

  defp walk({:"::", meta, [value, type]}, s), do: {:"::", meta, [walk(value, s), type]}

  defp walk({:<<>>, meta, [{:<-, arrow, [{:<<>>, _, segments}, source]}]}, s) do
    {before, [last]} = segments |> walk(s) |> Enum.split(-1)
    {:<<>>, meta, before ++ [{:<-, arrow, [last, walk(source, s)]}]}
  end

  defp walk({:&, meta, [{:/, slash, [{name, _, context}, arity]}]}, s)
       when is_atom(name) and is_atom(context),
       do: {:&, meta, [{:/, slash, [{{:., [], [s.module, name]}, [no_parens: true], []}, arity]}]}

  defp walk({:&, meta, [{:/, slash, [{{:., dot, [module, name]}, about, []}, arity]}]}, _) do
    {module, name} = Map.get(@instead, {module, name}, {module, name})
    {:&, meta, [{:/, slash, [{{:., dot, [module, name]}, about, []}, arity]}]}
  end

  defp walk({:&, _, _} = capture, _), do: capture

  defp walk({:case, meta, [value, [do: clauses]]}, s),
    do: decided(meta, walk(value, s), clauses, s) || {:case, meta, [walk(value, s), [do: walk(clauses, s)]]}

  defp walk({:try, meta, [[{:do, body} | sections]]} = whole, s) do
    {handlers, others} = Keyword.split(sections, [:rescue, :catch])
    clauses = for {_, clauses} <- handlers, {:->, _, [_, handler]} <- clauses, do: handler

    case Enum.all?(clauses, &raises?(&1, s)) and {others[:else], others[:after]} do
      {nil, nil} -> walk(body, s)
      {nil, last} -> at_the_end(walk(body, s), walk(last, s))
      {clauses, nil} when s.library? -> walk({:case, meta, [body, [do: clauses]]}, s)
      _ -> tried(whole, s)
    end
  end

  # Which clauses can be reached is known to who has written them.
  defp walk({:->, meta, [left, right]}, s),
    do: {:->, [generated: true] ++ meta, [walk(left, s), walk(right, s)]}

  defp walk({:__block__, meta, [_, _ | _] = expressions}, %{library?: true} = s) do
    expressions = walk(expressions, s)
    {before, [last]} = Enum.split(expressions, -1)

    if match?({:"mote raised", _, _}, last) and Enum.all?(before, &for_message?/1),
      do: last,
      else: {:__block__, meta, expressions}
  end

  defp walk({:"mote reraise", _, _} = again, _), do: again
  defp walk({form, meta, args}, s) when form in @forms, do: {form, meta, walk(args, s)}
  defp walk({name, meta, args}, s) when is_atom(name) and is_list(args), do: own(name, meta, args, s)
  defp walk({_, _, _} = variable, _), do: variable
  defp walk({a, b}, s), do: {walk(a, s), walk(b, s)}
  defp walk([head | tail], s), do: [walk(head, s) | walk(tail, s)]
  defp walk(map, s) when is_map(map), do: map |> Macro.escape() |> walk(s)
  defp walk(other, _), do: other

  defp own(name, meta, args, s), do: remote({{:., meta, [s.module, name]}, meta, args}, s)

  defp remote({{:., _, [IO, warn]}, _, _}, %{library?: true}) when warn in [:warn, :warn_once], do: :ok
  defp remote({{:., _, [Calendar, :get_time_zone_database]}, _, []}, %{library?: true}), do: Mote.Prelude.Zone

  defp remote(
         {{:., dot, [{{:., _, [:elixir_config, _]}, _, []}, :tokenize]}, meta, args},
         %{library?: true} = s
       ),
       do: {{:., dot, [Mote.Prelude.Inspected, :tokenize]}, meta, walk(args, s)}

  defp remote({{:., dot, [:elixir_config, :get]}, meta, args}, %{library?: true} = s),
    do: {{:., dot, [Map, :get]}, meta, [Macro.escape(@ports) | walk(args, s)]}

  defp remote({{:., dot, [:unicode, name]}, meta, [text | _]}, %{library?: true} = s)
       when name in [:characters_to_binary, :characters_to_list] do
    text = {{:., dot, [IO, :chardata_to_string]}, meta, [walk(text, s)]}
    if name == :characters_to_list, do: {{:., dot, [String, :to_charlist]}, meta, [text]}, else: text
  end

  # What separates the names of a path.
  defp remote({{:., _, [:os, :type]}, _, []}, %{library?: true}), do: :os.type()

  # As `@derive Inspect` makes it.
  defp remote({{:., _, [module, :__info__]}, _, [:struct]}, _) when is_atom(module),
    do: Macro.escape(module.__info__(:struct))

  # What Elixir's compiler puts in place of `Float.to_charlist/1`.
  defp remote({{:., dot, [:erlang, :float_to_list]}, meta, [float, [:short]]}, s),
    do: {{:., dot, [Float, :to_charlist]}, meta, [walk(float, s)]}

  defp remote({{:., dot, [module, name]}, meta, args}, s) when is_atom(module) do
    {module, name} = Map.get(@instead, {module, name}, {module, name})
    {{:., dot, [module, name]}, Keyword.delete(meta, :no_parens), walk(args, s)}
  end

  defp remote({{:., dot, [map, name]}, meta, args}, s) do
    called = walk(map, s)
    args = walk(args, s)
    candidates = if meta[:no_parens] && args == [], do: [], else: s.candidates.(name, length(args))

    cond do
      candidates != [] ->
        clauses = Enum.map(candidates, &candidate(&1, name, meta, args)) ++ [none(name, args)]
        {:case, meta, [called, [do: clauses]]}

      # With parentheses or without, of a map it is a field.
      args == [] ->
        {{:., dot, [called, name]}, [no_parens: true] ++ meta, []}

      s.library? ->
        {:"mote raised", meta, [{:erlang, :error}, name]}

      true ->
        {{:., dot, [called, name]}, meta, args}
    end
  end

  defp candidate(module, name, meta, args),
    do: {:->, [generated: true], [[module], {{:., meta, [module, name]}, meta, args}]}

  # Without arguments it may be the field of a map.
  defp none(name, []) do
    other = {:other, [], __MODULE__}
    {:->, [generated: true], [[other], {{:., [], [other, name]}, [no_parens: true], []}]}
  end

  defp none(name, args) do
    other = {:other, [], __MODULE__}
    about = [module: other, function: name, arity: length(args)]
    {:->, [generated: true], [[other], {:"mote raised", [], [{UndefinedFunctionError, :exception}, about]}]}
  end

  # -- what ends a process -------------------------------------------------------------------------------------

  defp ended(:error, [{{:., _, [module, name]}, _, [argument]} | _], meta, s)
       when is_atom(module) and (name == :exception or {module, name} in @made),
       do: {:"mote raised", meta, [{module, name}, walk(argument, s)]}

  defp ended(name, [reason | _], meta, s), do: {:"mote raised", meta, [{:erlang, name}, walk(reason, s)]}

  # One that goes on. What is rescued is named already.
  defp tried({:try, meta, [sections]}, s) do
    sections =
      for {section, code} <- sections do
        {section, if(section == :rescue, do: Enum.map(code, &rescued(&1, s)), else: walk(code, s))}
      end

    {:try, meta, [sections]}
  end

  defp rescued({:->, meta, [left, right]}, s) do
    right =
      Macro.prewalk(right, fn node ->
        case raises?(node, %{s | library?: false}) and reraised(node) do
          false -> node
          exception -> {:"mote reraise", [], [exception]}
        end
      end)

    {:->, [generated: true] ++ meta, [left, walk(right, s)]}
  end

  defp reraised({_, _, [{{:., _, [:erlang, :raise]}, _, _} = again]}), do: reraised(again)
  defp reraised({_, _, [_, {{:., _, [Kernel.Utils, :raise]}, _, [exception]}, _]}), do: exception
  defp reraised({_, _, [_, exception, _]}), do: exception

  defp raises?({:__block__, _, expressions}, %{library?: true} = s),
    do: expressions |> List.last() |> raises?(s)

  defp raises?({{:., _, [:erlang, name]}, _, [_ | _]}, %{library?: true}), do: name in [:raise, :error]

  defp raises?({name, _, args}, %{library?: true} = s) when is_atom(name) and is_list(args),
    do: s.fails?.(name, length(args))

  defp raises?({{:., _, [:erlang, :raise]}, _, [_, reason, {:__STACKTRACE__, _, _}]}, _), do: caught?(reason)
  # What Elixir makes of `reraise`.
  defp raises?({{:., _, [:erlang, :error]}, _, [{{:., _, [:erlang, :raise]}, _, _} = again]}, s),
    do: raises?(again, s)

  defp raises?(_, _), do: false

  # What calls no function that it has been given.
  defp for_message?({:=, _, [{name, _, context}, value]}) when is_atom(name) and is_atom(context),
    do: not Enum.any?(Macro.prewalker(value), &match?({{:., _, [_]}, _, _}, &1))

  defp for_message?(_), do: false

  defp caught?({{:., _, [Kernel.Utils, :raise]}, _, [exception]}), do: caught?(exception)
  defp caught?({name, _, context}), do: is_atom(name) and is_atom(context)
  defp caught?(_), do: false

  defp at_the_end(value, last) do
    result = {:"the value", [], __MODULE__}
    {:__block__, [], [{:=, [], [result, value]}, last, result]}
  end

  # -- decisions -----------------------------------------------------------------------------------------------

  defp decided(meta, value, [{:->, _, [[false], no]}, {:->, _, [[true], yes]} | rest], s) do
    cond do
      not (strict?(rest) or (rest == [] and meta[:optimize_boolean] == true)) -> nil
      no == false -> {:and, meta, [value, walk(yes, s)]}
      yes == true -> {:or, meta, [value, walk(no, s)]}
      rest == [] -> either(meta, value, yes, no, s)
      true -> nil
    end
  end

  defp decided(meta, value, [{:->, _, [[{:when, _, [{name, _, Kernel} = x, guard]}], no]}, other], s) do
    case {falsy?(x, guard), other} do
      {true, {:->, _, [[{:_, _, _}], yes]}} ->
        if same?(no, x), do: {:&&, meta, [value, walk(yes, s)]}, else: either(meta, value, yes, no, s)

      {true, {:->, _, [[{^name, _, Kernel} = y], z]}} ->
        if same?(y, z), do: {:||, meta, [value, walk(no, s)]}

      _ ->
        nil
    end
  end

  defp decided(_, _, _, _), do: nil

  defp either(meta, value, yes, no, s), do: {:if, meta, [value, [do: walk(yes, s), else: walk(no, s)]]}

  defp strict?([{:->, _, [[{_, _, _}], {{:., _, [:erlang, :error]}, _, [{:{}, _, [:badbool | _]} | _]}]}]),
    do: true

  defp strict?(_), do: false

  defp falsy?(x, {{:., _, [:erlang, :orelse]}, _, [{{:., _, [:erlang, :"=:="]}, _, [a, false]}, second]}) do
    with {{:., _, [:erlang, :"=:="]}, _, [b, nil]} <- second,
         do: same?(a, x) and same?(b, x),
         else: (_ -> false)
  end

  defp falsy?(_, _), do: false

  defp same?({name, a, context}, {name, b, context}) when is_atom(context), do: a[:version] == b[:version]
  defp same?(_, _), do: false
end
