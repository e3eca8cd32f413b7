defmodule Mote.Behaviour.Source do
  # A behaviour as plain Elixir: constructors, functions and turns are the user's own clauses, in which the words of
  # `Mote.Behaviour.Beam` are imported in place of what Kernel has under their names. With `beam: true` this is all there is
  # of a behaviour.
  #
  # 1. Definitions are kept as they were written, each with its environment, and evaluated in that order at the end of the
  #    module, when the checks of the language have passed: so a mistake is reported in the language's words.
  # 2. A name that the module defines means that definition, whatever else is imported.
  # 3. Elixir's own meaning holds, except where `Mote.Behaviour.Source.Rules` has a rule.
  @moduledoc false

  alias Mote.Behaviour.{Beam, Marks, Undefined}
  alias Mote.Behaviour.Check.{Calls, Stash}
  alias Mote.Behaviour.Source.{Gathers, Rules, Turns}

  @typedoc """
  A definition as it was written. `define/4` adds its name and arity, its arguments, how many of these it needs, and whether it
  stashes.
  """
  @type definition :: %{
          required(:kind) => :actor | :beam | :pure | :private | :effect,
          required(:head) => Macro.t(),
          required(:body) => Macro.t(),
          required(:doc) => term,
          required(:marks) => Marks.t(),
          required(:env) => Macro.Env.t(),
          optional(atom) => term
        }

  @doc "Keeps a definition as it was written, with the attributes that it reads as they are at this moment."
  @spec note(atom, Macro.t(), Macro.t() | nil, {term, Marks.t()}, Macro.Env.t()) :: :ok
  def note(kind, head, body, {doc, marks}, env) do
    [head, body] = Macro.prewalk([head, body], &attribute(&1, env.module))
    definition = %{kind: kind, head: head, body: body, doc: doc, marks: marks, env: %{env | function: nil}}
    Module.put_attribute(env.module, :mote_source, definition)
    if kind == :beam, do: Module.put_attribute(env.module, :mote_beam, Calls.named(body))
    :ok
  end

  defp attribute({:@, _, [{name, _, context}]} = read, module) when is_atom(name) and is_atom(context) do
    if Module.has_attribute?(module, name),
      do: module |> Module.get_attribute(name) |> Macro.escape(),
      else: read
  end

  defp attribute(node, _), do: node

  @doc "Defines all of it. `codes` are those of the unit, `hash` is the unit's."
  @spec define([definition], [Mote.Behaviour.Code.t()], non_neg_integer, Macro.Env.t()) :: :ok
  def define(definitions, codes, hash, env) do
    definitions = Enum.map(definitions, &named/1)

    unit = %{
      module: env.module,
      hash: hash,
      gathers: Gathers.of(codes),
      mode: Module.get_attribute(env.module, :mote_errors),
      own: for(d <- definitions, n <- d.least..d.arity, uniq: true, do: {d.name, n})
    }

    docs = for %{doc: doc} = d when doc != nil <- Enum.reverse(definitions), into: %{}, do: {key(d), doc}

    Enum.reduce(definitions, %{}, fn d, seen ->
      # Attributes stand in front of the first clause.
      about = if is_map_key(seen, key(d)), do: [], else: about(d, docs)
      evaluate(about ++ code(d, unit), d.env, unit)
      Map.put(seen, key(d), true)
    end)

    evaluate(Turns.entered(definitions, unit), env, unit)
  end

  defp key(d), do: {d.name, d.arity}

  defp named(%{head: head, kind: kind, body: body} = d) do
    {name, _, args} = call(head)
    stash? = kind == :actor and Stash.used?(body)
    args = if(is_list(args), do: args, else: []) ++ if(stash?, do: [Stash.capture()], else: [])
    least = Enum.count(args, &(not match?({:\\, _, _}, &1)))
    Map.merge(d, %{name: name, arity: length(args), least: least, args: args, stash?: stash?})
  end

  defp call({:when, _, [head | _]}), do: head
  defp call(head), do: head

  # Elixir takes an environment with its own keys only.
  defp evaluate(code, env, unit) do
    Code.eval_quoted({:__block__, [], imports(env, unit) ++ code}, [], Map.delete(env, :column))
    :ok
  end

  # What the module has itself, and the words, come before what is imported otherwise.
  defp imports(env, unit) do
    hidden =
      for {module, names} <- env.functions ++ env.macros,
          names = Enum.filter(names, &(&1 in unit.own)),
          names != [],
          do: quote(do: import(unquote(module), except: unquote(names), warn: false))

    words = [
      quote(do: import(Kernel, except: unquote(Beam.instead()), warn: false)),
      quote(do: import(Bitwise, warn: false)),
      quote(do: import(Beam, only: unquote(Beam.words() -- unit.own), warn: false))
    ]

    words ++ hidden ++ if(unit.mode == :undefined, do: Undefined.imports(), else: [])
  end

  # -- definitions ---------------------------------------------------------------------------------------------

  # Another name for a behaviour is made where all that is known of it is (delegate.ex).
  defp code(%{body: [to: _]}, _unit), do: []
  defp code(%{kind: kind} = d, unit) when kind in [:actor, :beam], do: Turns.code(d, unit)

  defp code(d, unit) do
    {body, gathers} = body(d.body, d, unit)
    definer = if d.kind == :pure, do: :def, else: :defp
    [{definer, [line: d.env.line], [written(Rules.head(d.head)) | body]} | gathers]
  end

  @doc "The body of a definition, as it is for Elixir, in a list; and the functions that its gathers need."
  @spec body(keyword | nil, definition, map) :: {[keyword], [Macro.t()]}
  def body(nil, _, _), do: {[], []}

  def body([do: body], d, unit) do
    rewritten = Rules.code(body, unit.mode, %{d.env | function: key(d)})
    {body, gathers} = Gathers.rewritten(rewritten, key(d), unit)
    {[[do: body]], gathers}
  end

  # Of clauses that a loop of the module's body defines Elixir does not ask that they stand together.
  defp written(head) do
    {_, meta, _} = call(head)
    if meta[:unquoted], do: {:unquote, [], [Macro.escape(head)]}, else: head
  end

  defp about(%{body: [to: _]}, _), do: []
  defp about(%{kind: kind} = d, _) when kind in [:private, :effect], do: Marks.code(d.marks)

  defp about(d, docs) do
    doc = Map.get_lazy(docs, key(d), fn -> default(d) end)
    Marks.code(d.marks) ++ [quote(do: @doc(unquote(doc)))]
  end

  defp default(%{kind: :pure} = d), do: "The function `#{d.name}/#{d.arity}`, for behaviours and for Elixir."

  defp default(d) do
    captures = d |> Turns.captures() |> Macro.to_string() |> String.slice(1..-2//1)
    "The behaviour `#{d.name}(#{captures})`, to create actors with."
  end
end
