defmodule Mote.Prelude.Inline.Best do
  # `max`, `min` and their relatives of Enum with a function that orders, one that says what there is of nothing, or both,
  # as templates. A name that ends in `_or` has the latter in place of the former: see `Mote.Behaviour.Syntax.Calls`.
  # The function that orders is called with the best so far first, and must answer with a boolean.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate max(source, fun_order), do: best(Enum.to_list(source), fun_order)
  deftemplate max_or(source, fun_none), do: largest_or(Enum.to_list(source), fun_none)
  deftemplate max(source, fun_order, fun_none), do: best_or(Enum.to_list(source), fun_order, fun_none)

  deftemplate min(source, fun_order), do: best(Enum.to_list(source), fun_order)
  deftemplate min_or(source, fun_none), do: least_or(Enum.to_list(source), fun_none)
  deftemplate min(source, fun_order, fun_none), do: best_or(Enum.to_list(source), fun_order, fun_none)

  deftemplate min_max_or(source, fun_none), do: both_or(Enum.to_list(source), fun_none)

  deftemplate largest_or([], fun_none), do: fun_none.()
  deftemplate largest_or(list, fun_none), do: Mote.Prelude.Enum.max(list)

  deftemplate least_or([], fun_none), do: fun_none.()
  deftemplate least_or(list, fun_none), do: Mote.Prelude.Enum.min(list)

  deftemplate both_or([], fun_none), do: fun_none.()
  deftemplate both_or(list, fun_none), do: Mote.Prelude.Enum.min_max(list)

  deftemplate best_or([], fun_order, fun_none), do: fun_none.()
  deftemplate best_or([x | rest], fun_order, fun_none), do: best_of(rest, x, fun_order)

  deftemplate best([x | rest], fun_order), do: best_of(rest, x, fun_order)

  deftemplate best_of([], best, fun_order), do: best

  deftemplate best_of([x | rest], best, fun_order) do
    case fun_order.(best, x) do
      true -> best_of(rest, best, fun_order)
      false -> best_of(rest, x, fun_order)
    end
  end

  # -- by what a function makes of the elements ----------------------------------------------------------------

  deftemplate max_by(source, fun, fun_order), do: best_by(Enum.to_list(source), fun, fun_order)

  deftemplate max_by(source, fun, fun_order, fun_none),
    do: by_or(Enum.to_list(source), fun, fun_order, fun_none)

  deftemplate max_by_or(source, fun, fun_none) do
    case Enum.to_list(source) do
      [] -> fun_none.()
      [x | rest] -> largest_by(rest, x, fun.(x), fun)
    end
  end

  deftemplate largest_by([], best, _, fun), do: best

  deftemplate largest_by([x | rest], best, most, fun) do
    key = fun.(x)
    if most >= key, do: largest_by(rest, best, most, fun), else: largest_by(rest, x, key, fun)
  end

  deftemplate min_by(source, fun, fun_order), do: best_by(Enum.to_list(source), fun, fun_order)

  deftemplate min_by(source, fun, fun_order, fun_none),
    do: by_or(Enum.to_list(source), fun, fun_order, fun_none)

  deftemplate min_by_or(source, fun, fun_none) do
    case Enum.to_list(source) do
      [] -> fun_none.()
      [x | rest] -> least_by(rest, x, fun.(x), fun)
    end
  end

  deftemplate least_by([], best, _, fun), do: best

  deftemplate least_by([x | rest], best, least, fun) do
    key = fun.(x)
    if least <= key, do: least_by(rest, best, least, fun), else: least_by(rest, x, key, fun)
  end

  deftemplate by_or([], fun, fun_order, fun_none), do: fun_none.()
  deftemplate by_or([x | rest], fun, fun_order, fun_none), do: best_key(rest, x, fun.(x), fun, fun_order)

  deftemplate best_by([x | rest], fun, fun_order), do: best_key(rest, x, fun.(x), fun, fun_order)

  deftemplate best_key([], best, _, fun, fun_order), do: best

  deftemplate best_key([x | rest], best, best_key, fun, fun_order) do
    key = fun.(x)

    case fun_order.(best_key, key) do
      true -> best_key(rest, best, best_key, fun, fun_order)
      false -> best_key(rest, x, key, fun, fun_order)
    end
  end

  # Whatever is before the least so far, or behind the greatest, takes its place.
  deftemplate min_max_by(source, fun, fun_before) do
    case Enum.to_list(source) do
      [x | rest] -> extremes(rest, {x, fun.(x)}, {x, fun.(x)}, fun, fun_before)
    end
  end

  deftemplate min_max_by(source, fun, fun_before, fun_none) do
    case Enum.to_list(source) do
      [] -> fun_none.()
      [x | rest] -> extremes(rest, {x, fun.(x)}, {x, fun.(x)}, fun, fun_before)
    end
  end

  deftemplate min_max_by_or(source, fun, fun_none) do
    case Enum.to_list(source) do
      [] -> fun_none.()
      [x | rest] -> {least_by(rest, x, fun.(x), fun), largest_by(rest, x, fun.(x), fun)}
    end
  end

  deftemplate extremes([], {least, _}, {most, _}, fun, fun_before), do: {least, most}

  deftemplate extremes([x | rest], {_, least_key} = least, {_, most_key} = most, fun, fun_before) do
    key = fun.(x)
    least = if fun_before.(key, least_key), do: {x, key}, else: least
    most = if fun_before.(most_key, key), do: {x, key}, else: most
    extremes(rest, least, most, fun, fun_before)
  end
end
