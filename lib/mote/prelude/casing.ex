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

  defpure upcase(text) when is_binary(text), do: Text.joined(upper(text, 0, 0, []), [], "")
  defpure downcase(text) when is_binary(text), do: Text.joined(lower(text, 0, 0, []), [], "")

  defpure capitalize(<<c, rest::binary>>) when c in ?a..?z, do: <<c - 32>> <> downcase(rest)
  defpure capitalize(<<c::utf8, rest::binary>>), do: Map.get(@title, c, <<c::utf8>>) <> downcase(rest)
  defpure capitalize(<<byte, rest::binary>>), do: <<byte>> <> downcase(rest)
  defpure capitalize(""), do: ""

  # Parts of a text, each of which costs a binary: what stays as it is, however long, and eight letters at a time of what does not,
  # where all are of ASCII.
  defpure upper(text, from, at, done) when at == byte_size(text), do: Enum.reverse(part(text, from, at, done))

  defpure upper(text, from, at, done) do
    case :binary.at(text, at) do
      c when c in ?a..?z or c > 127 -> upper_more(rest(text, at), text, at, part(text, from, at, done))
      _ -> upper(text, from, at + 1, done)
    end
  end

  defpure upper_more(<<a, b, c, d, e, f, g, h, _::binary>>, text, at, done)
          when (a ||| b ||| c ||| d ||| e ||| f ||| g ||| h) < 128 do
    changed = <<up(a), up(b), up(c), up(d), up(e), up(f), up(g), up(h)>>
    upper(text, at + 8, at + 8, [changed | done])
  end

  defpure upper_more(<<c, _::binary>>, text, at, done) when c < 128,
    do: upper(text, at + 1, at + 1, [<<up(c)>> | done])

  defpure upper_more(<<c::utf8, _::binary>>, text, at, done) do
    same = <<c::utf8>>
    next = at + byte_size(same)
    upper(text, next, next, [Map.get(@upper, c, same) | done])
  end

  defpure upper_more(<<byte, _::binary>>, text, at, done), do: upper(text, at + 1, at + 1, [<<byte>> | done])

  defpure lower(text, from, at, done) when at == byte_size(text), do: Enum.reverse(part(text, from, at, done))

  defpure lower(text, from, at, done) do
    case :binary.at(text, at) do
      c when c in ?A..?Z or c > 127 -> lower_more(rest(text, at), text, at, part(text, from, at, done))
      _ -> lower(text, from, at + 1, done)
    end
  end

  defpure lower_more(<<a, b, c, d, e, f, g, h, _::binary>>, text, at, done)
          when (a ||| b ||| c ||| d ||| e ||| f ||| g ||| h) < 128 do
    changed = <<down(a), down(b), down(c), down(d), down(e), down(f), down(g), down(h)>>
    lower(text, at + 8, at + 8, [changed | done])
  end

  defpure lower_more(<<c, _::binary>>, text, at, done) when c < 128,
    do: lower(text, at + 1, at + 1, [<<down(c)>> | done])

  defpure lower_more(<<c::utf8, _::binary>>, text, at, done) do
    same = <<c::utf8>>
    next = at + byte_size(same)
    lower(text, next, next, [Map.get(@lower, c, same) | done])
  end

  defpure lower_more(<<byte, _::binary>>, text, at, done), do: lower(text, at + 1, at + 1, [<<byte>> | done])

  defpure up(c), do: if(c in ?a..?z, do: c - 32, else: c)
  defpure down(c), do: if(c in ?A..?Z, do: c + 32, else: c)

  defpure part(_, at, at, done), do: done
  defpure part(text, from, at, done), do: [binary_part(text, from, at - from) | done]

  defpure rest(text, at), do: binary_part(text, at, byte_size(text) - at)
end
