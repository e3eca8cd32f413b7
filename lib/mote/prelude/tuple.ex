defmodule Mote.Prelude.Tuple do
  # Functions of Tuple, as far as they are no primitives.
  @moduledoc false
  use Mote.Behaviour, import: [Tuple]

  require Mote.Prelude

  defpure append(tuple, x), do: List.to_tuple(Tuple.to_list(tuple) ++ [x])

  defpure delete_at(tuple, i) when i in 0..(tuple_size(tuple) - 1)//1,
    do: List.to_tuple(List.delete_at(Tuple.to_list(tuple), i))

  defpure insert_at(tuple, i, x) when i in 0..tuple_size(tuple)//1,
    do: List.to_tuple(List.insert_at(Tuple.to_list(tuple), i, x))

  defpure duplicate(x, n), do: List.to_tuple(List.duplicate(x, n))

  Mote.Prelude.released()
end
