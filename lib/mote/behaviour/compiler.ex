defmodule Mote.Behaviour.Compiler do
  # Runs the passes: `define/4` takes one `defactor` or `defpure` in (syntax), `compile/1` makes of all of them the
  # unit for the machine and the Elixir functions, at the end of the module. No pass is in this file.
  @moduledoc false

  alias Mote.Behaviour.{
    Changes,
    Check,
    Defaults,
    Delegate,
    Encode,
    Error,
    Failures,
    Flow,
    Imports,
    IR,
    Loops,
    Marks,
    Placement,
    Plain,
    Primitives,
    Source,
    Syntax,
    Written
  }

  alias Mote.Behaviour.Check.Stash
  alias Mote.Behaviour.Syntax.Maps
  alias Mote.Prelude

  # What the definitions of a module note for its end.
  @noted [
    :mote_definitions,
    :mote_required,
    :mote_mistakes,
    :mote_defaults,
    :mote_heads,
    :mote_literals,
    :mote_messages,
    :mote_beam,
    :mote_source,
    :mote_words
  ]

  @typep kind :: :actor | :beam | :change | :pure | :private | :effect

  @reserved [
              :self,
              :send,
              :sendx,
              :send_after,
              :cancel_timer,
              :monitor,
              :demonitor,
              :create,
              :become,
              :stash,
              :sink,
              :abort
            ] ++
              [
                :on,
                :is_address,
                :case,
                :cond,
                :if,
                :unless,
                :for,
                :with,
                :fn,
                :and,
                :or,
                :not,
                :in,
                :when,
                :__mote__
              ] ++
              [:__mote_turn__, :module_info, :behaviour_info]

  @doc "Prepares a module, when its body gets to `use Mote.Behaviour`."
  @spec begin(module, Failures.mode(), [module], Macro.Env.t()) :: :ok
  def begin(module, errors, imported, env) do
    for name <- @noted, do: Module.register_attribute(module, name, accumulate: true)
    Imports.begin(module, imported, env)
    Module.put_attribute(module, :mote_errors, errors)
    Module.put_attribute(module, :before_compile, Mote.Behaviour)
  end

  @doc "Notes a definition for `compile/1`. Runs when the body of the user's module runs."
  @spec define(module, pos_integer) :: :ok
  def define(module, number) do
    {kind, head, body, env} = Written.fetch!(module, number)
    used(kind, head, body, env)
  end

  @doc "Does the same for a definition that is complete only when the module's body gets there."
  @spec define(module, kind, Macro.t(), Macro.t() | nil, pos_integer) :: :ok
  def define(module, kind, head, body, number),
    do: used(kind, unquoted(head), body, Written.fetch!(module, number))

  defp unquoted({:when, meta, [head | guards]}), do: {:when, meta, [unquoted(head) | guards]}
  defp unquoted({name, meta, args}), do: {name, [{:unquoted, true} | meta], args}
  defp unquoted(other), do: other

  # Nobody would look at it later.
  defp used(kind, head, body, env) do
    if Module.get_attribute(env.module, :mote_errors) == nil do
      Error.raise_at(env, env.line, "#{word(kind)} stands after use Mote.Behaviour, in the body of a module")
    end

    define(kind, head, body, env)
  end

  defp define(kind, head, body, env) do
    noted(kind, head, body, env)
  rescue
    mistake in [Mote.CompileError, Error.Several] ->
      Module.put_attribute(env.module, :mote_mistakes, {mistake, names(kind, head, body)})
  end

  # What a definition with a mistake would have defined, for the others that call it.
  defp names(kind, head, body) do
    # What is stashed is one more capture.
    kept = if kind == :actor and Stash.used?(body), do: 1, else: 0

    case Syntax.split_guards(head) do
      {{name, _, args}, _} when is_atom(name) and is_list(args) ->
        defaults = Enum.count(args, &match?({:\\, _, _}, &1))

        for n <- (length(args) - defaults)..(length(args) + kept),
            do: %{kind: code_kind(kind), name: name, arity: n}

      {{name, _, context}, _} when is_atom(name) and is_atom(context) ->
        for n <- 0..kept, do: %{kind: code_kind(kind), name: name, arity: n}

      _ ->
        []
    end
  end

  defp code_kind(:private), do: :pure
  defp code_kind(kind) when kind in [:beam, :change], do: :actor
  defp code_kind(kind), do: kind

  # A function whose body has handlers is one `try`.
  defp noted(kind, head, [{:do, _}, {section, _} | _] = body, env)
       when kind in [:pure, :private, :effect] and section in [:rescue, :catch, :else, :after],
       do: noted(kind, head, [do: {:try, [line: env.line], [body]}], env)

  defp noted(:change, head, body, env) do
    {head, guards} = Syntax.split_guards(head)
    {name, meta, args} = head(:change, head, env)
    {as, body} = Changes.written(name, body, env)
    env = %{Error.at(env, meta) | function: {as, length(args)}}
    definition = note(:actor, {as, meta, args}, {name, meta, args}, guards, body, {false, [], nil}, env)

    Module.put_attribute(env.module, :mote_definitions, %{
      definition
      | change: name,
        generated: true,
        by_hand: false
    })
  end

  defp noted(kind, head, body, env) do
    written = head
    {head, guards} = Syntax.split_guards(head)
    {name, meta, args} = head(kind, head, env)
    stash? = kind == :actor and Stash.used?(body)
    env = %{Error.at(env, meta) | function: {name, length(args)}}
    args = if stash?, do: args ++ [Stash.capture()], else: args
    {full, shorter} = Defaults.split(if(kind == :beam, do: :actor, else: kind), name, args, body, env)
    # The doc in front of a head without a body is that of the clauses.
    doc = if body != nil, do: take_doc(env.module)
    marks = Marks.take(env.module, body != nil)
    {shorter, doc} = if stash?, do: Stash.docs(shorter, doc), else: {shorter, doc}
    source = {written, body, {doc, if(stash?, do: [], else: marks)}, env}

    keep = &Module.put_attribute(env.module, :mote_definitions, &1)

    for {head, body, doc} <- shorter,
        do: keep.(note(kind, head, head, [], body, {doc, marks, {name, length(args)}}, env))

    # What is stashed makes one of its own, which nobody has written.
    marks = if stash?, do: [], else: marks

    if body != nil,
      do: keep.(note(kind, {name, meta, full}, {name, meta, args}, guards, body, {doc, marks, nil}, env))

    {written, body, told, env} = source
    Source.note(kind, written, body, told, env)
  end

  # The definition. `written` is the head with its defaults; `full` what this is with fewer arguments, if it is.
  defp note(kind, {name, meta, args}, written, guards, body, {doc, marks, full}, env) do
    beam? = kind == :beam and full == nil
    {kind, public} = {code_kind(kind), kind not in [:private, :effect]}
    # The function that there will be: so Elixir knows which macros are used.
    env = %{env | function: {name, Stash.written(args)}}
    {kind, body} = if beam?, do: {:actor, elsewhere(env.module, name)}, else: body(kind, body, env)
    check_name(kind, name, length(args), env)

    definition =
      case kind do
        :actor -> actor(args, guards, body, env)
        :delegate -> Delegate.definition(body, captures(args, guards, env), env)
        _ -> %{clause: Syntax.clause({:{}, meta, args}, guards, body, env)}
      end

    Map.merge(definition, %{
      kind: kind,
      change: nil,
      beam: beam?,
      public: public,
      name: name,
      arity: length(args),
      args: written |> elem(2) |> Macro.to_string() |> String.slice(1..-2//1),
      line: env.line,
      column: meta[:column],
      generated: Keyword.get(meta, :generated, false),
      # As far as can be seen: not by a macro that says so, nor in a loop of the module's body.
      by_hand: meta[:generated] != true and meta[:unquoted] != true,
      columns: Error.columns([args, guards, body]),
      doc: doc,
      marks: marks,
      full: full
    })
  end

  @doc "The code that a module with behaviours gets at its end."
  @spec compile(Macro.Env.t()) :: Macro.t()
  def compile(env), do: Error.together(fn -> code(env) end)

  defp code(env) do
    definitions = taken(env, :mote_definitions)
    definitions = Changes.definitions(definitions, env)
    {imported, mistakes} = Imports.definitions(env)
    checked = checked(definitions ++ imported, taken(env, :mote_mistakes) ++ mistakes, env)
    checked = Changes.add(checked, definitions)
    mode = Module.get_attribute(env.module, :mote_errors)
    Written.forget(env.module)
    unit = Loops.unit(checked)
    Placement.unit(unit, env)
    unit = unit |> Flow.unit() |> Failures.unit(mode)
    instructions = IR.unit(unit)
    {binary, hash} = Encode.unit(instructions)
    encoded = {binary, hash, lines(instructions)}
    delegates = Enum.filter(definitions, &(&1.kind == :delegate))
    required = env.module |> Module.get_attribute(:mote_required) |> Enum.uniq() |> Enum.sort()
    Module.delete_attribute(env.module, :mote_required)

    unit = Map.merge(unit, %{errors: mode, messages: taken(env, :mote_messages)})
    plain = Plain.unit(unit, delegates, required, encoded)
    sources = taken(env, :mote_source)
    if Prelude.plain?(env.module), do: Source.define(sources, unit.codes, hash, env)
    Module.delete_attribute(env.module, :mote_errors)
    [plain, Maps.literals(env)]
  end

  # For each function and then each behaviour of the encoded unit: name and arity, its line, the names of its parameters, and
  # the lines of its instructions; as bytes, since nobody reads them unless asked to (`Mote.Native.Explanation`).
  defp lines(%{functions: functions, behaviours: behaviours}) do
    functions = for f <- functions, do: Tuple.insert_at(f.source, 0, {f.name, f.arity})

    behaviours =
      for b <- behaviours, do: b |> Map.get(:source, {0, [], []}) |> Tuple.insert_at(0, {b.name, b.captures})

    :erlang.term_to_binary({functions, behaviours}, [:compressed, minor_version: 2])
  end

  # What was noted, in the order of the module.
  defp taken(env, attribute) do
    noted = env.module |> Module.get_attribute(attribute) |> Enum.reverse()
    Module.delete_attribute(env.module, attribute)
    noted
  end

  defp checked(definitions, [], env) do
    Defaults.bodies(definitions, env)
    Check.unit(definitions, [], env)
  end

  # The mistakes that syntax has found, and those in the definitions that it has accepted.
  defp checked(definitions, mistakes, env) do
    {mistakes, names} = Enum.unzip(mistakes)
    check = fn -> Check.unit(definitions, Enum.concat(names), env) end
    Error.map([check | Enum.map(mistakes, &fn -> raise &1 end)], & &1.())
  end

  # -- heads ---------------------------------------------------------------------------------------------------

  defp head(_, {name, meta, args}, _) when is_atom(name) and is_list(args), do: {name, meta, args}

  defp head(_, {name, meta, context}, _) when is_atom(name) and is_atom(context),
    do: {name, meta, []}

  defp head(kind, other, env) do
    example =
      if kind in [:actor, :beam, :change],
        do: "#{word(kind)} name(capture) do",
        else: "#{word(kind)} name(argument) do"

    Error.raise_at(env, env.line, "cannot define #{Macro.to_string(other)}: write #{example}")
  end

  # For whom cannot create the word.
  defp check_name(:delegate, :sink, 0, _), do: :ok

  defp check_name(kind, name, arity, env) do
    cond do
      name in @reserved or {name, arity} == {:again, 0} ->
        Error.raise_at(env, env.line, "#{name} is a word of the language: choose another name")

      kind in [:pure, :effect] and (Primitives.local(name, arity) != nil or Syntax.keeps?(name, arity, env)) ->
        Error.raise_at(
          env,
          env.line,
          "#{name}/#{arity} is a primitive of the language: choose another name"
        )

      # As for a call of it in Elixir, which would be ambiguous.
      kind in [:pure, :effect] and
          Enum.any?(Macro.Env.lookup_import(env, {name, arity}), &match?({_, Kernel}, &1)) ->
        Error.raise_at(
          env,
          env.line,
          "#{name}/#{arity} is imported from Kernel, whose function a call would mean: choose another name"
        )

      true ->
        :ok
    end
  end

  defp body(kind, [do: body], _), do: {kind, body}
  defp body(kind, [to: target], _) when kind in [:actor, :beam], do: {:delegate, target}

  defp body(_, [{:do, _}, {:after, _} | _], env) do
    Error.raise_at(
      env,
      env.line,
      "after is not available in a behaviour: write send_after(milliseconds, self(), :timeout), and a clause for that message"
    )
  end

  defp body(_, [{:do, _}, {section, _} | _], env) do
    Error.raise_at(
      env,
      env.line,
      "#{section} is not available there: write try do … #{section} … end in a clause, or a defeffect with #{section}"
    )
  end

  defp body(kind, _, env), do: Error.raise_at(env, env.line, "#{word(kind)} needs a do block")

  # What the turn of a behaviour comes to that cannot run where it is.
  defp elsewhere(module, name) do
    reason = {:{}, [], [:beam_only, {module, name}]}
    [{:->, [generated: true], [[{:_, [], nil}], {:abort, [], [reason]}]}]
  end

  defp word(kind) when kind in [:actor, :beam], do: "defactor"
  defp word(:change), do: "defchange"
  defp word(:private), do: "defpurep"
  defp word(:pure), do: "defpure"
  defp word(:effect), do: "defeffect"

  # -- behaviours ----------------------------------------------------------------------------------------------

  defp actor(args, guards, body, env) do
    captures = captures(args, guards, env)
    clauses = Syntax.arrows(body, "a defactor", "which match the message: pattern -> body", env)
    %{captures: captures, clauses: Syntax.clauses(clauses, env)}
  end

  defp captures(_, [_ | _], env),
    do: Error.raise_at(env, env.line, "a defactor has no guard: guards belong to its clauses")

  defp captures(args, [], env) do
    captures = Enum.map(args, &capture(&1, env))

    case captures -- Enum.uniq(captures) do
      [] -> captures
      [{name, _} | _] -> Error.raise_at(env, env.line, "the capture #{name} appears twice")
    end
  end

  defp capture({:_, _, context}, env) when is_atom(context), do: bad_capture("_", env)

  defp capture({name, meta, context}, _) when is_atom(name) and is_atom(context),
    do: {name, Keyword.get(meta, :counter, context)}

  defp capture(other, env), do: bad_capture(Macro.to_string(other), env)

  defp bad_capture(text, env) do
    Error.raise_at(
      env,
      env.line,
      "a capture is a plain variable, not #{text}: match in the clauses, or with = in their bodies"
    )
  end

  # The functions are generated at the end of the module; the doc in front of the definition goes with them.
  defp take_doc(module) do
    doc = Module.get_attribute(module, :doc)
    Module.delete_attribute(module, :doc)

    case doc do
      {_line, doc} -> doc
      doc -> doc
    end
  end
end
