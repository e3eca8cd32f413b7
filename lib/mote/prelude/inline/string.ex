defmodule Mote.Prelude.Inline.String do
  # `String.replace` with a function, as templates.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate replace(text, pattern, fun),
    do: replaced(text, Mote.Prelude.Places.places(text, pattern, []), 0, [], fun)

  deftemplate replace(text, pattern, fun, options),
    do: replaced(text, Mote.Prelude.Places.places(text, pattern, options), 0, [], fun)

  deftemplate replaced(text, [], from, parts, fun) do
    rest = binary_part(text, from, byte_size(text) - from)
    Mote.Prelude.Text.of_iodata(Enum.reverse([rest | parts]))
  end

  deftemplate replaced(text, [{at, size} | places], from, parts, fun) do
    new = fun.(binary_part(text, at, size))
    replaced(text, places, at + size, [new, binary_part(text, from, at - from) | parts], fun)
  end
end
