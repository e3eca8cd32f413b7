defmodule Mote.Library.Queue do
  # A first in, first out queue in the state of an actor. Only for behaviours of the library.
  #
  # An empty queue is `nil`, so that finding nothing waiting costs nothing; any other is two lists, the second
  # one reversed and the first one never empty.
  @moduledoc false

  use Mote.Behaviour

  @doc "With one more behind all others."
  defpure push(nil, item), do: {[item], []}
  defpure push({front, back}, item), do: {front, [item | back]}

  @doc "`{first, others}`, or `:empty`."
  defpure pop(nil), do: :empty
  defpure pop({[first], []}), do: {first, nil}
  defpure pop({[first], back}), do: {first, {Enum.reverse(back), []}}
  defpure pop({[first | front], back}), do: {first, {front, back}}

  @doc "All of it, oldest first."
  defpure to_list(nil), do: []
  defpure to_list({front, back}), do: front ++ Enum.reverse(back)

  @doc "A queue of a list, whose first element is the oldest."
  defpure new([]), do: nil
  defpure new(list), do: {list, []}
end
