defmodule Mote.Prelude.Characters do
  # Characters as people count them, and white space: what functions of String are made of.
  #
  # Which code points make one character together is a matter of Unicode's tables, which are not here. Those of `alone` stand for
  # themselves beside each other: Latin, Greek, Cyrillic, Armenian, kana, Chinese and Korean characters, punctuation and symbols. A
  # text with others (marks that combine, emoji, scripts whose vowels are marks) aborts the turn, rather than being counted wrongly.
  @moduledoc false
  use Mote.Behaviour

  defguardp alone(c)
            when c < 0x300 or c in 0x370..0x482 or c in 0x48A..0x590 or c in 0x1E00..0x1FFF or
                   c in 0x2000..0x200A or c in 0x2010..0x2027 or c in 0x2030..0x205F or c in 0x20A0..0x20C0 or
                   c in 0x2100..0x23FF or c in 0x2500..0x26FF or c in 0x3000..0x3029 or c in 0x3041..0x3096 or
                   c in 0x309D..0x30FF or c in 0x4E00..0x9FFF or c in 0xAC00..0xD7A3

  defpure graphemes(text), do: graphemes(text, [])

  defpure graphemes("", done), do: Enum.reverse(done)
  defpure graphemes(<<?\r, ?\n, rest::binary>>, done), do: graphemes(rest, ["\r\n" | done])
  defpure graphemes(<<c::utf8, rest::binary>>, done) when alone(c), do: graphemes(rest, [<<c::utf8>> | done])
  defpure graphemes(<<c::utf8, _::binary>>, _), do: abort({:unsupported_character, <<c::utf8>>})
  defpure graphemes(<<byte, rest::binary>>, done), do: graphemes(rest, [<<byte>> | done])

  # -- white space ---------------------------------------------------------------------------------------------

  defguardp white(c)
            when c in 9..13 or c in [0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000] or
                   c in 0x2000..0x200A

  # Where a line may break there.
  defguardp breaks(c) when white(c) and c not in [0xA0, 0x2007, 0x202F]

  # Where something other than white space begins.
  defpure leading(text, at) do
    case binary_part(text, at, byte_size(text) - at) do
      <<c::utf8, _::binary>> when white(c) -> leading(text, at + byte_size(<<c::utf8>>))
      _ -> at
    end
  end

  # Where it ends, not before `first`; `at` goes from the end to the front, a character at a time.
  defpure trailing(text, at, first) do
    start = start(text, at - 1, first)

    case start >= first and binary_part(text, start, at - start) do
      <<c::utf8>> when white(c) -> trailing(text, start, first)
      _ -> at
    end
  end

  # Where the character starts that ends there.
  defpure start(text, at, first) do
    if at > first and :binary.at(text, at) in 0x80..0xBF, do: start(text, at - 1, first), else: at
  end

  # What is between breaks: `from` is where the last one has ended.
  defpure words(text, from, at, done) do
    case binary_part(text, at, byte_size(text) - at) do
      "" -> Enum.reverse(word(text, from, at, done))
      <<c::utf8, _::binary>> when breaks(c) -> after_word(text, from, at, byte_size(<<c::utf8>>), done)
      _ -> words(text, from, at + 1, done)
    end
  end

  defpure after_word(text, from, at, size, done),
    do: words(text, at + size, at + size, word(text, from, at, done))

  defpure word(_, from, from, done), do: done
  defpure word(text, from, at, done), do: [binary_part(text, from, at - from) | done]

  # -- one character -------------------------------------------------------------------------------------------

  # The bytes of the first character; nil of an empty text. What follows it must stand for itself, too.
  defpure next(""), do: nil
  defpure next(<<?\r, ?\n, rest::binary>>), do: bounded(2, rest)
  defpure next(<<c::utf8, rest::binary>>) when alone(c), do: bounded(byte_size(<<c::utf8>>), rest)
  defpure next(<<c::utf8, _::binary>>), do: abort({:unsupported_character, <<c::utf8>>})
  defpure next(<<_, _::binary>>), do: 1

  defpure bounded(_, <<c::utf8, _::binary>>) when not alone(c),
    do: abort({:unsupported_character, <<c::utf8>>})

  defpure bounded(size, _), do: size
end
