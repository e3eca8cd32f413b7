defmodule Mote.Behaviour.Check.Nowhere do
  # The last value of a clause of a behaviour, which is never used: users of GenServer write the next state
  # there, or `{:noreply, state}`. It compiles, and the actor stays what it was. Part of the check, which
  # warns about such a line.
  #
  # What has an effect anywhere inside is meant for that, and a function of the user's may be called for its abort. Atoms, `[]`
  # and `{}` say that nothing is to be done, `_ = value` that the value does not matter, and a variable or a
  # number that a branch returns most often means one of the two.
  #
  # `n = n + 1` at the end binds a variable that nobody reads, where `n` is a capture. Elixir would say as much, and not what to
  # write, so it is not asked (`Mote.Behaviour.Source.Turns`).
  @moduledoc false

  alias Mote.Behaviour.Warnings

  @effects [
    :send,
    :sendx,
    :send_after,
    :cancel_timer,
    :monitor,
    :demonitor,
    :create,
    :become,
    :change,
    :stash,
    :gather,
    :abort
  ]
  @replies [:noreply, :reply, :stop]

  @doc "Tells of the values of clauses of `definition`, as they were written; `effects` are the functions that have some."
  @spec tell([tuple], map, MapSet.t(), Macro.Env.t()) :: :ok
  def tell(clauses, definition, effects, env) do
    lines =
      for {:clause, _, _, _, body} <- clauses,
          found <- bound(body, definition.captures) ++ last(body, true, effects),
          do: found

    for {line, kind} <- Enum.uniq(lines), do: Warnings.nowhere(kind, line, definition, env)
    :ok
  end

  defp bound({:block, _, es}, captures), do: es |> List.last() |> bound(captures)

  defp bound({:match, l, {:bind, _, {name, nil} = variable}, _}, captures),
    do: if(variable in captures, do: [{l, {:bound, name}}], else: [])

  defp bound(_, _), do: []

  # `{line, what}` of each value that the expression ends with; `top` where it is not one of several.
  defp last({:block, _, es}, top, effects) do
    case List.last(es) do
      {:var, l, {_, nil}} when top -> [{l, :value}]
      e -> last(e, top, effects)
    end
  end

  defp last({:if, _, _, yes, no}, _, effects), do: last(yes, false, effects) ++ last(no, false, effects)

  defp last({:case, _, _, clauses, _}, _, effects),
    do: for({:clause, _, _, _, body} <- clauses, found <- last(body, false, effects), do: found)

  defp last({:given, _, _, _, body}, top, effects), do: last(body, top, effects)

  defp last({:cond, _, clauses}, _, effects),
    do: for({_, body} <- clauses, found <- last(body, false, effects), do: found)

  defp last({tag, l, elements} = e, top, effects) when tag in [:tuple, :lit] do
    cond do
      reply?(elements) -> [{l, :reply}]
      nothing?(e, top) or effect?(e, effects) -> []
      true -> [{l, :value}]
    end
  end

  defp last({:call, l, {module, _, _}, _} = call, _, effects),
    do: if(library?(module) and not effect?(call, effects), do: [{l, :value}], else: [])

  defp last(e, _, effects) when elem(e, 0) in [:op, :cons, :loop, :letrec, :fn],
    do: if(effect?(e, effects), do: [], else: [{elem(e, 1), :value}])

  defp last(_, _, _), do: []

  defp reply?([{:lit, _, name}, _ | _]), do: name in @replies
  defp reply?(value) when is_tuple(value) and tuple_size(value) > 1, do: elem(value, 0) in @replies
  defp reply?(_), do: false

  defp nothing?({:lit, _, value}, top), do: not top or is_atom(value) or value in [[], {}]
  defp nothing?(_, _), do: false

  defp library?(module), do: match?("Elixir.Mote.Prelude." <> _, Atom.to_string(module))

  defp effect?({:lit, _, _}, _), do: false
  defp effect?(node, _) when is_tuple(node) and elem(node, 0) in @effects, do: true

  defp effect?({:call, _, {nil, name, arity}, es}, effects),
    do: MapSet.member?(effects, {name, arity}) or effect?(es, effects)

  defp effect?(node, effects) when is_tuple(node), do: node |> Tuple.to_list() |> effect?(effects)
  defp effect?(nodes, effects) when is_list(nodes), do: Enum.any?(nodes, &effect?(&1, effects))
  defp effect?(_, _), do: false
end
