defmodule Mote.Prelude.String do
  # Functions of String that are the same whether text is bytes or characters, by bytes; and those of ASCII letters, which
  # leave all other characters as they are.
  @moduledoc false
  use Mote.Behaviour

  defpure starts_with?(text, prefixes) when is_list(prefixes), do: any_prefix?(text, prefixes)

  defpure starts_with?(text, prefix) do
    n = byte_size(prefix)
    byte_size(text) >= n and binary_part(text, 0, n) === prefix
  end

  defpure any_prefix?(_, []), do: false

  defpure any_prefix?(text, [p | rest]),
    do: if(starts_with?(text, p), do: true, else: any_prefix?(text, rest))

  defpure ends_with?(text, suffixes) when is_list(suffixes), do: any_suffix?(text, suffixes)

  defpure ends_with?(text, suffix) do
    n = byte_size(suffix)
    byte_size(text) >= n and binary_part(text, byte_size(text) - n, n) === suffix
  end

  defpure any_suffix?(_, []), do: false
  defpure any_suffix?(text, [s | rest]), do: if(ends_with?(text, s), do: true, else: any_suffix?(text, rest))

  defpure contains?(text, parts) when is_list(parts), do: any_part?(text, parts)
  defpure contains?(text, part), do: found(text, part, 0) != nil

  defpure any_part?(_, []), do: false
  defpure any_part?(text, [part | rest]), do: if(contains?(text, part), do: true, else: any_part?(text, rest))

  # The first place of a part at `at` or behind it, nil if there is none.
  defpure found(text, part, at) do
    cond do
      at + byte_size(part) > byte_size(text) -> nil
      binary_part(text, at, byte_size(part)) === part -> at
      true -> found(text, part, at + 1)
    end
  end

  defpure split(text, part) when is_binary(part) and part != "", do: parts(text, part, 0, [])

  defpure parts(text, part, from, done) do
    case found(text, part, from) do
      nil -> Enum.reverse([binary_part(text, from, byte_size(text) - from) | done])
      at -> parts(text, part, at + byte_size(part), [binary_part(text, from, at - from) | done])
    end
  end

  defpure replace(text, part, new) when is_binary(part) and part != "",
    do: Enum.join(parts(text, part, 0, []), new)

  defpure duplicate(text, n), do: Enum.join(List.duplicate(text, n))

  # -- letters of ASCII ----------------------------------------------------------------------------------------

  defpure upcase(text, :ascii), do: changed(text, ?a, ?z, -32)
  defpure downcase(text, :ascii), do: changed(text, ?A, ?Z, 32)

  defpure changed(text, first, last, by) do
    Enum.join(for(<<c <- text>>, do: if(c >= first and c <= last, do: <<c + by>>, else: <<c>>)))
  end

  # -- numbers -------------------------------------------------------------------------------------------------

  defpure to_integer(<<?-, rest::binary>>) when rest != "", do: -number(rest, 0, 0)
  defpure to_integer(<<?+, rest::binary>>) when rest != "", do: number(rest, 0, 0)
  defpure to_integer(text) when text != "", do: number(text, 0, 0)

  defpure number(text, at, n) when at == byte_size(text), do: n

  # Aborts where something else than a digit is.
  defpure number(text, at, n) do
    case :binary.at(text, at) do
      c when c >= ?0 and c <= ?9 -> number(text, at + 1, n * 10 + c - ?0)
    end
  end
end
