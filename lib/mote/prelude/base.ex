defmodule Mote.Prelude.Base do
  # Functions of Base: text of 16, 32 or 64 characters as bytes. The other way is Elixir's own.
  @moduledoc false
  use Mote.Behaviour, import: [Base]

  require Mote.Prelude

  alias Mote.Prelude.Keyword, as: Pairs

  @digits "0123456789"
  @upper "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
  @lower "abcdefghijklmnopqrstuvwxyz"

  # What each byte stands for, or nil.
  table = fn alphabets ->
    values = for text <- alphabets, {c, n} <- Enum.with_index(to_charlist(text)), into: %{}, do: {c, n}
    List.to_tuple(for byte <- 0..255, do: values[byte])
  end

  tables = fn alphabet ->
    for {letters, all} <- [upper: [@upper], lower: [@lower], mixed: [@upper, @lower]],
        into: %{},
        do: {letters, table.(Enum.map(all, alphabet))}
  end

  @base16 tables.(&(@digits <> binary_part(&1, 0, 6)))
  @base32 tables.(&(&1 <> "234567"))
  @hex32 tables.(&(@digits <> binary_part(&1, 0, 22)))
  @base64 table.([@upper <> @lower <> @digits <> "+/"])
  @url64 table.([@upper <> @lower <> @digits <> "-_"])

  defpure decode16(text, options \\ []), do: of_letters(text, {4, 2}, @base16, options)
  defpure decode32(text, options \\ []), do: of_letters(text, {5, 8}, @base32, options)
  defpure hex_decode32(text, options \\ []), do: of_letters(text, {5, 8}, @hex32, options)
  defpure decode64(text, options \\ []), do: bytes(without_space(text, options), {6, 4}, @base64, options)
  defpure url_decode64(text, options \\ []), do: bytes(without_space(text, options), {6, 4}, @url64, options)

  defpure decode16!(text, options \\ []), do: elem(decode16(text, options), 1)
  defpure decode32!(text, options \\ []), do: elem(decode32(text, options), 1)
  defpure hex_decode32!(text, options \\ []), do: elem(hex_decode32(text, options), 1)
  defpure decode64!(text, options \\ []), do: elem(decode64(text, options), 1)
  defpure url_decode64!(text, options \\ []), do: elem(url_decode64(text, options), 1)

  defpure valid16?(text, options \\ []), do: decode16(text, options) != :error
  defpure valid32?(text, options \\ []), do: decode32(text, options) != :error
  defpure hex_valid32?(text, options \\ []), do: hex_decode32(text, options) != :error
  defpure valid64?(text, options \\ []), do: decode64(text, options) != :error
  defpure url_valid64?(text, options \\ []), do: url_decode64(text, options) != :error

  defpurep of_letters(text, shape, tables, options),
    do: bytes(text, shape, Map.fetch!(tables, Pairs.get(options, :case, :upper)), options)

  defpurep without_space(text, options) do
    case Pairs.get(options, :ignore) do
      nil -> text
      :whitespace -> for <<c <- text>>, c not in [?\s, ?\t, ?\n, ?\r], into: "", do: <<c>>
    end
  end

  # A character has `bits`, and a `group` of them is whole bytes. The last ones may be fewer, with padding or where there need be
  # none: then no character is more than it takes to have another byte.
  defpurep bytes(text, {bits, group} = shape, table, options) when is_binary(text) do
    filled = rem(byte_size(text), group) == 0
    size = if filled, do: unpadded(text, byte_size(text), group - 2), else: byte_size(text)

    if rem(rem(size, group) * bits, 8) < bits and (filled or not Pairs.get(options, :padding, true)),
      do: bytes(text, 0, size, shape, table, 0, []),
      else: :error
  end

  # How much of a text is before its padding, which is of so many characters at most.
  defpurep unpadded(text, size, most) when most > 0 and size > 0 do
    if :binary.at(text, size - 1) == ?=, do: unpadded(text, size - 1, most - 1), else: size
  end

  defpurep unpadded(_, size, _), do: size

  # What is beyond whole bytes counts for nothing.
  defpurep bytes(_, at, size, {bits, group}, _, number, parts) when at == size do
    left = rem(size, group)
    last = joined([Bitwise.bsl(number, bits * (group - left))], bits)
    {:ok, joined(Enum.reverse(parts), bits) <> binary_part(last, 0, div(left * bits, 8))}
  end

  defpurep bytes(text, at, size, {bits, group} = shape, table, number, parts) do
    case elem(table, :binary.at(text, at)) do
      nil ->
        :error

      n ->
        number = Bitwise.bsl(number, bits) + n

        if rem(at + 1, group) == 0,
          do: bytes(text, at + 1, size, shape, table, 0, [number | parts]),
          else: bytes(text, at + 1, size, shape, table, number, parts)
    end
  end

  defpurep joined(parts, 4), do: for(part <- parts, into: "", do: <<part>>)
  defpurep joined(parts, 5), do: for(part <- parts, into: "", do: <<part::40>>)
  defpurep joined(parts, 6), do: for(part <- parts, into: "", do: <<part::24>>)

  Mote.Prelude.released()
end
