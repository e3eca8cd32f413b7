defmodule Mote.Prelude.Integer do
  # Functions of Integer, as far as they are no primitives.
  @moduledoc false
  use Mote.Behaviour, import: [Integer]

  require Mote.Prelude

  alias Mote.Prelude.Text

  defpure pow(base, exponent) when is_integer(base) and is_integer(exponent) and exponent >= 0,
    do: power(base, exponent, 1)

  # By squaring, and not once more than needed: the last square may be too large.
  defpure power(_, 0, product), do: product
  defpure power(base, 1, product), do: base * product
  defpure power(base, n, product) when rem(n, 2) == 0, do: power(base * base, div(n, 2), product)
  defpure power(base, n, product), do: power(base * base, div(n, 2), base * product)

  defpure digits(n), do: digits(n, 10)
  defpure digits(0, base) when is_integer(base) and base >= 2, do: [0]

  # The text of a large integer takes less time than divisions do.
  defpure digits(n, 10) when is_integer(n) and n >= 0x1000000000000000,
    do: for(<<c <- to_string(n)>>, do: c - ?0)

  defpure digits(n, 10) when is_integer(n) and n <= -0x1000000000000000,
    do: for(<<c <- to_string(-n)>>, do: ?0 - c)

  defpure digits(n, base) when is_integer(base) and base >= 2 do
    if abs(n) >= 0x1000000000000000 and Bitwise.band(base, base - 1) == 0 do
      digits = bits(abs(n), base, width(base, 0))
      if n < 0, do: for(digit <- digits, do: -digit), else: digits
    else
      {power, count} = chunk(base, base, 1)
      digits_of(n, base, power, count, [])
    end
  end

  # Of a base that is a power of two, by halves: shifts take less time than divisions do.
  defpure bits(n, base, width), do: significant(halves(n, digits_in(n, width, 1), base, width, []))

  # At least as many digits as a large integer has.
  defpure digits_in(n, width, count) do
    if Bitwise.bsr(n, width * count) == 0, do: count, else: digits_in(n, width, 2 * count)
  end

  defpure halves(n, count, base, width, digits) when count == 1 or count * width <= 60,
    do: all_digits(n, base, count, digits)

  defpure halves(n, count, base, width, digits) do
    low = div(count, 2)
    above = Bitwise.bsr(n, low * width)
    below = n - Bitwise.bsl(above, low * width)
    halves(above, count - low, base, width, halves(below, low, base, width, digits))
  end

  defpure significant([0 | digits]), do: significant(digits)
  defpure significant(digits), do: digits

  defpure width(1, bits), do: bits
  defpure width(base, bits), do: width(div(base, 2), bits + 1)

  # The largest power of a base that is below 2^60, and its exponent. Taking that many digits at once needs far fewer
  # operations on large integers than taking them one by one.
  defpure chunk(10, 10, 1), do: {1_000_000_000_000_000_000, 18}

  defpure chunk(base, power, count) do
    case power * base do
      next when next < 0x1000000000000000 -> chunk(base, next, count + 1)
      _ -> {power, count}
    end
  end

  defpure digits_of(n, base, power, count, digits) do
    case div(n, power) do
      0 -> few_digits(n, base, digits)
      above -> digits_of(above, base, power, count, all_digits(rem(n, power), base, count, digits))
    end
  end

  defpure few_digits(0, _, digits), do: digits
  defpure few_digits(n, base, digits), do: few_digits(div(n, base), base, [rem(n, base) | digits])

  defpure all_digits(_, _, 0, digits), do: digits

  defpure all_digits(n, base, count, digits),
    do: all_digits(div(n, base), base, count - 1, [rem(n, base) | digits])

  defpure text(n) when is_integer(n), do: to_string(n)

  defpure text(n, base) when is_integer(n) and base in 2..36 do
    text =
      Enum.map_join(digits(n, base), fn digit ->
        digit = abs(digit)
        <<if(digit < 10, do: ?0 + digit, else: ?A + digit - 10)>>
      end)

    if n < 0, do: "-" <> text, else: text
  end

  defpure parse(text, base \\ 10) when is_binary(text) and base in 2..36 do
    {at, sign} = sign(text)
    {limit, _} = chunk(base, base, 1)

    case parsed(text, at, base, limit, [], 0, 1) do
      {_, ^at} -> :error
      {n, to} -> {sign * n, binary_part(text, to, byte_size(text) - to)}
    end
  end

  defpure sign(<<?-, _::binary>>), do: {1, -1}
  defpure sign(<<?+, _::binary>>), do: {1, 1}
  defpure sign(_), do: {0, 1}

  # The numbers that as many digits make as there is room for in a small integer, the last ones first, the number of the digits
  # since, and the power of the base that they need room for.
  defpure parsed(text, at, _, limit, done, low, power) when at == byte_size(text),
    do: {number(done, limit, low, power), at}

  defpure parsed(text, at, base, limit, done, low, power) when power >= limit,
    do: parsed(text, at, base, limit, before(low, done), 0, 1)

  defpure parsed(text, at, base, limit, done, low, power) do
    case :binary.at(text, at) do
      c when c in ?0..?9 and c < base + ?0 ->
        parsed(text, at + 1, base, limit, done, low * base + (c - ?0), power * base)

      c ->
        case letter(c) do
          digit when digit < base -> parsed(text, at + 1, base, limit, done, low * base + digit, power * base)
          _ -> {number(done, limit, low, power), at}
        end
    end
  end

  # A character that is not a digit of any base has the value 36.
  defpure letter(c) when c in ?a..?z, do: c - ?a + 10
  defpure letter(c) when c in ?A..?Z, do: c - ?A + 10
  defpure letter(_), do: 36

  # Zeros in front of everything are left out: the powers for their places might be too large.
  defpure before(0, []), do: []
  defpure before(n, done), do: [n | done]

  defpure number(done, limit, low, power), do: together(done, limit) * power + low

  # Of parts that are digits themselves, of the base `power`, the last ones first. By pairs: two long factors are multiplied
  # in less time than a long one by many short ones.
  defpure together([], _), do: 0
  defpure together([n], _), do: n
  defpure together([low, high], power), do: high * power + low
  defpure together(parts, power), do: together(pairs(parts, power, []), power * power)

  defpure pairs([low, high | parts], power, done), do: pairs(parts, power, [high * power + low | done])
  defpure pairs(rest, _, done), do: Enum.reverse(Enum.concat(rest, done))

  defpure undigits(digits, base \\ 10) when is_list(digits) and is_integer(base) and base >= 2 do
    {limit, _} = chunk(base, base, 1)
    undigits_of(digits, base, limit, [], 0, 1)
  end

  defpure undigits_of([], _, limit, done, low, power), do: number(done, limit, low, power)

  defpure undigits_of(digits, base, limit, done, low, power) when power >= limit,
    do: undigits_of(digits, base, limit, before(low, done), 0, 1)

  defpure undigits_of([digit | digits], base, limit, done, low, power)
          when is_integer(digit) and digit < base,
          do: undigits_of(digits, base, limit, done, low * base + digit, power * base)

  # Of List.
  defpure of_list(list), do: whole(Text.of_ascii(list), 10)
  defpure of_list(list, base), do: whole(Text.of_ascii(list), base)

  # All of a text must be digits: `String.to_integer/2`.
  defpure whole(text, base) do
    {n, ""} = parse(text, base)
    n
  end

  defpure charlist(n), do: for(<<c <- text(n)>>, do: c)
  defpure charlist(n, base), do: for(<<c <- text(n, base)>>, do: c)

  defpure ceil_div(a, b) do
    if rem(a, b) != 0 and a < 0 == b < 0, do: div(a, b) + 1, else: div(a, b)
  end

  # How many bits are ones.
  defpure popcount(n) when is_integer(n) and n >= 0x1000000000000000 do
    Enum.reduce(digits(n, 0x1000000), 0, fn digit, count -> ones(digit, count) end)
  end

  defpure popcount(n) when is_integer(n) and n >= 0, do: ones(n, 0)

  defpure ones(0, count), do: count
  defpure ones(n, count), do: ones(Bitwise.band(n, n - 1), count + 1)

  Mote.Prelude.released()
end
