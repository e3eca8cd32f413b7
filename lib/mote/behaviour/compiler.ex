defmodule Mote.Behaviour.Compiler do
  # Runs the passes: `define/4` takes one `defactor` or `defpure` in (syntax), `compile/1` makes of all of them the
  # unit for the machine and the Elixir functions, at the end of the module. No pass is in this file.
  @moduledoc false

  alias Mote.Behaviour.{
    Beams,
    Check,
    Code,
    Defaults,
    Delegate,
    Encode,
    Error,
    Errors,
    Flow,
    IR,
    Loops,
    Primitives,
    Syntax,
    Warnings
  }

  alias Mote.Behaviour.Elixir, as: Plain
  alias Mote.Behaviour.Syntax.Maps

  @reserved [:self, :send, :sendx, :send_after, :cancel_timer, :create, :become, :sink, :abort] ++
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

  @doc "Notes a definition for `compile/1`. Runs when the body of the user's module runs."
  @spec define(:actor | :beam | :pure | :private | :effect, Macro.t(), Macro.t() | nil, Macro.Env.t()) :: :ok
  def define(kind, head, body, env) do
    noted(kind, head, body, env)
  rescue
    mistake in [CompileError, Error.Several] -> Module.put_attribute(env.module, :mote_mistakes, mistake)
  end

  defp noted(kind, head, body, env) do
    {head, guards} = Syntax.split_guards(head)
    {name, meta, args} = head(kind, head, env)
    env = %{Syntax.at(env, meta) | function: {name, length(args)}}
    {full, shorter} = Defaults.split(if(kind == :beam, do: :actor, else: kind), name, args, body, env)
    for {head, body, doc} <- shorter, do: note(kind, head, head, [], body, {doc, {name, length(args)}}, env)
    # The doc in front of a head without a body is that of the clauses.
    if body != nil,
      do: note(kind, {name, meta, full}, {name, meta, args}, guards, body, {take_doc(env.module), nil}, env)

    :ok
  end

  # `written` is the head with its defaults; `full` what this is with fewer arguments, if it is.
  defp note(kind, {name, meta, args}, written, guards, body, {doc, full}, env) do
    {kind, public} = if kind == :private, do: {:pure, false}, else: {kind, kind != :effect}
    # The function that there will be: so Elixir knows which macros are used.
    env = %{env | function: {if(public, do: name, else: Code.hidden(name)), length(args)}}
    beam? = kind == :beam and full == nil
    {kind, body} = if beam?, do: {:actor, elsewhere(env.module, name)}, else: body(kind, body, env)
    check_name(kind, name, length(args), env)

    definition =
      case kind do
        :actor -> actor(args, guards, body, env)
        :delegate -> Delegate.definition(body, captures(args, guards, env), env)
        _ -> %{clause: Syntax.clause({:{}, meta, args}, guards, body, env)}
      end

    definition =
      Map.merge(definition, %{
        kind: kind,
        beam: beam?,
        public: public,
        name: name,
        arity: length(args),
        args: written |> elem(2) |> Macro.to_string() |> String.slice(1..-2//1),
        line: env.line,
        generated: Keyword.get(meta, :generated, false),
        columns: Warnings.columns([args, guards, body]),
        doc: doc,
        full: full
      })

    Module.put_attribute(env.module, :mote_definitions, definition)
  end

  @doc "The code that a module with behaviours gets at its end."
  @spec compile(Macro.Env.t()) :: Macro.t()
  def compile(env), do: Error.together(fn -> code(env) end)

  defp code(env) do
    env.module |> Module.get_attribute(:mote_mistakes) |> Enum.reverse() |> Error.map(&raise/1)
    Module.delete_attribute(env.module, :mote_mistakes)
    definitions = env.module |> Module.get_attribute(:mote_definitions) |> Enum.reverse()
    Module.delete_attribute(env.module, :mote_definitions)

    Defaults.bodies(definitions, env)
    checked = Check.unit(definitions, env)
    mode = Module.get_attribute(env.module, :mote_errors)
    Module.delete_attribute(env.module, :mote_errors)
    unit = Loops.unit(checked)
    Beams.unit(unit, env)
    unit = unit |> Flow.unit() |> Errors.unit(mode)
    {binary, hash} = unit |> IR.unit() |> Encode.unit()
    delegates = Enum.filter(definitions, &(&1.kind == :delegate))
    required = env.module |> Module.get_attribute(:mote_required) |> Enum.uniq() |> Enum.sort()
    Module.delete_attribute(env.module, :mote_required)

    own =
      for %{public: false} = definition <- definitions, uniq: true, do: {definition.name, definition.arity}

    called = for code <- unit.codes, do: {code.name, code.arity}

    [
      Plain.unit(unit, delegates, required, binary, hash),
      Plain.Specs.moved(own, called, env),
      Maps.literals(env)
    ]
  end

  # -- heads ---------------------------------------------------------------------------------------------------

  defp head(_, {name, meta, args}, _) when is_atom(name) and is_list(args), do: {name, meta, args}

  defp head(_, {name, meta, context}, _) when is_atom(name) and is_atom(context),
    do: {name, meta, []}

  defp head(kind, other, env) do
    example =
      if kind in [:actor, :beam], do: "defactor name(capture) do", else: "#{word(kind)} name(argument) do"

    Error.raise_at(env, env.line, "cannot define #{Macro.to_string(other)}: write #{example}")
  end

  # For whom cannot create the word.
  defp check_name(:delegate, :sink, 0, _), do: :ok

  defp check_name(kind, name, arity, env) do
    cond do
      name in @reserved ->
        Error.raise_at(env, env.line, "#{name} is a word of the language: choose another name")

      kind in [:pure, :effect] and Primitives.local(name, arity) != nil ->
        Error.raise_at(
          env,
          env.line,
          "#{name}/#{arity} is a primitive of the language: choose another name"
        )

      true ->
        :ok
    end
  end

  defp body(kind, [do: body], _), do: {kind, body}
  defp body(kind, [to: target], _) when kind in [:actor, :beam], do: {:delegate, target}

  defp body(_, [{:do, _}, {section, _} | _], env) do
    Error.raise_at(
      env,
      env.line,
      "#{section} is not available in a behaviour: what would raise aborts the turn, and nothing of it shows"
    )
  end

  defp body(kind, _, env), do: Error.raise_at(env, env.line, "#{word(kind)} needs a do block")

  # What the turn of a behaviour comes to that cannot run where it is.
  defp elsewhere(module, name) do
    reason = {:{}, [], [:beam_only, {module, name}]}
    [{:->, [generated: true], [[{:_, [], nil}], {:abort, [], [reason]}]}]
  end

  defp word(kind) when kind in [:actor, :beam], do: "defactor"
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
