defmodule Mote.Prelude.Base32 do
  # Functions of Base for 32 characters: a unit of their own, so that nobody loads these who wants the others.
  @moduledoc false
  use Mote.Behaviour, import: [Base]

  require Mote.Prelude

  defpure valid32?(text, options \\ []), do: Base.decode32(text, options) != :error
  defpure hex_valid32?(text, options \\ []), do: Base.hex_decode32(text, options) != :error

  Mote.Prelude.released()
end
