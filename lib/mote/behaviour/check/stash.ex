defmodule Mote.Behaviour.Check.Stash do
  # `stash()`: the actor keeps the message of the turn, and takes it up again when it becomes another. Part of the check pass.
  #
  # A behaviour that stashes has one more capture, the list of what it keeps, with the newest first. The language has no name
  # for it; its default is the empty list, so that nobody else need know.
  #
  # 1. `stash()` is a become of the same behaviour with one more message in the list. So the last one of a turn counts, as of
  #    becomes, and an aborted turn has kept nothing.
  # 2. What is kept goes on to the same behaviour, and is given back when the actor becomes another one. Each clause says
  #    at its beginning what is kept, and behind each become whether that leaves it behind.
  # 3. A defeffect does not know what is kept: whatever it becomes leaves it behind. So nothing is lost where it becomes the
  #    same behaviour again, which then keeps it anew.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error}
  alias Mote.Behaviour.Check.Change

  # No name that can be written.
  @name :"stashed messages"

  @doc "Whether code as it was written stashes."
  @spec used?(Macro.t()) :: boolean
  def used?(ast) do
    {_, used?} =
      Macro.prewalk(ast, false, fn
        {:stash, _, args} = node, _ when is_list(args) -> {node, true}
        node, used? -> {node, used?}
      end)

    used?
  end

  @doc "The capture that a behaviour which stashes has as its last one."
  @spec capture() :: Macro.t()
  def capture, do: {:\\, [], [{@name, [generated: true], nil}, []]}

  @doc "The doc belongs to the definition without that capture, the last of the `shorter` ones."
  @spec docs([tuple], term) :: {[tuple], term}
  def docs(shorter, doc) do
    {List.update_at(shorter, -1, fn {head, body, _} -> {head, body, doc} end), false}
  end

  @doc "Whether that capture is among these."
  @spec capture?([tuple]) :: boolean
  def capture?(captures), do: List.keymember?(captures, @name, 0)

  @doc "The numbered variable of that capture, or nil, from the captures of a behaviour."
  @spec kept([{tuple, tuple}]) :: tuple | nil
  def kept(captures) do
    Enum.find_value(captures, fn {{name, _}, variable} -> if name == @name, do: variable end)
  end

  @doc "The clauses of a behaviour that stashes, each of which begins by saying what is kept."
  @spec clauses([AST.clause()], tuple | nil) :: [AST.clause()]
  def clauses(clauses, nil), do: clauses

  def clauses(clauses, kept) do
    for {:clause, l, pattern, guards, body} <- clauses,
        do: {:clause, l, pattern, guards, {:block, l, [{:unstash, l, {:var, l, kept}}, body]}}
  end

  @doc "`stash name: value`, as the become that it is."
  @spec stash(AST.line(), [{atom, AST.expr()}], map) :: {AST.expr(), map}
  def stash(l, _, %{behaviour: nil} = s) do
    Error.raise_at(
      s,
      l,
      "stash keeps the message of the clause that it stands in, and a defeffect has none: let the clause stash"
    )
  end

  def stash(l, _, %{kept: nil} = s) do
    Error.raise_at(
      s,
      l,
      "stash belongs into a clause of the behaviour, as written there, and not into a macro"
    )
  end

  def stash(l, changes, %{kept: kept, message: message} = s) do
    more = {:cons, l, {:var, l, message}, {:var, l, kept}}
    {become, s} = Change.become(l, changes ++ [{@name, more}], s)
    {stays(become), s}
  end

  @doc "A become of the same behaviour, which goes on keeping."
  @spec same(AST.expr(), map) :: AST.expr()
  def same(become, %{kept: nil}), do: become
  def same(become, _), do: stays(become)

  @doc "A become, of the same behaviour or of another one."
  @spec become(AST.expr(), map) :: AST.expr()
  def become({:become, l, {nil, name, arity}, es}, %{kept: kept, behaviour: {name, captures}})
      when kept != nil and length(captures) == arity,
      do: stays({:become, l, {nil, name, arity}, List.replace_at(es, -1, {:var, l, kept})})

  def become(become, %{kept: nil, behaviour: b, names: %{stashes: stashes}}) when b != nil or not stashes,
    do: become

  def become(become, _), do: followed(become, true)

  defp stays(become), do: followed(become, false)

  defp followed(become, leaves?) do
    l = AST.line(become)
    AST.block(l, [become, {:unstash, l, {:lit, l, leaves?}}])
  end
end
