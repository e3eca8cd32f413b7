defmodule Mote.Behaviour.Check.Calls do
  # Finds the private functions of the module, `defpurep` and `defeffect`, that are called: by a behaviour, by a public
  # function, or by one that is itself called. Behaviours that call any Elixir have no body here: the functions that they
  # call are `named`.
  @moduledoc false

  alias Mote.Behaviour.Code

  @doc "Returns the codes that can be reached."
  @spec called([Code.t()], [{atom, arity}]) :: [Code.t()]
  def called(codes, named) do
    calls =
      for code <- codes, code.kind != :actor, into: %{}, do: {{code.name, code.arity}, calls(code.body, [])}

    {own, others} = Enum.split_with(codes, &(&1.kind != :actor and not &1.public))

    called =
      if own == [],
        do: MapSet.new(),
        else:
          others |> Enum.flat_map(&calls(&1.body, [])) |> Enum.concat(named) |> reached(calls, MapSet.new())

    Enum.filter(codes, &(&1 not in own or {&1.name, &1.arity} in called))
  end

  defp reached([], _, seen), do: seen

  defp reached([function | rest], calls, seen) do
    if function in seen,
      do: reached(rest, calls, seen),
      else: reached(Map.get(calls, function, []) ++ rest, calls, MapSet.put(seen, function))
  end

  defp calls({:lit, _, _}, found), do: found
  defp calls({:call, _, {nil, name, arity}, es}, found), do: calls(es, [{name, arity} | found])
  defp calls(node, found) when is_tuple(node), do: node |> Tuple.to_list() |> calls(found)
  defp calls(nodes, found) when is_list(nodes), do: Enum.reduce(nodes, found, &calls/2)
  defp calls(segment, found) when is_map(segment), do: segment |> Map.values() |> calls(found)
  defp calls(_, found), do: found

  @doc "Returns what clauses that call any Elixir call by its name alone."
  @spec named(Macro.t()) :: [{atom, arity}]
  def named(clauses) do
    {_, named} =
      Macro.prewalk(clauses, [], fn
        {:|>, _, [_, {name, _, args}]} = node, found when is_atom(name) and is_list(args) ->
          {node, [{name, length(args) + 1} | found]}

        {:&, _, [{:/, _, [{name, _, _}, arity]}]} = node, found when is_atom(name) and is_integer(arity) ->
          {node, [{name, arity} | found]}

        {name, _, args} = node, found when is_atom(name) and is_list(args) ->
          {node, [{name, length(args)} | found]}

        node, found ->
          {node, found}
      end)

    Enum.uniq(named)
  end
end
