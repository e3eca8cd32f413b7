defmodule Mote.Behaviour.Source.Turns do
  # What a behaviour is for Elixir: a function that makes it of its captures, and one of captures and message that is its turn.
  @moduledoc false

  alias Mote.Behaviour.{Beam, Code, Source}
  alias Mote.Behaviour.Source.Gathers
  alias Mote.Turn.Stage

  @doc "The captures of a definition, without their defaults."
  @spec captures(Source.definition()) :: [Macro.t()]
  def captures(d) do
    Enum.map(d.args, fn
      {:\\, _, [capture, _default]} -> capture
      capture -> capture
    end)
  end

  @doc "Both functions, and those that its gathers need."
  @spec code(Source.definition(), map) :: [Macro.t()]
  def code(%{kind: kind} = d, unit) do
    captures = captures(d)
    message = Macro.var(:message, __MODULE__)
    function = Beam.function(d.name)
    kind = if d.stash?, do: :stash, else: kind
    about = {{function, d.arity + 1}, d.name, captures, kind}

    clauses =
      for {:->, meta, [left, body]} <- d.body[:do],
          do: {:->, meta, [left, {:__block__, [], statements(body, captures, kind) ++ [:commit]}]}

    {[[do: clauses]], gathers} =
      if kind == :beam, do: {[[do: clauses]], []}, else: Source.body([do: clauses], d, unit)

    ignored = quote generated: true, do: (_ -> :ignored)
    # Nobody has written the capture of what is stashed.
    used = if d.stash?, do: [quote(do: _ = unquote(List.last(captures)))], else: []
    turn = {:__block__, [], used ++ [{:case, [generated: true], [message, [do: clauses ++ ignored]]}]}
    given = for {name, _, _} <- captures, do: {name, [generated: true], nil}

    {:__block__, _, functions} =
      quote generated: true, line: d.env.line do
        @spec unquote(d.name)(unquote_splicing(Enum.map(given, fn _ -> quote(do: term) end))) ::
                Mote.Behaviour.t()
        def unquote(d.name)(unquote_splicing(given)), do: unquote(behaviour(d.name, given, unit))
        Module.put_attribute(__MODULE__, :mote_words, unquote(Macro.escape(about)))
        @doc false
        unquote({:def, [line: d.env.line], [{function, [], captures ++ [message]}, [do: turn]]})
      end

    functions ++ gathers
  end

  # Nobody looks at the last value. Of a last `n = n + 1` that is to change a capture, the check tells (check/nowhere.ex).
  defp statements({:__block__, _, [_ | _] = es}, captures, kind) do
    {before, [last]} = Enum.split(es, -1)
    before ++ statements(last, captures, kind)
  end

  defp statements({:=, meta, [{name, m, nil}, value]} = match, captures, kind) do
    if kind != :beam and Enum.any?(captures, &match?({^name, _, nil}, &1)),
      do: [{:=, meta, [{name, [generated: true] ++ m, nil}, value]}],
      else: [match]
  end

  defp statements({:=, _, _} = match, _, _), do: [match]

  defp statements({_, meta, _} = last, _, _),
    do: [{:=, Keyword.take(meta, [:line]), [Macro.var(:_, nil), last]}]

  defp statements(last, _, _), do: [{:=, [], [Macro.var(:_, nil), last]}]

  @doc """
  A behaviour with these captures.

  All of one name are updates of one map, whose keys they share: so they are made sooner, and are smaller.
  """
  @spec behaviour(atom, [Macro.t()], map) :: Macro.t()
  def behaviour(name, captures, unit) do
    beginning = Macro.escape(%Mote.Behaviour{module: unit.module, name: name, version: unit.hash})
    quote(generated: true, do: %{unquote(beginning) | captures: {unquote_splicing(captures)}})
  end

  @doc "The function that runs a turn of any of the module's behaviours."
  @spec entered([Source.definition()], map) :: [Macro.t()]
  def entered(definitions, unit) do
    written =
      for %{kind: kind, body: [do: _]} = d when kind in [:actor, :beam] <- definitions,
          do: {d.name, d.arity, d.stash?}

    made = for %Code{} = code <- Gathers.codes(unit.gathers), do: {code.name, code.arity, false}
    [quote(do: @doc(false)) | Enum.map(written ++ made, &clause/1) ++ [none()]]
  end

  defp clause({name, arity, stash?}) do
    captures = Macro.generate_arguments(arity, __MODULE__)

    quote generated: true do
      def __mote_turn__(unquote(name), {unquote_splicing(captures)} = captures, message) do
        unquote(Stage).entered({__MODULE__, unquote(name)}, captures, message, unquote(stash?))
        unquote(Beam.function(name))(unquote_splicing(captures), message)
      end
    end
  end

  defp none do
    quote generated: true do
      def __mote_turn__(name, _captures, _message), do: raise(ArgumentError, "no behaviour #{name}")
    end
  end
end
