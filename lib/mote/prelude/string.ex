defmodule Mote.Prelude.String do
  # Functions of String: those that are the same whether text is bytes or characters, by bytes; those of ASCII letters, which
  # leave all other characters as they are; and those that count characters.
  @moduledoc false
  use Mote.Behaviour, import: [String]

  require Mote.Prelude

  alias Mote.Prelude.{Characters, Places}

  defpure contains?(text, parts) when is_binary(text) and is_list(parts), do: any_part?(text, parts)
  defpure contains?(text, part), do: Places.found(text, part, 0) != nil

  defpure any_part?(_, []), do: false

  defpure any_part?(text, [part | rest]),
    do: if(Places.found(text, part, 0) != nil, do: true, else: any_part?(text, rest))

  defpure from(text, at), do: binary_part(text, at, byte_size(text) - at)

  # -- letters of ASCII ----------------------------------------------------------------------------------------

  defpure upcase(text, :ascii), do: changed(text, ?a, ?z, -32)
  defpure downcase(text, :ascii), do: changed(text, ?A, ?Z, 32)

  defpure changed(text, first, last, by) do
    Enum.join(for(<<c <- text>>, do: if(c >= first and c <= last, do: <<c + by>>, else: <<c>>)))
  end

  defpure capitalize("", :ascii), do: ""

  defpure capitalize(text, :ascii),
    do: upcase(binary_part(text, 0, 1), :ascii) <> downcase(from(text, 1), :ascii)

  # -- white space ---------------------------------------------------------------------------------------------

  defpure split(text), do: Mote.Total.binary_split(text, nil)

  defpure trim_leading(text), do: from(text, Characters.leading(text, 0))
  defpure trim_trailing(text), do: binary_part(text, 0, Characters.trailing(text, byte_size(text), 0))

  # -- characters ----------------------------------------------------------------------------------------------

  defpure graphemes(text), do: Characters.graphemes(text)
  defpure characters(text), do: Characters.count(text)

  defpure reverse(text) do
    case Mote.Total.text_changed(text, :reverse) do
      nil -> Enum.join(Characters.backwards(text))
      reversed -> reversed
    end
  end

  defpure at(text, index) when is_binary(text) and is_integer(index) do
    case counted(text, index) do
      nil -> nil
      index -> first(after_first(text, index))
    end
  end

  defpure first(text) do
    case next_grapheme(text) do
      nil -> nil
      {character, _} -> character
    end
  end

  defpure last(text), do: at(text, -1)

  defpure slice(text, start, amount)
          when is_binary(text) and is_integer(start) and is_integer(amount) and amount >= 0 do
    first_of(after_first(text, counted(text, start) || 0), amount)
  end

  # A place that is counted from the end, from the beginning; nil before that.
  defpure counted(_, index) when index >= 0, do: index

  defpure counted(text, index) do
    case characters(text) + index do
      index when index >= 0 -> index
      _ -> nil
    end
  end

  defpure after_first(text, n) do
    {to, _} = Characters.skip(text, n)
    from(text, to)
  end

  defpure first_of(text, n) do
    {to, _} = Characters.skip(text, n)
    binary_part(text, 0, to)
  end

  defpure slice(text, first..last//step), do: slice_range(text, first, last, step)

  defpure slice_range(text, first, last, step \\ 1),
    do: Enum.join(Mote.Prelude.Enum.slice_range(graphemes(text), first, last, step))

  defpure charlist(text), do: Mote.Total.binary_list(text, :utf8)
  defpure codepoints(text), do: Mote.Total.binary_split(text, "")

  # -- more of bytes and characters ----------------------------------------------------------------------------

  defpure split_at(text, n) when is_binary(text) and is_integer(n) do
    {to, _} = Characters.skip(text, counted(text, n) || 0)
    {binary_part(text, 0, to), from(text, to)}
  end

  defpure next_grapheme(text) do
    {size, _} = Characters.skip(text, 1)
    if size > 0, do: {binary_part(text, 0, size), from(text, size)}
  end

  defpure next_grapheme_size(text) do
    {size, _} = Characters.skip(text, 1)
    if size > 0, do: {size, from(text, size)}
  end

  defpure valid?(text, algorithm) when algorithm in [:default, :fast_ascii], do: valid?(text)

  defpure valid?(text) do
    {bytes, _} = Mote.Total.text_run(text, :utf8, byte_size(text))
    bytes == byte_size(text)
  end

  # -- text that is cut off within a code point ------------------------------------------------------------------

  defpure replace_invalid(text, new \\ "\uFFFD") when is_binary(text) and is_binary(new),
    do: Enum.join(replaced(text, new, []))

  defpure replaced("", _, done), do: Enum.reverse(done)
  defpure replaced(<<c::utf8, rest::binary>>, new, done), do: replaced(rest, new, [<<c::utf8>> | done])
  defpure replaced(text, new, done), do: replaced(from(text, cut_off(text)), new, [new | done])

  # How many bytes at the beginning stand for one that is not there: all that there are of a code point that is cut off.
  defpure cut_off(<<a, b, c, rest::binary>>) when a in 0xF0..0xF4 and c in 0x80..0xBF do
    if second?(a, b) and not following?(rest), do: 3, else: 1
  end

  defpure cut_off(<<a, b, rest::binary>>) when a in 0xE0..0xF4,
    do: if(second?(a, b) and not following?(rest), do: 2, else: 1)

  defpure cut_off(_), do: 1

  # What may follow the first byte: no code point is longer than need be, is a surrogate, or is greater than 0x10FFFF.
  defpure second?(0xE0, b), do: b in 0xA0..0xBF
  defpure second?(0xED, b), do: b in 0x80..0x9F
  defpure second?(0xF0, b), do: b in 0x90..0xBF
  defpure second?(0xF4, b), do: b in 0x80..0x8F
  defpure second?(_, b), do: b in 0x80..0xBF

  defpure following?(<<byte, _::binary>>), do: byte in 0x80..0xBF
  defpure following?(""), do: false

  defpure byte_slice(text, start, size)
          when is_binary(text) and is_integer(start) and is_integer(size) and size >= 0 do
    total = byte_size(text)
    start = if start < 0, do: max(total + start, 0), else: start
    if start < total, do: whole(without_following(from(text, start)), size), else: ""
  end

  defpure without_following(<<byte, rest::binary>>) when byte in 0x80..0xBF, do: without_following(rest)
  defpure without_following(text), do: text

  defpure whole(text, size), do: binary_part(text, 0, last_whole(text, min(size, byte_size(text)) - 1, 0))

  # Where the last code point ends that is there as a whole, `following` bytes before the end.
  defpure last_whole(_, -1, _), do: 0

  defpure last_whole(text, at, following) do
    case :binary.at(text, at) do
      byte when byte in 0x80..0xBF -> last_whole(text, at - 1, following + 1)
      byte when byte in 0xC0..0xDF and following != 1 -> at
      byte when byte in 0xE0..0xEF and following != 2 -> at
      byte when byte in 0xF0..0xF7 and following != 3 -> at
      byte when byte in 0xC0..0xF7 -> at + following + 1
      _ -> at + 1
    end
  end

  Mote.Prelude.released()
end
