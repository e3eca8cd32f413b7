defmodule Mote.Prelude.Casing do
  # Upper and lower case of all letters. The tables are made of what Elixir's own functions say of each code point, so they are
  # those of the release of Elixir that compiles this. They take a few hundred kilobytes of a machine: only what calls
  # these functions has them loaded.
  @moduledoc false
  use Mote.Behaviour

  import Bitwise
  alias Mote.Prelude.Text

  # Of the others, a code point is what it was.
  table = fn change ->
    for c <- Enum.concat(128..0xD7FF, 0xE000..0x1FFFF),
        text = <<c::utf8>>,
        changed = change.(text),
        changed != text,
        into: %{} do
      {c, changed}
    end
  end

  @upper table.(&String.upcase/1)
  @lower table.(&String.downcase/1)
  @title table.(&String.capitalize/1)

  defpure upcase(text) when is_binary(text),
    do: changed(text, Mote.Total.text_changed(text, :upcase), ?a, -32)

  defpure downcase(text) when is_binary(text),
    do: changed(text, Mote.Total.text_changed(text, :downcase), ?A, 32)

  defpure changed(text, nil, a, by), do: parts(text, a, by)
  defpure changed(_, changed, _, _), do: changed

  defpure capitalize(<<c, rest::binary>>) when c in ?a..?z, do: <<c - 32>> <> downcase(rest)
  defpure capitalize(<<c::utf8, rest::binary>>), do: Map.get(@title, c, <<c::utf8>>) <> downcase(rest)
  defpure capitalize(<<byte, rest::binary>>), do: <<byte>> <> downcase(rest)
  defpure capitalize(""), do: ""

  # -- by a mode that is calculated, or with other letters -------------------------------------------------------

  # With `:greek` a sigma at the end of a word is another one: which one that is takes tables of letters and marks.
  defpure upcase("", _), do: ""
  defpure upcase(text, :ascii), do: String.upcase(text, :ascii)
  defpure upcase(text, :turkic), do: upcase(String.replace(text, "i", "İ"))
  defpure upcase(text, mode) when mode in [:default, :greek], do: upcase(text)

  defpure downcase("", _), do: ""
  defpure downcase(text, :ascii), do: String.downcase(text, :ascii)
  defpure downcase(text, :default), do: downcase(text)

  defpure downcase(text, :turkic) do
    dotted = String.replace(text, ["I\u0307", "İ"], "i")
    downcase(String.replace(dotted, "I", "ı"))
  end

  defpure capitalize("", _), do: ""
  defpure capitalize(text, :ascii), do: String.capitalize(text, :ascii)
  defpure capitalize(text, :default), do: capitalize(text)
  defpure capitalize(<<?i, rest::binary>>, :turkic), do: "İ" <> downcase(rest, :turkic)

  defpure capitalize(<<c::utf8, rest::binary>>, :turkic),
    do: capitalize(<<c::utf8>>) <> downcase(rest, :turkic)

  defpure capitalize(<<byte, rest::binary>>, :turkic), do: <<byte>> <> downcase(rest, :turkic)

  # -- the work --------------------------------------------------------------------------------------------------

  # Parts of a text, each of which costs a binary: what stays as it is, however long, and eight letters at a time of what does not,
  # where all are of ASCII. `a` is the first of the letters that change, and `by` how far they are from what they become.
  defpure parts(text, a, by), do: Text.joined(parts(text, a, by, 0, 0, []), "")

  defpure parts(text, _, _, from, at, done) when at == byte_size(text),
    do: Enum.reverse(part(text, from, at, done))

  defpure parts(text, a, by, from, at, done) do
    c = :binary.at(text, at)

    if c > 127 or (c >= a and c <= a + 25),
      do: changing(rest(text, at), a, by, text, at, part(text, from, at, done)),
      else: parts(text, a, by, from, at + 1, done)
  end

  defpure changing(<<c, d, e, f, g, h, i, j, _::binary>>, a, by, text, at, done)
          when (c ||| d ||| e ||| f ||| g ||| h ||| i ||| j) < 128 do
    changed =
      <<ascii(c, a, by), ascii(d, a, by), ascii(e, a, by), ascii(f, a, by), ascii(g, a, by), ascii(h, a, by),
        ascii(i, a, by), ascii(j, a, by)>>

    parts(text, a, by, at + 8, at + 8, [changed | done])
  end

  defpure changing(<<c, _::binary>>, a, by, text, at, done) when c < 128,
    do: parts(text, a, by, at + 1, at + 1, [<<ascii(c, a, by)>> | done])

  defpure changing(<<c::utf8, _::binary>>, a, by, text, at, done) do
    same = <<c::utf8>>
    next = at + byte_size(same)
    parts(text, a, by, next, next, [other(c, a, same) | done])
  end

  defpure changing(<<byte, _::binary>>, a, by, text, at, done),
    do: parts(text, a, by, at + 1, at + 1, [<<byte>> | done])

  defpure ascii(c, a, by), do: if(c >= a and c <= a + 25, do: c + by, else: c)

  defpure other(c, ?a, same), do: Map.get(@upper, c, same)
  defpure other(c, ?A, same), do: Map.get(@lower, c, same)

  defpure part(_, at, at, done), do: done
  defpure part(text, from, at, done), do: [binary_part(text, from, at - from) | done]

  defpure rest(text, at), do: binary_part(text, at, byte_size(text) - at)
end
