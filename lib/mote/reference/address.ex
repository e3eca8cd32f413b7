defmodule Mote.Reference.Address do
  @moduledoc """
  The address of an actor of `Mote.Reference`, and of the actors that `Mote.Behaviour.turn/3` creates.

  For a behaviour it is an address and nothing else: `is_map/1` is false, and it sorts as a pid does.
  `id` is a number, or `{:customer, name}` for a customer outside of the simulation.
  """
  @enforce_keys [:id]
  defstruct [:id]

  @type t :: %__MODULE__{id: non_neg_integer | {:customer, term}}

  defimpl Inspect do
    def inspect(%{id: {:customer, name}}, opts),
      do: Inspect.Algebra.concat(["#Mote.Reference.Address<customer ", Inspect.inspect(name, opts), ">"])

    def inspect(%{id: id}, opts),
      do: Inspect.Algebra.concat(["#Mote.Reference.Address<", Inspect.inspect(id, opts), ">"])
  end
end
