defmodule Mote.Prelude.Inline.Keyword do
  # Functions of Keyword that take functions, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  alias Mote.Prelude.Access
  alias Mote.Prelude.Keyword, as: Pairs

  # The first of the key's values is updated, the others go.
  deftemplate update(list, key, default, fun), do: updated(list, key, default, [], fun)

  deftemplate updated([], key, default, before, fun) when is_atom(key),
    do: Enum.reverse([{key, default} | before])

  deftemplate updated([{k, value} | rest], key, default, before, fun) do
    if k === key and is_atom(key),
      do: Enum.reverse(before) ++ [{k, fun.(value)} | Pairs.delete(rest, key)],
      else: updated(rest, key, default, [{k, value} | before], fun)
  end

  deftemplate update!(list, key, fun) do
    Pairs.fetch!(list, key)
    updated(list, key, nil, [], fun)
  end

  # -- choosing ------------------------------------------------------------------------------------------------

  # By a boolean, and nothing else that counts as true.
  deftemplate filter(list, fun) when is_list(list), do: elem(parted(list, [], [], fun), 0)
  deftemplate reject(list, fun) when is_list(list), do: elem(parted(list, [], [], fun), 1)
  deftemplate split_with(list, fun) when is_list(list), do: parted(list, [], [], fun)

  deftemplate parted([], yes, no, fun), do: {Enum.reverse(yes), Enum.reverse(no)}

  deftemplate parted([x | rest], yes, no, fun) do
    case fun.(x) do
      true -> parted(rest, [x | yes], no, fun)
      false -> parted(rest, yes, [x | no], fun)
    end
  end

  # -- one key -------------------------------------------------------------------------------------------------

  deftemplate get_lazy(list, key, fun) do
    case Pairs.fetch(list, key) do
      {:ok, value} -> value
      :error -> fun.()
    end
  end

  deftemplate put_new_lazy(list, key, fun),
    do: if(Pairs.has_key?(list, key), do: list, else: [{key, fun.()} | list])

  deftemplate replace_lazy(list, key, fun) when is_list(list) and is_atom(key),
    do: replaced(list, key, [], fun)

  deftemplate replaced([], key, before, fun), do: Enum.reverse(before)

  deftemplate replaced([{k, value} | rest], key, before, fun) do
    if k === key,
      do: Enum.reverse(before) ++ [{k, fun.(value)} | Pairs.delete(rest, key)],
      else: replaced(rest, key, [{k, value} | before], fun)
  end

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
      {got, new} -> {got, Pairs.with_first(list, key, new)}
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

  deftemplate new(source, fun), do: made(Enum.to_list(source), [], fun)
  deftemplate made([], pairs, fun), do: Pairs.new(Enum.reverse(pairs))
  deftemplate made([x | rest], pairs, fun), do: made(rest, [fun.(x) | pairs], fun)
end
