defmodule Mote.Behaviour.Loops.Accumulators do
  # A tuple that a loop hands on from step to step, only to take it apart again, is not built: its elements become
  # accumulators of their own. That needs a tuple to begin with, and a step whose value is such a tuple, or the
  # accumulator as it was, wherever it is decided. Part of the loops pass.
  @moduledoc false

  alias Mote.Behaviour.{AST, Loops}

  # More parameters than that gain nothing.
  @most 16

  @doc "First values, variables, and the body in terms of them; `:error` where a single accumulator has to do."
  @spec split(AST.expr(), tuple, AST.expr(), map) :: {:ok, [AST.expr()], [tuple], AST.expr(), map} | :error
  def split(initial, acc, body, s) do
    with {:ok, initials} when length(initials) in 1..@most <- elements(initial),
         true <- gives?(body, acc, length(initials)),
         false <- AST.any?(body, &pins?(&1, acc)) do
      {variables, s} = Enum.map_reduce(initials, s, fn _, s -> Loops.fresh(:acc, s) end)
      {:ok, initials, variables, replace(body, acc, variables), s}
    else
      _ -> :error
    end
  end

  @doc "A step with what `fun` makes of its elements in place of each tuple that it may give."
  @spec each_value(AST.expr(), ([AST.expr()] -> AST.expr())) :: AST.expr()
  def each_value({:block, l, es}, fun), do: {:block, l, List.update_at(es, -1, &each_value(&1, fun))}
  def each_value({:if, l, test, a, b}, fun), do: {:if, l, test, each_value(a, fun), each_value(b, fun)}

  def each_value({:case, l, e, clauses, fail}, fun) do
    clauses =
      for {:clause, l, pattern, guards, body} <- clauses,
          do: {:clause, l, pattern, guards, each_value(body, fun)}

    {:case, l, e, clauses, fail}
  end

  def each_value({:cond, l, clauses}, fun),
    do: {:cond, l, for({test, body} <- clauses, do: {test, each_value(body, fun)})}

  # Returns nothing.
  def each_value({:abort, _, _} = abort, _), do: abort

  def each_value(tuple, fun) do
    {:ok, es} = elements(tuple)
    fun.(es)
  end

  defp elements({:tuple, _, es}), do: {:ok, es}

  defp elements({:lit, l, tuple}) when is_tuple(tuple),
    do: {:ok, for(e <- Tuple.to_list(tuple), do: {:lit, l, e})}

  defp elements(_), do: :error

  defp gives?({:var, _, v}, acc, _), do: v == acc
  defp gives?({:block, _, es}, acc, n), do: gives?(List.last(es), acc, n)
  defp gives?({:if, _, _, a, b}, acc, n), do: gives?(a, acc, n) and gives?(b, acc, n)

  defp gives?({:case, _, _, clauses, _}, acc, n),
    do: Enum.all?(clauses, fn {:clause, _, _, _, body} -> gives?(body, acc, n) end)

  defp gives?({:cond, _, clauses}, acc, n), do: Enum.all?(clauses, fn {_, body} -> gives?(body, acc, n) end)
  defp gives?({:abort, _, _}, _, _), do: true
  defp gives?(other, _, n), do: match?({:ok, es} when length(es) == n, elements(other))

  # A pattern can only be compared with a variable.
  defp pins?({:match, _, pattern, _}, acc), do: acc in AST.pinned(pattern)

  defp pins?(node, acc),
    do: Enum.any?(AST.clauses(node), fn {:clause, _, pattern, _, _} -> acc in AST.pinned(pattern) end)

  # -- the accumulator as the tuple of its variables -----------------------------------------------------------

  defp replace({:var, l, acc}, acc, variables), do: {:tuple, l, Enum.map(variables, &{:var, l, &1})}

  # What only looks at the tuple looks at the variable.
  defp replace({:op, l, :elem, [{:var, _, acc}, {:lit, _, i}]}, acc, variables)
       when is_integer(i) and i >= 0 and i < length(variables),
       do: {:var, l, Enum.at(variables, i)}

  defp replace({:op, l, :tuple_size, [{:var, _, acc}]}, acc, variables), do: {:lit, l, length(variables)}
  defp replace({:op, l, :is_tuple, [{:var, _, acc}]}, acc, _), do: {:lit, l, true}
  defp replace(node, acc, variables), do: AST.map_children(node, &replace(&1, acc, variables))
end
