defmodule Mote.Reference.On do
  @moduledoc """
  What `on(sponsor, address)` is in plain Elixir: an address that carries its sponsor.

  For a behaviour it is an address and nothing else.
  """
  @enforce_keys [:sponsor, :address]
  defstruct [:sponsor, :address]

  @type t :: %__MODULE__{sponsor: atom, address: Mote.Reference.Address.t()}
end
