defmodule Mote.Prelude.Places do
  # Where patterns are in a text, and the functions of String that split and replace there. A pattern is a text, or a list
  # of texts, of which the longest counts where several match. Places are bytes.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Characters
  alias Mote.Prelude.Keyword, as: Pairs
  alias Mote.Prelude.Text

  # The first place, at `at` or behind it, where a text stands in another one; or nil.
  defpure found(text, "", at), do: if(at <= byte_size(text), do: at)
  defpure found(text, part, at), do: Mote.Total.binary_find(text, part, at)

  # The next place of a pattern with its size. No text of the pattern is empty.
  defpure next(text, part, at) when is_binary(part) do
    case found(text, part, at) do
      nil -> nil
      at -> {at, byte_size(part)}
    end
  end

  defpure next(text, parts, at) do
    case longest(text, parts, at, byte_size(text) - at, 0) do
      0 -> if at < byte_size(text), do: next(text, parts, at + 1)
      size -> {at, size}
    end
  end

  defpure longest(_, [], _, _, most), do: most

  defpure longest(text, [part | rest], at, room, most) do
    size = byte_size(part)

    if size > most and size <= room and binary_part(text, at, size) === part,
      do: longest(text, rest, at, room, size),
      else: longest(text, rest, at, room, most)
  end

  # The pattern, if it is one.
  defpure pattern(part) when is_binary(part) and part != "", do: part

  defpure pattern([_ | _] = parts),
    do: Enum.map(parts, fn part when is_binary(part) and part != "" -> part end)

  # -- split ---------------------------------------------------------------------------------------------------

  defpure split(text, pattern, options \\ []) when is_binary(text) and is_list(options) do
    trim = Pairs.get(options, :trim, false) == true
    most = most(Pairs.get(options, :parts, :infinity))

    case pattern do
      "" -> split_characters(text, most, trim)
      [] -> last_part(text, trim, [])
      part when is_binary(part) and most == 0 -> trimmed(Mote.Total.binary_split(text, part), trim)
      pattern -> cut(text, pattern(pattern), 0, most, trim, [])
    end
  end

  defpure trimmed(parts, false), do: parts
  defpure trimmed(parts, true), do: for(part when part != "" <- parts, do: part)

  # As many parts as there are: never the last one.
  defpure most(:infinity), do: 0
  defpure most(n) when is_integer(n) and n > 0, do: n

  defpure cut(text, _, from, 1, trim, done), do: last_part(from(text, from), trim, done)

  defpure cut(text, part, from, most, trim, done) when is_binary(part) do
    case Mote.Total.binary_find(text, part, from) do
      nil -> last_part(from(text, from), trim, done)
      ^from when trim -> cut(text, part, from + byte_size(part), most, trim, done)
      at -> cut(text, part, at + byte_size(part), most - 1, trim, [binary_part(text, from, at - from) | done])
    end
  end

  defpure cut(text, pattern, from, most, trim, done) do
    case next(text, pattern, from) do
      nil -> last_part(from(text, from), trim, done)
      {^from, size} when trim -> cut(text, pattern, from + size, most, trim, done)
      {at, size} -> cut(text, pattern, at + size, most - 1, trim, [binary_part(text, from, at - from) | done])
    end
  end

  defpure last_part("", true, done), do: Enum.reverse(done)
  defpure last_part(text, _, done), do: Enum.reverse([text | done])

  # Before the first character there is an empty part, and behind the last one.
  defpure split_characters(text, most, trim) when trim or most == 1,
    do: characters(Characters.graphemes(text), most, trim, [])

  defpure split_characters(text, most, trim),
    do: characters(Characters.graphemes(text), most - 1, trim, [""])

  defpure characters(rest, most, trim, done) when rest == [] or most == 1,
    do: last_part(Text.joined(rest, ""), trim, done)

  defpure characters([character | rest], most, trim, done),
    do: characters(rest, most - 1, trim, [character | done])

  defpure from(text, at), do: binary_part(text, at, byte_size(text) - at)

  # -- replace -------------------------------------------------------------------------------------------------

  # All places of a pattern, or the first one. The empty text is before each character, and behind the last one.
  defpure places(text, pattern, options) when is_binary(text) and is_list(options) do
    all = Pairs.get(options, :global, true)

    case pattern do
      [] -> []
      "" -> if all, do: between(Characters.graphemes(text), 0, []), else: [{0, 0}]
      pattern -> if all, do: all(text, pattern(pattern), 0, []), else: one(next(text, pattern(pattern), 0))
    end
  end

  defpure one(nil), do: []
  defpure one(place), do: [place]

  defpure all(text, pattern, from, places) do
    case next(text, pattern, from) do
      nil -> Enum.reverse(places)
      {at, size} -> all(text, pattern, at + size, [{at, size} | places])
    end
  end

  defpure between([], at, places), do: Enum.reverse([{at, 0} | places])

  defpure between([character | rest], at, places),
    do: between(rest, at + byte_size(character), [{at, 0} | places])

  defpure replace(text, pattern, new, options \\ []) when is_binary(new) do
    if is_binary(pattern) and pattern != "" and options == [],
      do: put_between(Mote.Total.binary_split(text, pattern), new),
      else: with_new(text, places(text, pattern, options), new, 0, [])
  end

  # Nothing is copied where there is nothing to replace.
  defpure put_between([text], _), do: text
  defpure put_between(parts, new), do: Text.joined(parts, new)

  defpure with_new(text, [], _, from, parts),
    do: Text.joined(Enum.reverse([from(text, from) | parts]), "")

  defpure with_new(text, [{at, size} | places], new, from, parts),
    do: with_new(text, places, new, at + size, [new, binary_part(text, from, at - from) | parts])

  defpure count(text, pattern), do: length(places(text, pattern, []))
end
