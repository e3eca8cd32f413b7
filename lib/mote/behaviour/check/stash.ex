defmodule Mote.Behaviour.Check.Stash do
  # `stash()`: the actor keeps the message of the turn, and takes it up again when it becomes another. Part of the check pass.
  #
  # A behaviour that stashes has one more capture, the list of what it keeps, with the newest first. The language has no name
  # for it; its default is the empty list, so that no other code need know.
  #
  # 1. `stash()` is a become of the same behaviour with one more message in the list. So the last one of a turn counts, as of
  #    becomes, and an aborted turn has kept nothing.
  # 2. Kept messages go on to the same behaviour, and are given back when the actor becomes another one. Each clause names
  #    the kept messages at its beginning, and says behind each become whether that gives them back.
  # 3. A turn that stashes becomes nothing else, on any path through its clause: the last of the two would count, and either
  #    the message or what was become would be lost.
  # 4. A defeffect does not know the kept messages: any become of it gives them back. So nothing is lost if it becomes the
  #    same behaviour again, which then keeps them anew.
  # 5. `again()` behind a become makes that become give back the message of the turn, behind the stashed messages if it
  #    gives those back as well. No other become follows in that turn.
  # 6. A behaviour may be certain to stash all of its kept messages once more, whatever its captures are. It says so where
  #    it gives them back. If the actor is the same behaviour again when such a message is next, the machine knows how
  #    that turn ends.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Warnings}
  alias Mote.Behaviour.Check.Change

  # No name that can be written.
  @name :"stashed messages"

  @doc "Returns whether code as it was written stashes."
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

  @doc "Returns whether that capture is among these."
  @spec capture?([term]) :: boolean
  def capture?(captures), do: List.keymember?(captures, @name, 0)

  @doc "Returns how many of these captures somebody has written."
  @spec written([term]) :: non_neg_integer
  def written(captures), do: if(capture?(captures), do: length(captures) - 1, else: length(captures))

  @doc "The numbered variable of that capture, or nil, from the captures of a behaviour."
  @spec kept([{tuple, tuple}]) :: tuple | nil
  def kept(captures) do
    Enum.find_value(captures, fn {{name, _}, variable} -> if name == @name, do: variable end)
  end

  @doc """
  The clauses of a behaviour that stashes, each of which begins by saying what is kept. `written` are the same before they were
  checked, `captures` the numbered variables of the behaviour's captures.
  """
  @spec clauses([AST.clause()], [AST.clause()], [tuple], tuple | nil) :: [AST.clause()]
  def clauses(clauses, _written, _captures, nil), do: clauses

  def clauses(clauses, written, captures, kept) do
    again? = again?(clauses, written, captures)

    for {:clause, l, pattern, guards, body} <- clauses do
      body = if again?, do: leaves_again(body), else: body
      {:clause, l, pattern, guards, {:block, l, [{:unstash, l, {:var, l, kept}}, body]}}
    end
  end

  # Whether it would stash each message again that it has stashed (invariant 6): which clause that was follows from the message
  # alone, and that clause does nothing else.
  defp again?(clauses, written, captures) do
    Enum.all?(written, fn {:clause, _, _, _, body} ->
      match?({:stash, _, [], []}, body) or stashes(body) == nil
    end) and
      not Enum.any?(clauses, fn {:clause, _, pattern, guards, _} -> reads?([pattern, guards], captures) end)
  end

  defp reads?({:lit, _, _}, _), do: false
  defp reads?({tag, _, variable}, captures) when tag in [:var, :pin], do: variable in captures
  defp reads?(node, captures) when is_tuple(node), do: node |> Tuple.to_list() |> reads?(captures)
  defp reads?(nodes, captures) when is_list(nodes), do: Enum.any?(nodes, &reads?(&1, captures))
  defp reads?(node, captures) when is_map(node), do: node |> Map.values() |> reads?(captures)
  defp reads?(_, _), do: false

  # With each become of another behaviour it says so.
  defp leaves_again({:unstash, l, {:lit, _, true}}), do: {:unstash, l, {:lit, l, :again}}
  defp leaves_again({:lit, _, _} = lit), do: lit

  defp leaves_again(node) when is_tuple(node),
    do: node |> Tuple.to_list() |> leaves_again() |> List.to_tuple()

  defp leaves_again(nodes) when is_list(nodes), do: Enum.map(nodes, &leaves_again/1)
  defp leaves_again(node), do: node

  @doc "Raises where a clause, not checked yet, both stashes and becomes on one path, or becomes behind `again()`."
  @spec alone!(AST.clause(), map) :: :ok
  def alone!({:clause, _, _, _, body}, s) do
    last(body, [nil], s)
    :ok
  end

  @doc """
  Tells of a behaviour that stashes and never becomes another one: nothing of it is ever taken up again. `effects` are the
  functions with effects, any of which may become.
  """
  @spec tell([AST.clause()], map, MapSet.t(), Macro.Env.t()) :: :ok
  def tell(clauses, %{name: name} = definition, effects, env) do
    with line when line != nil <- stashes(clauses),
         false <- leaves?(clauses, name, effects) do
      Warnings.kept(line, definition, env)
    end

    :ok
  end

  # The line of the first one. A literal may be an improper list.
  defp stashes({:lit, _, _}), do: nil
  defp stashes({:stash, l, _, _}), do: l
  defp stashes(node) when is_tuple(node), do: node |> Tuple.to_list() |> stashes()
  defp stashes(nodes) when is_list(nodes), do: Enum.find_value(nodes, &stashes/1)
  defp stashes(_), do: nil

  defp leaves?({:lit, _, _}, _, _), do: false
  defp leaves?({:become, _, {nil, name, _}, _}, name, _), do: false
  defp leaves?({:become, _, _, _}, _, _), do: true
  defp leaves?({:gather, _, :become, _, _, _}, _, _), do: true

  defp leaves?({:call, _, {nil, called, arity}, es}, name, effects),
    do: MapSet.member?(effects, {called, arity}) or leaves?(es, name, effects)

  defp leaves?(node, name, effects) when is_tuple(node), do: node |> Tuple.to_list() |> leaves?(name, effects)
  defp leaves?(nodes, name, effects) when is_list(nodes), do: Enum.any?(nodes, &leaves?(&1, name, effects))
  defp leaves?(_, _, _), do: false

  # Which of them may have come last, before an expression and behind it: `:stash`, `:become`, `:again` or nil.
  defp last({:stash, l, _, values}, before, s), do: values |> last(before, s) |> one(:stash, l, s)

  # It may become, and then the message would come there.
  defp last({:call, l, {nil, name, arity}, es}, before, s) do
    before = last(es, before, s)
    effect? = :again in before and MapSet.member?(s.names.effects, {name, arity})
    if effect?, do: one(before, "call of a defeffect, which may become,", l, s), else: before
  end

  defp last({:again, l, become}, before, s), do: become |> last(before, s) |> one(:again, l, s)

  defp last({tag, l, _, values}, before, s) when tag in [:change, :become],
    do: values |> last(before, s) |> one(:become, l, s)

  defp last({:gather, l, :become, values, _, _}, before, s),
    do: values |> last(before, s) |> one(:become, l, s)

  defp last({tag, _, a, b}, before, s) when tag in [:and, :or, :both, :either] do
    before = last(a, before, s)
    either([b], before, s) ++ before
  end

  defp last({:if, _, test, yes, no}, before, s), do: either([yes, no], last(test, before, s), s)

  # Where it has failed, it has done nothing.
  defp last({:case, _, {:letrec, _, _, {:attempt, _, _}} = tried, [succeeded, failed], _}, before, s) do
    [succeeded, failed] = for {:clause, _, _, _, body} <- [succeeded, failed], do: [body]
    Enum.uniq(either(succeeded, last(tried, before, s), s) ++ either(failed, before, s))
  end

  defp last({:case, _, e, clauses, _}, before, s) do
    bodies = for {:clause, _, _, _, body} <- clauses, do: body
    either(bodies, last(e, before, s), s)
  end

  defp last({:cond, _, clauses}, before, s), do: clauses |> Enum.map(&elem(&1, 1)) |> either(before, s)
  defp last({:abort, _, _}, _before, _s), do: []
  defp last({:lit, _, _}, before, _s), do: before
  defp last(node, before, s) when is_tuple(node), do: node |> Tuple.to_list() |> last(before, s)
  defp last(nodes, before, s) when is_list(nodes), do: Enum.reduce(nodes, before, &last(&1, &2, s))
  defp last(_, before, _s), do: before

  defp either(bodies, before, s), do: bodies |> Enum.flat_map(&last(&1, before, s)) |> Enum.uniq()

  defp one(before, step, l, s) do
    if step == :become and :stash in before do
      Error.raise_at(
        s,
        l,
        "this become undoes the stash() before it, as the last become of a turn counts, and the message would be lost: " <>
          "stash on one path and become on another, as with if … else, or write stash capture: value to change a capture"
      )
    end

    if step == :stash and :become in before do
      Error.raise_at(
        s,
        l,
        "this stash() undoes the become before it, as the last become of a turn counts: write stash capture: value to " <>
          "change a capture, or stash on one path and become on another"
      )
    end

    if step != :again and :again in before do
      Error.raise_at(
        s,
        l,
        "this #{step} undoes the become before it, and the message that again() gives to that one would come here: " <>
          "write again() behind the last become of a path"
      )
    end

    [step]
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

  @doc "A checked become that gives back the message of the turn, behind what it gives back otherwise."
  @spec again(AST.expr(), AST.line(), map) :: AST.expr()
  def again(_become, l, %{message: nil} = s) do
    Error.raise_at(
      s,
      l,
      "again() gives back the message of the clause that it stands in, and a defeffect has none: let the clause become"
    )
  end

  def again(become, l, %{message: message, kept: kept}) do
    rest = if kept != nil and leaves?(become), do: {:var, l, kept}, else: {:lit, l, []}
    AST.block(l, [become, {:unstash, l, {:cons, l, {:var, l, message}, rest}}])
  end

  defp leaves?({:block, _, es}), do: match?({:unstash, _, {:lit, _, true}}, List.last(es))

  @doc "A become of the same behaviour, which goes on keeping."
  @spec same(AST.expr(), map) :: AST.expr()
  def same(become, %{kept: nil}), do: become
  def same(become, _), do: stays(become)

  @doc "A become, of the same behaviour or of another one."
  @spec become(AST.expr(), map) :: AST.expr()
  def become({:become, l, {nil, name, arity}, es}, %{kept: kept, behaviour: {name, captures}})
      when kept != nil and length(captures) == arity,
      do: stays({:become, l, {nil, name, arity}, List.replace_at(es, -1, {:var, l, kept})})

  def become(become, %{kept: nil, behaviour: b, names: %{stashing: stashing}})
      when b != nil or stashing == [],
      do: become

  def become(become, _), do: followed(become, true)

  defp stays(become), do: followed(become, false)

  defp followed(become, leaves?) do
    l = AST.line(become)
    AST.block(l, [become, {:unstash, l, {:lit, l, leaves?}}])
  end
end
