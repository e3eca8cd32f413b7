defmodule Mote.Raised.Printed do
  # Terms as texts for messages and logs. Whatever the term is, writing it neither ends the process that does it nor
  # takes long.
  @moduledoc false

  alias Mote.Total.Integers

  @doc "Like `inspect/2`, even where the code of a struct exits or throws."
  @spec term(term, keyword) :: String.t()
  def term(term, opts \\ []) do
    opts = [inspect_fun: &leaf/2] ++ opts

    try do
      inspect(term, opts)
    catch
      _, _ -> inspect(term, [structs: false] ++ opts)
    end
  end

  # Writing out a large integer takes long, and nobody reads it.
  @shown 0x10000000000000000000000000000000000000000000000000000000000000000

  defp leaf(n, _opts) when is_integer(n) and (n >= @shown or n <= -@shown),
    do: "#Integer<#{if n < 0, do: "-"}2^#{64 * (Integers.limbs(n) - 1)}...>"

  defp leaf(term, opts), do: Inspect.inspect(term, opts)
end
