defmodule Mote.Prelude.Inline.Lists do
  # Functions of Erlang's `lists` and `maps` that take functions, as templates. They take lists and maps only, and what
  # decides must be a boolean.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate map(fun, list) when is_list(list), do: for(x <- list, do: fun.(x))

  deftemplate foreach(fun, list) when is_list(list), do: each(list, fun)
  deftemplate each([], fun), do: :ok

  deftemplate each([x | rest], fun) do
    fun.(x)
    each(rest, fun)
  end

  deftemplate foldl(fun, acc, list) when is_list(list),
    do: for(x <- list, reduce: acc, do: (acc -> fun.(x, acc)))

  deftemplate foldr(fun, acc, list) when is_list(list),
    do: for(x <- Enum.reverse(list), reduce: acc, do: (acc -> fun.(x, acc)))

  deftemplate mapfoldl(fun, acc, list) when is_list(list),
    do: Enum.map_reduce(list, acc, fn x, acc -> fun.(x, acc) end)

  deftemplate flatmap(fun, list) when is_list(list) do
    lists = for x <- list, reduce: [], do: (lists -> [fun.(x) | lists])
    Mote.Prelude.Lists.appended(lists, [])
  end

  # -- choosing ------------------------------------------------------------------------------------------------

  deftemplate all(fun, list) when is_list(list), do: all_of(list, fun)
  deftemplate all_of([], fun), do: true

  deftemplate all_of([x | rest], fun) do
    case fun.(x) do
      true -> all_of(rest, fun)
      false -> false
    end
  end

  deftemplate any(fun, list) when is_list(list), do: any_of(list, fun)
  deftemplate any_of([], fun), do: false

  deftemplate any_of([x | rest], fun) do
    case fun.(x) do
      true -> true
      false -> any_of(rest, fun)
    end
  end

  deftemplate filter(fun, list) when is_list(list), do: elem(parted(list, [], [], fun), 0)
  deftemplate partition(fun, list) when is_list(list), do: parted(list, [], [], fun)
  deftemplate parted([], yes, no, fun), do: {Enum.reverse(yes), Enum.reverse(no)}

  deftemplate parted([x | rest], yes, no, fun) do
    case fun.(x) do
      true -> parted(rest, [x | yes], no, fun)
      false -> parted(rest, yes, [x | no], fun)
    end
  end

  deftemplate takewhile(fun, list) when is_list(list), do: elem(first_part(list, [], fun), 0)
  deftemplate dropwhile(fun, list) when is_list(list), do: elem(first_part(list, [], fun), 1)
  deftemplate splitwith(fun, list) when is_list(list), do: first_part(list, [], fun)
  deftemplate first_part([], taken, fun), do: {Enum.reverse(taken), []}

  deftemplate first_part([x | rest] = list, taken, fun) do
    case fun.(x) do
      true -> first_part(rest, [x | taken], fun)
      false -> {Enum.reverse(taken), list}
    end
  end

  deftemplate search(fun, list) when is_list(list), do: searched(list, fun)
  deftemplate searched([], fun), do: false

  deftemplate searched([x | rest], fun) do
    case fun.(x) do
      true -> {:value, x}
      false -> searched(rest, fun)
    end
  end

  # -- maps, in the order of their keys ------------------------------------------------------------------------

  deftemplate map_values(fun, map) when is_map(map),
    do: Map.new(for({key, value} <- Map.to_list(map), do: {key, fun.(key, value)}))

  deftemplate filter_map(fun, map) when is_map(map) do
    for {key, value} <- Map.to_list(map), reduce: map do
      left ->
        case fun.(key, value) do
          true -> left
          false -> Map.delete(left, key)
        end
    end
  end

  deftemplate fold_map(fun, acc, map) when is_map(map),
    do: for({key, value} <- Map.to_list(map), reduce: acc, do: (acc -> fun.(key, value, acc)))

  deftemplate update_with(key, fun, map), do: Map.put(map, key, fun.(Map.fetch!(map, key)))
end
