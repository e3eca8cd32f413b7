defmodule Mote.Prelude.Kernel do
  # Functions of Kernel that are no primitives, by other names: nobody is to confuse them with those.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Access
  alias Mote.Prelude.Integer, as: Whole

  defpure inside(container, [key]), do: Access.get(container, key)
  defpure inside(container, [key | rest]), do: inside(Access.get(container, key), rest)

  defpure put_inside(map, [key], value) when is_map(map), do: Map.put(map, key, value)

  defpure put_inside(map, [key | rest], value) when is_map(map),
    do: Map.put(map, key, put_inside(Access.get(map, key), rest, value))

  defpure power(base, exponent) when is_integer(base) and is_integer(exponent), do: Whole.pow(base, exponent)
  defpure power(base, exponent), do: :math.pow(base, exponent)
end
