defmodule Mote.Prelude.Inline.Kernel do
  # `update_in` and `get_and_update_in` with a list of keys, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  alias Mote.Prelude.Access

  deftemplate update_in(container, keys, fun), do: updated(container, keys, fun)

  deftemplate updated(container, [key], fun) when not is_function(key),
    do: Access.put(container, key, fun.(Access.held(container, key)))

  deftemplate updated(container, [key | rest], fun) when not is_function(key) do
    new = updated(Access.held(container, key), rest, fun)
    Access.put(container, key, new)
  end

  deftemplate get_and_update_in(container, keys, fun), do: both(container, keys, fun)

  deftemplate both(container, [key], fun) when not is_function(key) do
    case fun.(Access.held(container, key)) do
      {got, new} -> {got, Access.put(container, key, new)}
      :pop -> Access.popped(container, key)
    end
  end

  deftemplate both(container, [key | rest], fun) when not is_function(key) do
    {got, new} = both(Access.held(container, key), rest, fun)
    {got, Access.put(container, key, new)}
  end
end
