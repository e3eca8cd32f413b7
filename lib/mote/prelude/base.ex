defmodule Mote.Prelude.Base do
  # Functions of Base: bytes as text of 16 or 64 characters, and back.
  @moduledoc false
  use Mote.Behaviour, import: [Base]

  require Mote.Prelude

  alias Mote.Prelude.Keyword, as: Pairs

  # -- 16 ------------------------------------------------------------------------------------------------------

  defpure decode16(text, options \\ []) when is_binary(text) do
    case bytes16(text, letters(Pairs.get(options, :case, :upper)), 0, []) do
      :error -> :error
      bytes -> {:ok, for(byte <- bytes, into: "", do: <<byte>>)}
    end
  end

  defpure decode16!(text, options \\ []), do: elem(decode16(text, options), 1)

  defpure valid16?(text, options \\ []), do: decode16(text, options) != :error

  # Where the letters begin that are digits, of each case.
  defpure letters(:upper), do: {?A, nil}
  defpure letters(:lower), do: {nil, ?a}
  defpure letters(:mixed), do: {?A, ?a}

  defpure bytes16(text, _, at, bytes) when at == byte_size(text), do: Enum.reverse(bytes)
  defpure bytes16(text, _, at, _) when at + 1 == byte_size(text), do: :error

  defpure bytes16(text, letters, at, bytes) do
    case {digit(:binary.at(text, at), letters), digit(:binary.at(text, at + 1), letters)} do
      {a, b} when a != nil and b != nil -> bytes16(text, letters, at + 2, [a * 16 + b | bytes])
      _ -> :error
    end
  end

  defpure digit(c, _) when c in ?0..?9, do: c - ?0
  defpure digit(c, {first, _}) when first != nil and c >= first and c < first + 6, do: c - first + 10
  defpure digit(c, {_, first}) when first != nil and c >= first and c < first + 6, do: c - first + 10
  defpure digit(_, _), do: nil

  # -- 64 ------------------------------------------------------------------------------------------------------

  defpure decode64(text), do: data64(text, [], ?+, ?/)
  defpure decode64(text, options), do: data64(text, options, ?+, ?/)
  defpure decode64!(text), do: elem(decode64(text), 1)
  defpure decode64!(text, options), do: elem(decode64(text, options), 1)
  defpure url_decode64(text), do: data64(text, [], ?-, ?_)
  defpure url_decode64(text, options), do: data64(text, options, ?-, ?_)
  defpure url_decode64!(text), do: elem(url_decode64(text), 1)
  defpure url_decode64!(text, options), do: elem(url_decode64(text, options), 1)
  defpure valid64?(text), do: decode64(text) != :error
  defpure valid64?(text, options), do: decode64(text, options) != :error
  defpure url_valid64?(text), do: url_decode64(text) != :error
  defpure url_valid64?(text, options), do: url_decode64(text, options) != :error

  defpure data64(text, options, plus, slash) when is_binary(text) do
    text =
      case Pairs.get(options, :ignore) do
        nil -> text
        :whitespace -> for <<c <- text>>, c not in [?\s, ?\t, ?\n, ?\r], into: "", do: <<c>>
      end

    size = unpadded(text, byte_size(text))
    padded = rem(byte_size(text), 4) == 0

    if rem(size, 4) != 1 and
         (padded or (Pairs.get(options, :padding, true) == false and size == byte_size(text))),
       do: data(numbers(text, 0, size, plus, slash, []), rem(size, 4)),
       else: :error
  end

  # How much of a text is before its padding, which takes the place of one or two characters of the last four.
  defpure unpadded(text, size) do
    cond do
      rem(size, 4) != 0 or size == 0 -> size
      binary_part(text, size - 2, 2) == "==" -> size - 2
      binary_part(text, size - 1, 1) == "=" -> size - 1
      true -> size
    end
  end

  defpure data(:error, _), do: :error
  # What is beyond whole bytes counts for nothing.
  defpure data(numbers, 0), do: {:ok, bytes64(numbers, [], 0)}
  defpure data(numbers, 2), do: {:ok, bytes64(numbers, [0, 0], 2)}
  defpure data(numbers, 3), do: {:ok, bytes64(numbers, [0], 1)}

  defpure bytes64(numbers, more, extra) do
    data = fours(numbers ++ more, [])
    binary_part(data, 0, byte_size(data) - extra)
  end

  defpure fours([], parts), do: for(n <- Enum.reverse(parts), into: "", do: <<n::24>>)

  defpure fours([a, b, c, d | rest], parts),
    do: fours(rest, [a * 262_144 + b * 4096 + c * 64 + d | parts])

  defpure numbers(_, at, size, _, _, numbers) when at == size, do: Enum.reverse(numbers)

  defpure numbers(text, at, size, plus, slash, numbers) do
    case number(:binary.at(text, at), plus, slash) do
      nil -> :error
      n -> numbers(text, at + 1, size, plus, slash, [n | numbers])
    end
  end

  defpure number(c, _, _) when c in ?A..?Z, do: c - ?A
  defpure number(c, _, _) when c in ?a..?z, do: c - ?a + 26
  defpure number(c, _, _) when c in ?0..?9, do: c - ?0 + 52
  defpure number(c, plus, _) when c == plus, do: 62
  defpure number(c, _, slash) when c == slash, do: 63
  defpure number(_, _, _), do: nil

  Mote.Prelude.released()
end
