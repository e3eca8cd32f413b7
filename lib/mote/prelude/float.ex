defmodule Mote.Prelude.Float do
  # Functions of Float. To round to decimal places the digits of a float are made one by one, exactly: a float between 0 and 1
  # is a number of at most 106 bits, over a power of two, if it does not vanish behind fifteen places.
  @moduledoc false
  use Mote.Behaviour, import: [Float]

  require Mote.Prelude

  defpure text(f) when is_float(f), do: to_string(f)
  defpure charlist(f), do: for(<<c <- text(f)>>, do: c)

  # -- text ----------------------------------------------------------------------------------------------------

  defpure parse(text) when is_binary(text) do
    first = sign(text, 0)
    whole = digits(text, first)
    point = if byte(text, whole) == ?., do: digits(text, whole + 1), else: whole
    # A point counts only with digits behind it.
    fraction = if point > whole + 1, do: point, else: whole
    last = exponent(text, fraction)
    rest = from(text, last)

    cond do
      whole == first -> :error
      fraction > whole -> parsed(binary_part(text, 0, last), rest)
      true -> parsed(binary_part(text, 0, whole) <> ".0" <> binary_part(text, whole, last - whole), rest)
    end
  end

  # Where the exponent ends that may begin at `at`.
  defpure exponent(text, at) do
    first = if byte(text, at) in [?e, ?E], do: sign(text, at + 1), else: at
    last = digits(text, first)
    if first > at and last > first, do: last, else: at
  end

  # It may be beyond the floats.
  defpure parsed(text, rest) when is_float(String.to_float(text)), do: {String.to_float(text), rest}
  defpure parsed(_, _), do: :error

  defpure from(text, at), do: binary_part(text, at, byte_size(text) - at)

  # The first place, from `at` on, that is not a digit.
  defpure digits(text, at), do: if(byte(text, at) in ?0..?9, do: digits(text, at + 1), else: at)
  defpure sign(text, at), do: if(byte(text, at) in [?+, ?-], do: at + 1, else: at)
  defpure byte(text, at), do: if(at < byte_size(text), do: :binary.at(text, at), else: nil)

  # Of List.
  defpure of_list(list), do: String.to_float(Mote.Prelude.Text.of_ascii(list))

  # -- rounding ------------------------------------------------------------------------------------------------

  defpure rounded(f) when is_float(f), do: rounded(f, 0)
  defpure floored(f) when is_float(f), do: floored(f, 0)
  defpure ceiled(f) when is_float(f), do: ceiled(f, 0)

  # From here on there are no fractions.
  defpure rounded(f, places) when is_float(f) and places in 0..15, do: to_places(f, places, :half_up)
  defpure floored(f, places) when is_float(f) and places in 0..15, do: to_places(f, places, :floor)
  defpure ceiled(f, places) when is_float(f) and places in 0..15, do: to_places(f, places, :ceil)

  defpure to_places(f, _, _) when f >= 4_503_599_627_370_496.0 or f <= -4_503_599_627_370_496.0 or f == 0.0,
    do: f

  defpure to_places(f, places, how) do
    size = abs(f)
    whole = trunc(size)
    {digits, rest} = decimals(size - whole, places)
    up = up?(how, f < 0, rest)
    sign = if f < 0, do: "-", else: ""
    String.to_float(sign <> written(whole, digits, up))
  end

  # Away from zero, by what is left in units of the last place: nothing, less than a half, or at least a half.
  defpure up?(:half_up, _, rest), do: rest == :half
  defpure up?(:floor, negative, rest), do: negative and rest != :nothing
  defpure up?(:ceil, negative, rest), do: not negative and rest != :nothing

  # The decimal places of a fraction, the last one first, and what is left.
  defpure decimals(fraction, _) when fraction == 0.0, do: {[], :nothing}

  # Less than half of the fifteenth place.
  defpure decimals(fraction, places) when fraction < 1.0e-16, do: {List.duplicate(0, places), :less}

  defpure decimals(fraction, places) do
    # What is before the 53rd bit, and the 53 bits from there on: both are integers, and nothing is lost.
    high = trunc(fraction * 9_007_199_254_740_992.0)
    low = trunc((fraction * 9_007_199_254_740_992.0 - high) * 9_007_199_254_740_992.0)
    decimals(high, low, places, [])
  end

  defpure decimals(high, low, 0, digits) do
    rest =
      cond do
        high >= 4_503_599_627_370_496 -> :half
        high == 0 and low == 0 -> :nothing
        true -> :less
      end

    {digits, rest}
  end

  defpure decimals(high, low, places, digits) do
    low = low * 10
    high = high * 10 + div(low, 9_007_199_254_740_992)
    digit = div(high, 9_007_199_254_740_992)

    decimals(rem(high, 9_007_199_254_740_992), rem(low, 9_007_199_254_740_992), places - 1, [digit | digits])
  end

  # The number as text, one more in its last place if it goes up.
  defpure written(whole, digits, up) do
    {digits, up} = if up, do: increased(digits, []), else: {Enum.reverse(digits), false}
    whole = if up, do: whole + 1, else: whole
    "#{whole}." <> Enum.join(if(digits == [], do: [0], else: digits))
  end

  # By one in the last place: the digits with the first one first, and whether there is one more before them.
  defpure increased([], done), do: {done, true}
  defpure increased([9 | rest], done), do: increased(rest, [0 | done])
  defpure increased([digit | rest], done), do: {Enum.reverse(rest) ++ [digit + 1 | done], false}

  Mote.Prelude.released()
end
