defmodule Mote.Shared do
  @moduledoc """
  A value that a machine keeps once, for all actors and messages that refer to it: see `Mote.share/2`.

  An actor that captures it, or gets it in a message, sees the value itself. The machine keeps the value while this term or an
  actor refers to it. For another machine, and on another node, the term stands for a copy of the value.

  The fields are private, except for `value`, the term that was shared.
  """

  @enforce_keys [:machine, :key, :value]
  defstruct [:machine, :key, :value]

  @type t :: %__MODULE__{machine: reference, key: binary, value: term}

  defimpl Inspect do
    import Inspect.Algebra

    def inspect(%{value: value}, opts), do: concat(["#Mote.Shared<", to_doc(value, opts), ">"])
  end
end
