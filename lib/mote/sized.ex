defmodule Mote.Sized do
  # Binary patterns with sizes from outside of the pattern, as every release of Elixir takes them: later ones want such a size
  # pinned and warn of one that is not, earlier ones cannot read the pin.
  @moduledoc false

  @pinned Version.match?(System.version(), ">= 1.18.0")

  @doc "A pattern in which every size from outside is written `size(^name)`."
  defmacro sized(pattern) do
    if @pinned, do: pattern, else: Macro.prewalk(pattern, &without_pin/1)
  end

  defp without_pin({:size, meta, [{:^, _, [size]}]}), do: {:size, meta, [size]}
  defp without_pin(other), do: other

  @doc "A size that a variable from outside has, for programs that generate patterns."
  @spec outer(Macro.t()) :: Macro.t()
  def outer(variable), do: if(@pinned, do: {:^, [generated: true], [variable]}, else: variable)
end
