defmodule Mote.Prelude.Base do
  # Functions of Base: those that not all releases have.
  @moduledoc false
  use Mote.Behaviour, import: [Base]

  require Mote.Prelude

  defpure valid16?(text, options \\ []), do: Base.decode16(text, options) != :error
  defpure valid64?(text, options \\ []), do: Base.decode64(text, options) != :error
  defpure url_valid64?(text, options \\ []), do: Base.url_decode64(text, options) != :error

  Mote.Prelude.released()
end
