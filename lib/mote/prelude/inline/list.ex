defmodule Mote.Prelude.Inline.List do
  # Functions of List that take functions, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate foldl(list, acc, fun) when is_list(list),
    do: for(x <- list, reduce: acc, do: (acc -> fun.(x, acc)))

  deftemplate foldr(list, acc, fun) when is_list(list),
    do: for(x <- Enum.reverse(list), reduce: acc, do: (acc -> fun.(x, acc)))

  # Paths to where the lists end, each with how far down it is, what is left of both, and its edits, the last one first. All
  # have the same number of edits, and one is on each diagonal.
  deftemplate myers_difference(list1, list2, fun) when is_list(list1) and is_list(list2),
    do: paths(0, [{0, list1, list2, []}], fun)

  deftemplate paths(n, paths, fun) do
    case diagonals(-n, n, paths, [], fun) do
      {:done, edits} -> Mote.Prelude.List.script(edits, [])
      {:next, paths} -> paths(n + 1, paths, fun)
    end
  end

  deftemplate diagonals(at, n, _, next, fun) when at > n, do: {:next, Enum.reverse(next)}

  deftemplate diagonals(at, n, paths, next, fun) do
    {path, rest} = step(at, n, paths, fun)

    case Mote.Prelude.List.alike(path) do
      {_, [], [], edits} -> {:done, edits}
      path -> diagonals(at + 2, n, rest, [path | next], fun)
    end
  end

  deftemplate step(0, 0, [path], fun), do: {path, []}
  deftemplate step(at, n, [path | _] = paths, fun) when at == -n, do: {down(path, fun), paths}
  deftemplate step(n, n, [path], fun), do: {right(path, fun), []}

  deftemplate step(_, _, [{y, _, _, _} = path1, {y2, _, _, _} = path2 | rest], fun) do
    if y > y2,
      do: {right(path1, fun), [path2 | rest]},
      else: {down(path2, fun), [path2 | rest]}
  end

  deftemplate right({y, [x1 | rest1] = list1, [x2 | rest2], edits}, fun) do
    case fun.(x1, x2) do
      none when none in [nil, false] -> {y, list1, rest2, [{:ins, x2} | edits]}
      diff -> {y + 1, rest1, rest2, [{:diff, diff} | edits]}
    end
  end

  deftemplate right({y, [], [x | rest], edits}, fun), do: {y, [], rest, [{:ins, x} | edits]}
  deftemplate right({_, _, [], _} = path, fun), do: path

  deftemplate down({y, [x1 | rest1], [x2 | rest2] = list2, edits}, fun) do
    case fun.(x1, x2) do
      none when none in [nil, false] -> {y + 1, rest1, list2, [{:del, x1} | edits]}
      diff -> {y + 1, rest1, rest2, [{:diff, diff} | edits]}
    end
  end

  deftemplate down({y, [x | rest], [], edits}, fun), do: {y + 1, rest, [], [{:del, x} | edits]}
  deftemplate down({y, [], list2, edits}, fun), do: {y + 1, [], list2, edits}

  deftemplate update_at(list, index, fun) when is_integer(index) and index >= 0,
    do: update(list, index, [], fun)

  deftemplate update_at(list, index, fun) when is_integer(index) do
    index = length(list) + index
    if index < 0, do: list, else: update(list, index, [], fun)
  end

  deftemplate update([], _, before, fun), do: Enum.reverse(before)
  deftemplate update([x | rest], 0, before, fun), do: Enum.reverse(before) ++ [fun.(x) | rest]
  deftemplate update([x | rest], n, before, fun), do: update(rest, n - 1, [x | before], fun)
end
