defmodule Mote.Prelude.Inline.Lists do
  # Functions of Erlang's `lists` and `maps` that take functions, as templates. They take lists and maps only, and what
  # decides must be a boolean.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate map(fun, list) when is_list(list), do: mapped(list, [], fun)
  deftemplate mapped([], done, fun), do: Enum.reverse(done)
  deftemplate mapped([x | rest], done, fun), do: mapped(rest, [fun.(x) | done], fun)

  deftemplate foreach(fun, list) when is_list(list), do: each(list, fun)
  deftemplate each([], fun), do: :ok

  deftemplate each([x | rest], fun) do
    fun.(x)
    each(rest, fun)
  end

  deftemplate foldl(fun, acc, list) when is_list(list), do: folded(list, acc, fun)
  deftemplate foldr(fun, acc, list) when is_list(list), do: folded(Enum.reverse(list), acc, fun)
  deftemplate folded([], acc, fun), do: acc
  deftemplate folded([x | rest], acc, fun), do: folded(rest, fun.(x, acc), fun)

  deftemplate mapfoldl(fun, acc, list) when is_list(list), do: both(list, [], acc, fun)
  deftemplate both([], done, acc, fun), do: {Enum.reverse(done), acc}

  deftemplate both([x | rest], done, acc, fun) do
    {y, acc} = fun.(x, acc)
    both(rest, [y | done], acc, fun)
  end

  deftemplate flatmap(fun, list) when is_list(list), do: joined(list, [], fun)
  deftemplate joined([], lists, fun), do: Mote.Prelude.Lists.appended(lists, [])
  deftemplate joined([x | rest], lists, fun), do: joined(rest, [fun.(x) | lists], fun)

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

  deftemplate map_values(fun, map) when is_map(map), do: changed(Map.to_list(map), [], fun)
  deftemplate changed([], pairs, fun), do: Map.new(pairs)

  deftemplate changed([{key, value} | rest], pairs, fun),
    do: changed(rest, [{key, fun.(key, value)} | pairs], fun)

  deftemplate filter_map(fun, map) when is_map(map), do: chosen(Map.to_list(map), map, fun)
  deftemplate chosen([], map, fun), do: map

  deftemplate chosen([{key, value} | rest], map, fun) do
    case fun.(key, value) do
      true -> chosen(rest, map, fun)
      false -> chosen(rest, Map.delete(map, key), fun)
    end
  end

  deftemplate fold_map(fun, acc, map) when is_map(map), do: gathered(Map.to_list(map), acc, fun)
  deftemplate gathered([], acc, fun), do: acc
  deftemplate gathered([{key, value} | rest], acc, fun), do: gathered(rest, fun.(key, value, acc), fun)

  deftemplate update_with(key, fun, map), do: Map.put(map, key, fun.(Map.fetch!(map, key)))
end
