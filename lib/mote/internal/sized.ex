defmodule Mote.Internal.Sized do
  # Binary patterns with sizes from outside of the pattern, as every release of Elixir takes them: later ones
  # want such a size pinned and warn if it is not, earlier ones cannot parse the pin. The variant that this
  # release does not need is not compiled, so that the compiler cannot warn about code that is never reached.
  @moduledoc false

  @pinned Version.match?(System.version(), ">= 1.18.0")

  @doc "A pattern in which every size from outside is written `size(^name)`."
  if @pinned do
    defmacro sized(pattern), do: pattern
  else
    defmacro sized(pattern), do: Macro.prewalk(pattern, &without_pin/1)

    defp without_pin({:size, meta, [{:^, _, [size]}]}), do: {:size, meta, [size]}
    defp without_pin(other), do: other
  end
end
