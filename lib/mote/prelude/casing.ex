defmodule Mote.Prelude.Casing do
  # Upper and lower case of all letters. The tables are made of what Elixir's own functions say of each code point, so they are
  # those of the release of Elixir that compiles this. They take a few hundred kilobytes of a machine: only what calls
  # these functions has them loaded.
  @moduledoc false
  use Mote.Behaviour

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

  defpure upcase(text) when is_binary(text), do: Text.joined(upper(text, []), [], "")
  defpure downcase(text) when is_binary(text), do: Text.joined(lower(text, []), [], "")

  defpure capitalize(<<c, rest::binary>>) when c in ?a..?z, do: <<c - 32>> <> downcase(rest)
  defpure capitalize(<<c::utf8, rest::binary>>), do: Map.get(@title, c, <<c::utf8>>) <> downcase(rest)
  defpure capitalize(<<byte, rest::binary>>), do: <<byte>> <> downcase(rest)
  defpure capitalize(""), do: ""

  defpure upper("", done), do: Enum.reverse(done)
  defpure upper(<<c, rest::binary>>, done) when c in ?a..?z, do: upper(rest, [<<c - 32>> | done])
  defpure upper(<<c::utf8, rest::binary>>, done), do: upper(rest, [Map.get(@upper, c, <<c::utf8>>) | done])
  defpure upper(<<byte, rest::binary>>, done), do: upper(rest, [<<byte>> | done])

  defpure lower("", done), do: Enum.reverse(done)
  defpure lower(<<c, rest::binary>>, done) when c in ?A..?Z, do: lower(rest, [<<c + 32>> | done])
  defpure lower(<<c::utf8, rest::binary>>, done), do: lower(rest, [Map.get(@lower, c, <<c::utf8>>) | done])
  defpure lower(<<byte, rest::binary>>, done), do: lower(rest, [<<byte>> | done])
end
