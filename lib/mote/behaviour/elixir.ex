defmodule Mote.Behaviour.Elixir do
  # Last pass towards Elixir: the checked, loop-free Mote AST -> plain functions of the user's module. They compute
  # with `Mote.Total`, stage their effects with `Mote.Turn.Stage` and spend fuel exactly where the machine does.
  # Patterns, clauses and guards are in `elixir/match.ex`, what all of it is made of in `elixir/forms.ex`.
  #
  # Generated: `name/captures` giving the behaviour and `__mote_turn__/3` for behaviours; `name/arity` and, for
  # calls from other behaviours, `"mote name"/arity` for functions; `__mote__/1` about the module. Calls of
  # other modules are checked when all modules are there, by `Mote.Behaviour.Warnings`, which knows the names
  # as written.
  @moduledoc false

  alias Mote.Behaviour.{AST, Beam, Code, Delegate, Failures, Flow, IR, Marks}
  alias Mote.Behaviour.Elixir.{Direct, Expressions, Forms}
  alias Mote.Prelude

  @doc "The code to be put at the end of the module."
  @spec unit(map, [map], [module], {binary, non_neg_integer, binary}, Failures.mode(), Macro.Env.t()) ::
          Macro.t()
  def unit(unit, delegates, required, {binary, hash, lines}, mode, env) do
    {functions, actors} = Enum.split_with(unit.codes, &Flow.function?/1)
    public = Enum.filter(functions, & &1.public)
    effects = Enum.filter(functions, &(&1.kind == :effect))
    delegated = for %{delegate: {module, _, _}} when module != nil <- delegates, do: module
    imports = (delegated ++ Enum.flat_map(unit.codes, &modules(&1.body))) |> Enum.uniq() |> Enum.sort()

    references =
      for {kind, {_, name, _} = function, line} <- Enum.flat_map(unit.codes, &references(&1.body)),
          uniq: true,
          do: {kind, function, line, unit.columns[{line, {:call, name}}]}

    references = Enum.sort_by(references, &elem(&1, 2))

    hidden =
      for {:function, {module, written, arity}, _, _} <- references,
          name <- [written, Code.hidden(written)],
          uniq: true,
          do: {module, name, arity}

    quote generated: true do
      unquote_splicing(for module <- required, do: quote(do: require(unquote(module))))
      @compile {:no_warn_undefined, unquote(Macro.escape(hidden))}
      @after_verify {Mote.Behaviour.Warnings, :undefined}

      unquote_splicing(Enum.map(actors, &constructor(&1, unit.module, hash)))
      unquote_splicing(Delegate.functions(delegates))
      unquote_splicing(unit |> Direct.codes(env) |> Enum.map(&direct(&1, unit.module, mode)))
      unquote_splicing(for code <- effects, code.public, do: effect(code))
      unquote_splicing(functions |> staged(actors) |> Enum.map(&function/1))
      unquote_splicing(for code <- effects, not code.public, name(code) in unit.named, do: named(code))

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

    # All behaviours of a function are updates of one map, whose keys they share: so they are made sooner, and are smaller.
    beginning = Macro.escape(%Mote.Behaviour{module: module, name: code.name, version: hash})

    quote generated: true, line: code.line do
      unquote_splicing(Marks.code(code.marks))
      @doc unquote(doc(code, default))
      @spec unquote(code.name)(unquote_splicing(terms(code.arity))) :: Mote.Behaviour.t()
      def unquote(code.name)(unquote_splicing(captures)) do
        %{unquote(beginning) | captures: {unquote_splicing(captures)}}
      end
    end
  end

  # A function as plain Elixir calls it.
  defp direct(%Code{} = code, module, mode) do
    careful = :"mote careful #{code.name}"
    {body, other} = Direct.body(code, careful, mode)
    body = own(body, code, Prelude.Own.entry(module, code.name, code.arity))
    default = "The function `#{code.name}/#{code.arity}`, for behaviours and for Elixir."

    quote generated: true, line: code.line do
      unquote_splicing(Marks.code(code.marks))
      unquote(if code.public, do: quote(do: @doc(unquote(doc(code, default)))))
      unquote(defined(if(code.public, do: :def, else: :defp), code.name, code, body))
      unquote(if other, do: defined(:defp, careful, code, other))
    end
  end

  # What Elixir's own function answers is asked of that.
  defp own(body, _code, nil), do: body

  defp own(body, code, {{module, name}, kinds}) do
    params = Enum.map(code.params, &Forms.variable/1)
    tests = for {kind, param} <- Enum.zip(kinds, params), do: Prelude.Own.test(kind, param)

    quote generated: true, line: code.line do
      case unquote(Forms.all(tests, :andalso)) do
        true -> unquote(module).unquote(name)(unquote_splicing(params))
        false -> unquote(body)
      end
    end
  end

  defp defined(definer, name, code, body) do
    head = {name, [line: code.line, generated: true], Enum.map(code.params, &Forms.variable/1)}
    {definer, [context: __MODULE__, import: Kernel, line: code.line], [head, [do: body]]}
  end

  # One with effects has them only in a turn.
  defp effect(%Code{} = code) do
    params = Enum.map(code.params, &Forms.variable/1)
    default = "The function `#{code.name}/#{code.arity}`, for behaviours."

    quote generated: true, line: code.line do
      unquote_splicing(Marks.code(code.marks))
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

  # A function as turns call it.
  defp function(%Code{} = code) do
    quote generated: true, line: code.line do
      unquote(if code.public, do: quote(do: @doc(false)))

      unquote(
        defined(
          if(code.public, do: :def, else: :defp),
          Code.hidden(code.name),
          code,
          Expressions.expr(code.body, :staged)
        )
      )
    end
  end

  # Those that turns may call: turns of this module, functions with effects, and other modules.
  defp staged(functions, actors) do
    by_name = Map.new(functions, &{name(&1), &1})
    first = for code <- functions, code.public or code.kind == :effect, do: name(code)
    called = Direct.reached(Enum.flat_map(actors, &Direct.own_calls(&1.body)) ++ first, by_name)
    Enum.filter(functions, &(name(&1) in called))
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

    Expressions.expr({:case, l, e, clauses, :ignore}, :staged)
  end

  # In heads that people see in their editor the names are plain.
  defp user_variable({name, _}), do: {name, [generated: true], nil}
end
