defmodule Mote.Prelude.Kernel do
  # Functions of Kernel that are no primitives, by other names: nobody is to confuse them with those.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Access
  alias Mote.Prelude.Integer, as: Whole
  alias Mote.Prelude.Keyword, as: Pairs

  defpure inside(container, [key]), do: Access.get(container, key)
  defpure inside(container, [key | rest]), do: inside(Access.get(container, key), rest)

  defpure put_inside(container, [key], value), do: put(container, key, value)

  defpure put_inside(container, [key | rest], value),
    do: put(container, key, put_inside(Access.get(container, key), rest, value))

  defpure put(map, key, value) when is_map(map) and not is_map_key(map, :__struct__),
    do: Map.put(map, key, value)

  # The first of the key's values is replaced, and the others stay; later releases of Elixir drop those. What is no keyword
  # list has no keys, and aborts.
  defpure put(list, key, value) when is_list(list) and is_atom(key) do
    if key in Pairs.keys(list), do: List.keyreplace(list, key, 0, {key, value}), else: [{key, value} | list]
  end

  defpure power(base, exponent) when is_integer(base) and is_integer(exponent) and exponent >= 0,
    do: Whole.pow(base, exponent)

  defpure power(base, exponent), do: :math.pow(base, exponent)
end
