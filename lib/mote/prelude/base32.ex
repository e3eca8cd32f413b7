defmodule Mote.Prelude.Base32 do
  # Functions of Base: bytes as text of 32 characters, of both alphabets, and back. Five bytes are eight characters. Where the
  # last ones are fewer bytes, the text is as much shorter, or padded.
  @moduledoc false
  use Mote.Behaviour, import: [Base]

  require Mote.Prelude

  alias Mote.Prelude.Keyword, as: Pairs

  defpure decode32(text, options \\ []), do: data(text, :letters, options)
  defpure decode32!(text, options \\ []), do: elem(decode32(text, options), 1)
  defpure hex_decode32(text, options \\ []), do: data(text, :digits, options)
  defpure hex_decode32!(text, options \\ []), do: elem(hex_decode32(text, options), 1)
  defpure valid32?(text, options \\ []), do: decode32(text, options) != :error
  defpure hex_valid32?(text, options \\ []), do: hex_decode32(text, options) != :error

  # `first`: what the alphabet begins with.
  defpure data(text, first, options) when is_binary(text) do
    case = Pairs.get(options, :case, :upper)
    filled = rem(byte_size(text), 8) == 0
    size = if filled, do: unpadded(text, byte_size(text), 6), else: byte_size(text)
    padding = Pairs.get(options, :padding, true)

    if case in [:upper, :lower, :mixed] and rem(size, 8) in [0, 2, 4, 5, 7] and (filled or not padding),
      do: bytes(text, 0, size, first, case, 0, []),
      else: wrong(case)
  end

  defpure wrong(case) when case in [:upper, :lower, :mixed], do: :error

  # How much of a text is before its padding, which is of six characters at most.
  defpure unpadded(text, size, most) when most > 0 and size > 0 do
    if :binary.at(text, size - 1) == ?=, do: unpadded(text, size - 1, most - 1), else: size
  end

  defpure unpadded(_, size, _), do: size

  # Five bits of each character; of what is not eight of them, what is beyond whole bytes counts for nothing.
  defpure bytes(_, at, size, _, _, number, parts) when at == size do
    left = rem(size, 8)
    whole = for part <- Enum.reverse(parts), into: "", do: <<part::40>>
    filled = Integer.pow(32, 8 - left) * number
    {:ok, whole <> binary_part(<<filled::40>>, 0, div(left * 5, 8))}
  end

  defpure bytes(text, at, size, first, case, number, parts) do
    case number(first, case, :binary.at(text, at)) do
      nil -> :error
      n when rem(at, 8) == 7 -> bytes(text, at + 1, size, first, case, 0, [number * 32 + n | parts])
      n -> bytes(text, at + 1, size, first, case, number * 32 + n, parts)
    end
  end

  defpure number(:letters, case, c) when case != :lower and c in ?A..?Z, do: c - ?A
  defpure number(:letters, case, c) when case != :upper and c in ?a..?z, do: c - ?a
  defpure number(:letters, _, c) when c in ?2..?7, do: c - ?2 + 26
  defpure number(:digits, case, c) when case != :lower and c in ?A..?V, do: c - ?A + 10
  defpure number(:digits, case, c) when case != :upper and c in ?a..?v, do: c - ?a + 10
  defpure number(:digits, _, c) when c in ?0..?9, do: c - ?0
  defpure number(_, _, _), do: nil

  Mote.Prelude.released()
end
