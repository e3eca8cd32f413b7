defmodule Mote.Prelude.Inline.Keyword do
  # Functions of Keyword that take functions, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  alias Mote.Prelude.Access
  alias Mote.Prelude.Keyword, as: Pairs

  # The first of the key's values is updated, the others go.
  deftemplate update(list, key, default, fun), do: updated(list, key, [{key, default}], [], fun)

  deftemplate updated([], key, missing, before, fun) when is_atom(key), do: Enum.reverse(before) ++ missing

  deftemplate updated([{k, value} | rest], key, missing, before, fun) do
    if k === key and is_atom(key),
      do: Enum.reverse(before) ++ [{k, fun.(value)} | Pairs.delete(rest, key)],
      else: updated(rest, key, missing, [{k, value} | before], fun)
  end

  deftemplate update!(list, key, fun) do
    Pairs.fetch!(list, key)
    updated(list, key, [], [], fun)
  end

  # -- choosing ------------------------------------------------------------------------------------------------

  # By a boolean, and nothing else that counts as true.
  deftemplate filter(list, fun), do: :lists.filter(fn pair -> fun.(pair) end, list)
  deftemplate reject(list, fun), do: :lists.filter(fn pair -> not fun.(pair) end, list)
  deftemplate split_with(list, fun), do: :lists.partition(fn pair -> fun.(pair) end, list)

  # -- one key -------------------------------------------------------------------------------------------------

  deftemplate get_lazy(list, key, fun) do
    case Pairs.fetch(list, key) do
      {:ok, value} -> value
      :error -> fun.()
    end
  end

  deftemplate put_new_lazy(list, key, fun),
    do: if(Pairs.has_key?(list, key), do: list, else: [{key, fun.()} | list])

  deftemplate replace_lazy(list, key, fun), do: updated(list, key, [], [], fun)

  deftemplate pop_lazy(list, key, fun) do
    case Pairs.fetch(list, key) do
      {:ok, value} -> {value, Pairs.delete(list, key)}
      :error -> {fun.(), list}
    end
  end

  deftemplate get_and_update(list, key, fun) when is_list(list) and is_atom(key) do
    case fun.(Pairs.get(list, key)) do
      {got, value} -> {got, Access.put(list, key, value)}
      :pop -> {Pairs.get(list, key), Pairs.popped(list, key, [])}
    end
  end

  deftemplate get_and_update!(list, key, fun) do
    value = Pairs.fetch!(list, key)

    case fun.(value) do
      {got, new} -> {got, Access.put(list, key, new)}
      :pop -> {value, Pairs.popped(list, key, [])}
    end
  end

  # -- two lists -----------------------------------------------------------------------------------------------

  # What only one of them has, in its order, and the keys of the second with what becomes of the values of both.
  deftemplate merge(a, b, fun) do
    Pairs.keys(a)
    Pairs.keys(b)
    merged(b, a, a, [], fun)
  end

  # `left` are the values of the first list that have met none of the second.
  deftemplate merged([], rest, _, done, fun), do: rest ++ Enum.reverse(done)

  deftemplate merged([{key, new} | others], rest, left, done, fun) do
    case Pairs.fetch(left, key) do
      {:ok, old} ->
        rest = Pairs.delete(rest, key)
        left = Pairs.delete_first(left, key)
        merged(others, rest, left, [{key, fun.(key, old, new)} | done], fun)

      :error ->
        merged(others, rest, left, [{key, new} | done], fun)
    end
  end

  deftemplate intersect(a, b, fun) when is_list(a) and is_list(b), do: common(a, b, [], fun)
  deftemplate common([], _, done, fun), do: Enum.reverse(done)

  deftemplate common([{key, old} | rest], b, done, fun) do
    case Pairs.fetch(b, key) do
      {:ok, new} -> common(rest, b, [{key, fun.(key, old, new)} | done], fun)
      :error -> common(rest, b, done, fun)
    end
  end

  deftemplate new(source, fun), do: Pairs.new(for(x <- Enum.to_list(source), do: fun.(x)))
end
