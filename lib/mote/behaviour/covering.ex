defmodule Mote.Behaviour.Covering do
  # Tells whether a pattern matches everything that another pattern matches. Then a clause with the second one, after a
  # clause with the first one, never matches.
  #
  # It says so only where it is certain. Two segments of a binary, or two keys of a map that are not literals, are certain
  # when they are written alike.
  @moduledoc false

  alias Mote.Behaviour.AST

  @typedoc "The patterns of a clause, one for each argument."
  @type patterns :: [AST.pattern()]

  @doc "Returns whether `patterns` match all values that `others` match, with as many of both."
  @spec covers?(patterns, patterns) :: boolean
  def covers?(patterns, others), do: free?(patterns) and all_cover?(patterns, others)

  @doc "Returns whether `patterns` match everything."
  @spec everything?(patterns) :: boolean
  def everything?(patterns), do: free?(patterns) and Enum.all?(patterns, &all?/1)

  # A variable that stands in two places wants the same value in both.
  defp free?(patterns) do
    bound = Enum.flat_map(patterns, &AST.bound/1)
    bound == Enum.uniq(bound)
  end

  defp all?({:any, _}), do: true
  defp all?({:bind, _, _}), do: true
  defp all?({:all, _, patterns}), do: Enum.all?(patterns, &all?/1)
  defp all?(_), do: false

  defp all_cover?(ps, qs), do: length(ps) == length(qs) and Enum.all?(Enum.zip(ps, qs), &cover?/1)

  defp cover?({p, q}), do: all?(p) or covering?(parts(p), parts(q))

  defp covering?({:all, _, ps}, q), do: Enum.all?(ps, &cover?({&1, q}))
  defp covering?(p, {:all, _, qs}), do: Enum.any?(qs, &cover?({p, &1}))
  defp covering?({:lit, _, a}, {:lit, _, b}), do: a === b
  defp covering?({:atom, _}, {:lit, _, a}), do: is_atom(a)
  defp covering?({:atom, _}, {:atom, _}), do: true
  defp covering?({:pin, _, a}, {:pin, _, b}), do: a == b
  defp covering?({:tuple, _, ps}, {:tuple, _, qs}), do: all_cover?(ps, qs)
  defp covering?({:cons, _, a, b}, {:cons, _, c, d}), do: all_cover?([a, b], [c, d])

  defp covering?({:map, _, pairs}, {:map, _, others}) do
    others = Map.new(others, fn {key, pattern} -> {written(key), pattern} end)

    Enum.all?(pairs, fn {key, pattern} ->
      case Map.fetch(others, written(key)) do
        {:ok, other} -> cover?({pattern, other})
        :error -> false
      end
    end)
  end

  defp covering?({:bin, _, _} = p, {:bin, _, _} = q), do: AST.bound(p) == [] and written(p) == written(q)
  defp covering?(_, _), do: false

  # A literal tuple or list cell is one of literals.
  defp parts({:lit, l, value}) when is_tuple(value) and value != {},
    do: {:tuple, l, for(part <- Tuple.to_list(value), do: {:lit, l, part})}

  defp parts({:lit, l, [head | tail]}), do: {:cons, l, {:lit, l, head}, {:lit, l, tail}}
  defp parts(pattern), do: pattern

  # Without its lines.
  defp written({:lit, _, value}), do: {:lit, value}
  defp written({:pin, _, variable}), do: {:pin, variable}
  defp written(node) when is_list(node), do: Enum.map(node, &written/1)

  defp written({:bin, _, segments}),
    do: {:bin, Enum.map(segments, &Map.new(&1, fn {k, v} -> {k, written(v)} end))}

  defp written(node), do: node
end
