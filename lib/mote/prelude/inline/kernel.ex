defmodule Mote.Prelude.Inline.Kernel do
  # `update_in` and `get_and_update_in` with a list of keys, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate update_in(container, keys, fun), do: updated(container, keys, fun)

  deftemplate updated(container, [key], fun),
    do: Mote.Prelude.Access.put(container, key, fun.(Mote.Prelude.Access.get(container, key)))

  deftemplate updated(container, [key | rest], fun) do
    new = updated(Mote.Prelude.Access.get(container, key), rest, fun)
    Mote.Prelude.Access.put(container, key, new)
  end

  deftemplate get_and_update_in(container, keys, fun), do: both(container, keys, fun)

  deftemplate both(container, [key], fun) do
    case fun.(Mote.Prelude.Access.get(container, key)) do
      {got, new} -> {got, Mote.Prelude.Access.put(container, key, new)}
      :pop -> Mote.Prelude.Access.pop(container, key)
    end
  end

  deftemplate both(container, [key | rest], fun) do
    {got, new} = both(Mote.Prelude.Access.get(container, key), rest, fun)
    {got, Mote.Prelude.Access.put(container, key, new)}
  end
end
