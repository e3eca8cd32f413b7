defmodule Mote.Behaviour.Loops.Onto do
  # A function of Elixir's library that calls itself for the rest of the list that it makes, `[f(x) | map(rest)]`, would need a level of
  # the stack for each element. It becomes a loop, which gathers the elements before the rest backwards. Part of the loops pass.
  #
  #     map([x | rest])    -> [f(x) | map(rest)]       map(list)          -> map'(list, [])
  #     map([])            -> []                       map'([x | rest], acc) -> map'(rest, [f(x) | acc])
  #                                                    map'([], acc)         -> reverse(acc) ++ []
  #
  # What a user has written stays as it is: a level of the stack is faster than two lists. A function that ends with the call of
  # another one of the unit stays, too: that was a tail call, and would be none any more.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Imports}

  @doc "The codes of a unit, with loops in place of such functions."
  @spec codes([Code.t()]) :: [Code.t()]
  def codes(codes), do: Enum.flat_map(codes, &code/1)

  defp code(%{origin: {module, _}, name: name, arity: arity} = code) do
    ends = ends(code.body)
    own = {nil, name, arity}

    if Imports.library?(module) and Enum.any?(ends, &onto?(&1, own)) and
         not Enum.any?(ends, &other?(&1, own)),
       do: loop(code, own),
       else: [code]
  end

  defp code(code), do: [code]

  defp loop(%{line: l} = code, own) do
    acc = {:acc, code.next}
    inner = {nil, :"#{code.name} onto", code.arity + 1}
    body = ended(code.body, &again(&1, own, inner, acc))
    start = Enum.map(code.params, &{:var, l, &1}) ++ [{:lit, l, []}]

    [
      %{code | body: {:call, l, inner, start}},
      %{
        code
        | name: elem(inner, 1),
          arity: code.arity + 1,
          params: code.params ++ [acc],
          body: body,
          next: code.next + 1,
          public: false
      }
    ]
  end

  defp again({:call, l, own, args}, own, inner, acc), do: {:call, l, inner, args ++ [{:var, l, acc}]}

  defp again(e, own, inner, acc) do
    l = AST.line(e)

    if onto?(e, own),
      do: gathered(e, inner, {:var, l, acc}),
      else: {:sure, l, :append, [{:sure, l, :reverse, [{:var, l, acc}]}, e]}
  end

  defp gathered({:cons, l, head, rest}, inner, acc), do: gathered(rest, inner, {:cons, l, head, acc})
  defp gathered({:call, l, _, args}, inner, acc), do: {:call, l, inner, args ++ [acc]}

  defp onto?({:cons, _, _, {:call, _, own, _}}, own), do: true
  defp onto?({:cons, _, _, rest}, own), do: onto?(rest, own)
  defp onto?(_, _), do: false

  defp other?({:call, _, function, _}, own), do: function != own
  defp other?({:apply, _, _, _}, _), do: true
  defp other?(_, _), do: false

  defp ends({:block, _, es}), do: es |> List.last() |> ends()
  defp ends({:if, _, _, yes, no}), do: ends(yes) ++ ends(no)
  defp ends({:cond, _, clauses}), do: Enum.flat_map(clauses, fn {_, body} -> ends(body) end)
  defp ends({:case, _, _, clauses, _}), do: Enum.flat_map(clauses, &ends(elem(&1, 4)))
  defp ends(other), do: [other]

  # A body that ends with something else.
  defp ended({:block, l, es}, fun), do: {:block, l, List.update_at(es, -1, &ended(&1, fun))}
  defp ended({:if, l, test, yes, no}, fun), do: {:if, l, test, ended(yes, fun), ended(no, fun)}

  defp ended({:cond, l, clauses}, fun),
    do: {:cond, l, for({test, body} <- clauses, do: {test, ended(body, fun)})}

  defp ended({:case, l, e, clauses, fail}, fun) do
    clauses =
      for {:clause, l, pattern, guards, body} <- clauses,
          do: {:clause, l, pattern, guards, ended(body, fun)}

    {:case, l, e, clauses, fail}
  end

  defp ended(other, fun), do: fun.(other)
end
