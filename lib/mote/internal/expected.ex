defmodule Mote.Internal.Expected do
  # The error for an argument that is not what a function takes. A macro, so that the function itself raises it.
  @moduledoc false

  @doc "Raises `ArgumentError`: what was expected, and what there was."
  defmacro expected!(what, got) do
    quote do: raise(ArgumentError, "expected " <> unquote(what) <> ", got: " <> inspect(unquote(got)))
  end
end
