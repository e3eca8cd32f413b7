defmodule Mote.Prelude.Tuple do
  # Functions of Tuple, as far as they are no primitives.
  @moduledoc false
  use Mote.Behaviour, import: [Tuple]

  require Mote.Prelude

  defpure append(tuple, x), do: List.to_tuple(Tuple.to_list(tuple) ++ [x])

  # Of :erlang, which counts from one: Elixir's compiler puts them in place of functions of Tuple.
  defpure delete_element(i, tuple) when i in 1..tuple_size(tuple)//1,
    do: List.to_tuple(List.delete_at(Tuple.to_list(tuple), i - 1))

  defpure insert_element(i, tuple, x) when i in 1..(tuple_size(tuple) + 1)//1,
    do: List.to_tuple(List.insert_at(Tuple.to_list(tuple), i - 1, x))

  defpure make_tuple(n, x), do: List.to_tuple(List.duplicate(x, n))

  Mote.Prelude.released()
end
