defmodule Mote.Behaviour.Loops.Locals do
  # The functions of a `:letrec` become functions of the unit, with the variables that they use from outside as extra
  # parameters: all of the group have the same ones, since they call each other. Part of the loops pass.
  #
  # Their bodies have been walked already: what was a loop or a group inside of them is a call by now.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Loops}

  @doc "The expression `e` of a group with calls in place of `:local`; the functions are added to those lifted."
  @spec lift(AST.line(), [{term, [tuple], AST.expr()}], AST.expr(), map) :: {AST.expr(), map}
  def lift(l, functions, e, s) do
    free =
      functions
      |> Enum.map(fn {_, params, body} -> MapSet.difference(AST.free(body), MapSet.new(params)) end)
      |> Enum.reduce(&MapSet.union/2)
      |> Enum.sort_by(&elem(&1, 1))

    reads = Enum.map(free, &{:var, l, &1})

    {names, s} =
      Enum.map_reduce(functions, s, fn {key, params, _}, s ->
        count = s.count + 1
        arity = length(params) + length(free)
        Loops.arity!(arity, length(free), l, s)
        name = :"#{s.code.name}/#{s.code.arity} at #{l}:#{count}"
        {{key, {nil, name, arity}}, %{s | count: count}}
      end)

    names = Map.new(names)

    codes =
      for {key, params, body} <- functions do
        {nil, name, arity} = names[key]

        %Code{
          kind: s.code.kind,
          name: name,
          arity: arity,
          params: params ++ free,
          body: calls(body, names, reads),
          line: l,
          public: false
        }
      end

    {calls(e, names, reads), %{s | lifted: Enum.reverse(codes) ++ s.lifted}}
  end

  defp calls({:local, l, key, es}, names, reads) when is_map_key(names, key),
    do: {:call, l, names[key], Enum.map(es, &calls(&1, names, reads)) ++ reads}

  defp calls(node, names, reads), do: AST.map_children(node, &calls(&1, names, reads))
end
