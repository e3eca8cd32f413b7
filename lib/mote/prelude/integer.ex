defmodule Mote.Prelude.Integer do
  # Functions of Integer, as far as they are no primitives.
  @moduledoc false
  use Mote.Behaviour

  defpure mod(a, b) do
    case rem(a, b) do
      r when r != 0 and r < 0 != b < 0 -> r + b
      r -> r
    end
  end

  defpure floor_div(a, b) do
    if rem(a, b) != 0 and a < 0 != b < 0, do: div(a, b) - 1, else: div(a, b)
  end

  defpure gcd(a, 0) when is_integer(a), do: abs(a)
  defpure gcd(a, b), do: gcd(b, rem(a, b))

  defpure pow(base, exponent) when is_integer(base) and is_integer(exponent) and exponent >= 0,
    do: power(base, exponent, 1)

  # By squaring, and not once more than needed: the last square may be too large.
  defpure power(_, 0, product), do: product
  defpure power(base, 1, product), do: base * product
  defpure power(base, n, product) when rem(n, 2) == 0, do: power(base * base, div(n, 2), product)
  defpure power(base, n, product), do: power(base * base, div(n, 2), base * product)

  defpure digits(n), do: digits(n, 10)
  defpure digits(0, base) when is_integer(base) and base >= 2, do: [0]
  defpure digits(n, base) when is_integer(base) and base >= 2, do: digits_of(n, base, [])

  defpure digits_of(0, _, digits), do: digits
  defpure digits_of(n, base, digits), do: digits_of(div(n, base), base, [rem(n, base) | digits])

  defpure text(n) when is_integer(n), do: to_string(n)

  defpure text(n, base) when is_integer(n) and base in 2..36 do
    # Each digit by itself: the least integer has no opposite.
    text =
      Enum.map_join(digits(n, base), fn digit ->
        digit = abs(digit)
        <<if(digit < 10, do: ?0 + digit, else: ?A + digit - 10)>>
      end)

    if n < 0, do: "-" <> text, else: text
  end

  defpure parse(<<?-, c, _::binary>> = text) when c in ?0..?9, do: parsed(text, 1, -1, 0)
  defpure parse(<<?+, c, _::binary>> = text) when c in ?0..?9, do: parsed(text, 1, 1, 0)
  defpure parse(<<c, _::binary>> = text) when c in ?0..?9, do: parsed(text, 0, 1, 0)
  defpure parse(text) when is_binary(text), do: :error

  # With its sign from the first digit on: the least integer has no opposite.
  defpure parsed(text, at, _, n) when at == byte_size(text), do: {n, ""}

  defpure parsed(text, at, sign, n) do
    case :binary.at(text, at) do
      c when c in ?0..?9 -> parsed(text, at + 1, sign, n * 10 + sign * (c - ?0))
      _ -> {n, binary_part(text, at, byte_size(text) - at)}
    end
  end

  defpure undigits(digits), do: undigits(digits, 10)

  defpure undigits(digits, base) when is_list(digits) and is_integer(base) and base >= 2 do
    Enum.reduce(digits, 0, fn digit, n when is_integer(digit) and digit < base -> n * base + digit end)
  end
end
