defmodule Mote.Prelude.Inline.Keyword do
  # Functions of Keyword that take functions, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  # The first of the key's values is updated, the others go.
  deftemplate update(list, key, default, fun), do: updated(list, key, default, [], fun)

  deftemplate updated([], key, default, before, fun) when is_atom(key),
    do: Enum.reverse([{key, default} | before])

  deftemplate updated([{k, value} | rest], key, default, before, fun) do
    if k === key and is_atom(key),
      do: Enum.reverse(before) ++ [{k, fun.(value)} | Mote.Prelude.Keyword.delete(rest, key)],
      else: updated(rest, key, default, [{k, value} | before], fun)
  end

  deftemplate update!(list, key, fun) do
    Mote.Prelude.Keyword.fetch!(list, key)
    updated(list, key, nil, [], fun)
  end
end
