defmodule Mote.Library.Queue do
  # What waits, first in, first out, in the state of an actor: two lists, the second one reversed. Only for behaviours of
  # the library. An empty queue is the literal `{[], []}`.
  @moduledoc false

  use Mote.Behaviour

  @doc "With one more behind all others."
  defpure push({front, back}, item), do: {front, [item | back]}

  @doc "`{first, others}`, or `:empty`."
  defpure pop({[first | front], back}), do: {first, {front, back}}
  defpure pop({[], []}), do: :empty
  defpure pop({[], back}), do: pop({Enum.reverse(back), []})

  @doc "All of it, the first first."
  defpure to_list({front, back}), do: front ++ Enum.reverse(back)
end
