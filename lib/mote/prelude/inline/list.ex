defmodule Mote.Prelude.Inline.List do
  # Functions of List that take functions, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate foldl(list, acc, fun), do: fold(list, acc, fun)
  deftemplate foldr(list, acc, fun) when is_list(list), do: fold(Enum.reverse(list), acc, fun)

  deftemplate fold([], acc, fun), do: acc
  deftemplate fold([x | rest], acc, fun), do: fold(rest, fun.(x, acc), fun)

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
