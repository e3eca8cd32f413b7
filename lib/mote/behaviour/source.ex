defmodule Mote.Behaviour.Source do
  # A behaviour as plain Elixir: constructors, functions and turns are the user's own clauses, in which the words of
  # `Mote.Behaviour.Beam` are imported in place of what Kernel has under their names. With `beam: true` this is all there is
  # of a behaviour.
  #
  # 1. Definitions are kept as they were written, each with its environment, and evaluated in that order at the end of the
  #    module, when the checks of the language have passed: so a mistake is told of in the language's words.
  # 2. What the module defines is meant by its name, whatever else is imported.
  # 3. Elixir's own meaning holds, except where `Mote.Behaviour.Source.Rules` has a rule.
  @moduledoc false

  alias Mote.Behaviour.{Beam, Marks}
  alias Mote.Behaviour.Check.Stash
  alias Mote.Behaviour.Source.{Gathers, Rules}

  @type definition :: %{
          kind: atom,
          head: Macro.t(),
          body: Macro.t(),
          doc: term,
          marks: Marks.t(),
          env: Macro.Env.t()
        }

  @doc "Keeps a definition as it was written; `kind` is `:actor`, `:beam`, `:pure`, `:private` or `:effect`."
  @spec note(atom, Macro.t(), Macro.t() | nil, {term, Marks.t()}, Macro.Env.t()) :: :ok
  def note(kind, head, body, {doc, marks}, env) do
    [head, body] = Rules.attributes([head, body], env)
    definition = %{kind: kind, head: head, body: body, doc: doc, marks: marks, env: %{env | function: nil}}
    Module.put_attribute(env.module, :mote_source, definition)
    if kind == :beam, do: Module.put_attribute(env.module, :mote_beam, Rules.called(body))
    :ok
  end

  @doc "Defines all of it. `codes` are those of the unit, `hash` is the unit's."
  @spec define([definition], [Mote.Behaviour.Code.t()], non_neg_integer, Macro.Env.t()) :: :ok
  def define(definitions, codes, hash, env) do
    definitions = Enum.map(definitions, &Map.merge(&1, named(&1)))

    unit = %{
      module: env.module,
      hash: hash,
      gathers: Gathers.of(codes),
      mode: Module.get_attribute(env.module, :mote_errors),
      own: for(d <- definitions, n <- d.least..d.arity, uniq: true, do: {d.name, n})
    }

    docs =
      for %{doc: doc} = d when doc != nil <- Enum.reverse(definitions),
          into: %{},
          do: {{d.name, d.arity}, doc}

    Enum.reduce(definitions, MapSet.new(), fn d, seen ->
      key = {d.name, d.arity}
      doc = if key not in seen, do: Map.get(docs, key, :none)
      evaluate(code(d, doc, unit), d, unit)
      MapSet.put(seen, key)
    end)

    evaluate(turns(definitions, unit), %{env: env}, unit)
  end

  defp named(%{head: head, kind: kind, body: body}) do
    {name, _, args} = call(head)
    args = if is_list(args), do: args, else: []
    args = if kind == :actor and Stash.used?(body), do: args ++ [Stash.capture()], else: args
    defaults = Enum.count(args, &match?({:\\, _, _}, &1))
    %{name: name, arity: length(args), least: length(args) - defaults, args: args}
  end

  defp call({:when, _, [head | _]}), do: head
  defp call(head), do: head

  defp evaluate(code, %{env: env}, unit) do
    code = {:__block__, [], imports(env, unit) ++ List.wrap(code)}
    Code.eval_quoted(code, [], env)
    :ok
  end

  # What the module has itself, and the words, come before what is imported otherwise.
  defp imports(env, unit) do
    taken = MapSet.new(unit.own)

    hidden =
      for {module, names} <- env.functions ++ env.macros,
          names = Enum.filter(names, &(&1 in taken)),
          names != [],
          do: quote(do: import(unquote(module), except: unquote(names), warn: false))

    words = for word <- Beam.words(), word not in taken, do: word

    quote do
      import Kernel, except: unquote(Beam.instead()), warn: false
      import Bitwise, warn: false
      unquote_splicing(hidden)
      import Mote.Behaviour.Beam, only: unquote(words), warn: false
      unquote_splicing(Rules.imports(unit.mode))
    end
    |> then(fn {:__block__, _, imports} -> imports end)
  end

  # -- functions -----------------------------------------------------------------------------------------------

  defp code(%{kind: kind} = d, doc, unit) when kind in [:pure, :private, :effect] do
    {body, gathers} = body(d.body, d, unit)
    definer = if kind == :pure, do: :def, else: :defp

    note(d, doc, kind == :pure) ++
      [{definer, [line: d.env.line], [written(Rules.head(d.head)) | body]} | gathers]
  end

  # Another name for a behaviour is made where all that is known of it is (delegate.ex).
  defp code(%{body: [to: _]}, _doc, _unit), do: []

  defp code(%{kind: kind} = d, doc, unit) do
    captures = for arg <- d.args, do: plain(arg)
    message = Macro.var(:message, __MODULE__)
    function = Beam.function(d.name)

    about =
      {{function, d.arity + 1}, d.name, captures,
       cond(
         do:
           (
             kind == :beam -> :beam
             stash?(d) -> :stash
             true -> :actor
           )
       )}

    clauses =
      for {:->, meta, [left, body]} <- d.body[:do],
          do: {:->, meta, [left, {:__block__, [], [{:=, [], [Macro.var(:_, nil), body]}, :commit]}]}

    {[[do: clauses]], gathers} =
      if kind == :beam, do: {[[do: clauses]], []}, else: body([do: clauses], d, unit)

    ignored = quote generated: true, do: (_ -> :ignored)
    choice = {:case, [generated: true], [message, [do: clauses ++ ignored]]}
    turn = {function, [], captures ++ [message]}
    beginning = Macro.escape(%Mote.Behaviour{module: unit.module, name: d.name, version: unit.hash})
    heads = for {name, _, _} <- captures, do: {name, [generated: true], nil}

    {:__block__, _, parts} =
      quote generated: true, line: d.env.line do
        @spec unquote(d.name)(unquote_splicing(Enum.map(heads, fn _ -> {:term, [], []} end))) ::
                Mote.Behaviour.t()
        # All behaviours of a function are updates of one map, whose keys they share: so they are made sooner, and are smaller.
        def unquote(d.name)(unquote_splicing(heads)),
          do: %{unquote(beginning) | captures: {unquote_splicing(heads)}}

        Module.put_attribute(__MODULE__, :mote_words, unquote(Macro.escape(about)))
        @doc false
        unquote({:def, [line: d.env.line], [turn, [do: used(stash?(d), captures, choice)]]})
      end

    note(d, doc, true) ++ parts ++ gathers
  end

  defp body(nil, _, _), do: {[], []}

  defp body([do: body], d, unit) do
    {body, gathers} =
      body
      |> Rules.code(unit.mode, %{d.env | function: {d.name, d.arity}})
      |> Gathers.rewritten({d.name, d.arity}, unit)

    {[[do: body]], gathers}
  end

  defp stash?(d), do: d.kind == :actor and Stash.used?(d.body)

  # Of clauses that a loop of the module's body defines Elixir does not ask that they stand together.
  defp written(head) do
    {_, meta, _} = call(head)
    if meta[:unquoted], do: {:unquote, [], [Macro.escape(head)]}, else: head
  end

  defp used(false, _, choice), do: choice

  defp used(true, captures, choice),
    do: {:__block__, [], [quote(do: _ = unquote(List.last(captures))), choice]}

  defp plain({:\\, _, [capture, _default]}), do: capture
  defp plain(capture), do: capture

  # What stands in front of the first clause.
  defp note(_, nil, _), do: []
  defp note(d, :none, true), do: Marks.code(d.marks) ++ [quote(do: @doc(unquote(default(d))))]
  defp note(d, _, false), do: Marks.code(d.marks)
  defp note(d, doc, true), do: Marks.code(d.marks) ++ [quote(do: @doc(unquote(doc)))]

  defp default(%{kind: :pure} = d), do: "The function `#{d.name}/#{d.arity}`, for behaviours and for Elixir."

  defp default(d) do
    args = d.args |> Enum.map(&plain/1) |> Macro.to_string() |> String.slice(1..-2//1)
    "The behaviour `#{d.name}(#{args})`, to create actors with."
  end

  # -- turns ---------------------------------------------------------------------------------------------------

  defp turns(definitions, unit) do
    written =
      for %{kind: kind, body: [do: _]} = d when kind in [:actor, :beam] <- definitions,
          do: {d.name, d.arity, stash?(d)}

    made = for code <- Gathers.codes(unit.gathers), do: {code.name, code.arity, false}

    clauses =
      for {name, arity, stash?} <- written ++ made do
        captures = Macro.generate_arguments(arity, __MODULE__)

        quote generated: true do
          def __mote_turn__(unquote(name), {unquote_splicing(captures)} = captures, message) do
            Mote.Turn.Stage.entered({__MODULE__, unquote(name)}, captures, message, unquote(stash?))
            unquote(Beam.function(name))(unquote_splicing(captures), message)
          end
        end
      end

    none =
      quote generated: true do
        def __mote_turn__(name, _captures, _message), do: raise(ArgumentError, "no behaviour #{name}")
      end

    [quote(do: @doc(false)) | if(clauses == [], do: [none], else: clauses)]
  end
end
