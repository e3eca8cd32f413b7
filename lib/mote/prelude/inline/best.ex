defmodule Mote.Prelude.Inline.Best do
  # `max`, `min` and their relatives of Enum with functions, as templates. `fun_order` is called with the best so far first,
  # and must answer with a boolean; a call without one is given Elixir's own by `Mote.Behaviour.Syntax.Calls`. `fun_none`
  # gives the answer for an empty source, which fits no clause without it.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate max(source, fun_order), do: best(Enum.to_list(source), fun_order)
  deftemplate max(source, fun_order, fun_none), do: best(Enum.to_list(source), fun_order, fun_none)

  deftemplate min(source, fun_order), do: best(Enum.to_list(source), fun_order)
  deftemplate min(source, fun_order, fun_none), do: best(Enum.to_list(source), fun_order, fun_none)

  deftemplate best(list, fun_order) do
    case list do
      [x | rest] when is_list(rest) -> best_of(rest, x, fun_order)
    end
  end

  deftemplate best([], fun_order, fun_none), do: fun_none.()
  deftemplate best([x | rest], fun_order, fun_none) when is_list(rest), do: best_of(rest, x, fun_order)

  deftemplate best_of(rest, best, fun_order) do
    for x <- rest, reduce: best do
      best ->
        case fun_order.(best, x) do
          true -> best
          false -> x
        end
    end
  end

  deftemplate min_max(source, fun_none), do: both(Enum.to_list(source), fun_none)
  deftemplate both([], fun_none), do: fun_none.()
  deftemplate both(list, fun_none), do: Mote.Prelude.Enum.min_max(list)

  # -- by what a function makes of the elements ----------------------------------------------------------------

  deftemplate max_by(source, fun, fun_order), do: best_by(Enum.to_list(source), fun, fun_order)

  deftemplate max_by(source, fun, fun_order, fun_none),
    do: best_by(Enum.to_list(source), fun, fun_order, fun_none)

  deftemplate min_by(source, fun, fun_order), do: best_by(Enum.to_list(source), fun, fun_order)

  deftemplate min_by(source, fun, fun_order, fun_none),
    do: best_by(Enum.to_list(source), fun, fun_order, fun_none)

  deftemplate best_by(list, fun, fun_order) do
    case list do
      [x | rest] -> best_key(rest, x, fun.(x), fun, fun_order)
    end
  end

  deftemplate best_by([], fun, fun_order, fun_none), do: fun_none.()
  deftemplate best_by([x | rest], fun, fun_order, fun_none), do: best_key(rest, x, fun.(x), fun, fun_order)

  deftemplate best_key([], best, _, fun, fun_order), do: best

  deftemplate best_key([x | rest], best, best_key, fun, fun_order) do
    key = fun.(x)

    case fun_order.(best_key, key) do
      true -> best_key(rest, best, best_key, fun, fun_order)
      false -> best_key(rest, x, key, fun, fun_order)
    end
  end

  deftemplate min_max_by(source, fun, fun_before), do: spread(Enum.to_list(source), fun, fun_before)

  deftemplate min_max_by(source, fun, fun_before, fun_none) do
    case Enum.to_list(source) do
      [] -> fun_none.()
      list -> spread(list, fun, fun_before)
    end
  end

  deftemplate spread([x | rest], fun, fun_before) do
    first = {x, fun.(x)}
    extremes(rest, first, first, fun, fun_before)
  end

  # Whatever is before the least so far, or behind the greatest, takes its place.
  deftemplate extremes([], {least, _}, {most, _}, fun, fun_before), do: {least, most}

  deftemplate extremes([x | rest], {_, least_key} = least, {_, most_key} = most, fun, fun_before) do
    key = fun.(x)
    least = if fun_before.(key, least_key), do: {x, key}, else: least
    most = if fun_before.(most_key, key), do: {x, key}, else: most
    extremes(rest, least, most, fun, fun_before)
  end
end
