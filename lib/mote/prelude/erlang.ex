defmodule Mote.Prelude.Erlang do
  # Functions of :erlang that Elixir has by another name or not at all: of text and of bytes.
  @moduledoc false
  use Mote.Behaviour

  import Bitwise
  import Mote.Internal.Sized, only: [sized: 1]

  alias Mote.Prelude.Integer, as: Whole
  alias Mote.Prelude.Text

  defpure atom_to_binary(atom), do: Text.of_atom(atom)
  defpure binary_to_float(text), do: String.to_float(text)

  defpure binary_to_integer(text) when is_binary(text) do
    {n, ""} = Integer.parse(text)
    n
  end

  defpure binary_to_integer(text, base), do: Whole.whole(text, base)
  defpure binary_to_list(binary), do: Mote.Total.binary_list(binary, :bytes)
  defpure integer_to_binary(n), do: Whole.text(n)
  defpure integer_to_binary(n, base), do: Whole.text(n, base)
  defpure iolist_size(iodata), do: Text.bytes(iodata)
  defpure iolist_to_binary(iodata), do: Text.of_iodata(iodata)
  defpure list_to_binary(list) when is_list(list), do: Text.of_iodata(list)

  defpure split_binary(bits, bytes) do
    sized(<<before::binary-size(^bytes), behind::bits>>) = bits
    {before, behind}
  end

  # -- time ----------------------------------------------------------------------------------------------------

  # Rounded down, as by both of Erlang and Elixir.
  defpure convert_time_unit(time, from, to) when is_integer(time),
    do: Integer.floor_div(time * per_second(to), per_second(from))

  defpurep per_second(:second), do: 1
  defpurep per_second(:millisecond), do: 1_000
  defpurep per_second(:microsecond), do: 1_000_000
  defpurep per_second(unit) when unit in [:nanosecond, :native, :perf_counter], do: 1_000_000_000
  defpurep per_second(parts) when is_integer(parts) and parts > 0, do: parts

  # -- floats --------------------------------------------------------------------------------------------------

  defpure float(n) when is_number(n), do: n * 1.0

  defpure float_to_binary(f, options) when is_float(f) and is_list(options) do
    case Enum.reduce(options, {:scientific, false}, fn
           {:decimals, places}, {_, compact} when places in 0..15 -> {places, compact}
           :compact, {how, _} -> {how, true}
           :short, {_, compact} -> {:short, compact}
         end) do
      {:short, _} -> to_string(f)
      {places, compact} when is_integer(places) -> to_places(f, places, compact)
    end
  end

  # As OTP does it, which rounds what the fraction is when it is multiplied, in floats.
  defpure to_places(f, places, compact) do
    scale = Whole.pow(10, places)
    whole = trunc(abs(f))
    fraction = trunc((abs(f) - whole) * scale + 0.5)
    {whole, fraction} = if fraction >= scale, do: {whole + 1, fraction - scale}, else: {whole, fraction}
    digits = decimals(fraction, places, [])
    digits = if compact, do: Enum.reverse(significant(Enum.reverse(digits))), else: digits
    sign = if negative?(<<f::float>>), do: "-", else: ""
    if digits == [], do: "#{sign}#{whole}", else: "#{sign}#{whole}." <> Enum.join(digits)
  end

  defpure decimals(_, 0, digits), do: digits
  defpure decimals(n, places, digits), do: decimals(div(n, 10), places - 1, [rem(n, 10) | digits])

  defpure negative?(<<byte, _::binary>>), do: byte >= 128

  # The first of the places stays.
  defpure significant([0, digit | digits]), do: significant([digit | digits])
  defpure significant(digits), do: digits

  # -- checksums -----------------------------------------------------------------------------------------------

  @remainders 0..255
              |> Enum.map(fn byte ->
                Enum.reduce(1..8, byte, fn _, c ->
                  if (c &&& 1) == 1, do: bxor(c >>> 1, 0xEDB88320), else: c >>> 1
                end)
              end)
              |> List.to_tuple()

  defpure crc32(iodata), do: bxor(crc32(Text.of_iodata(iodata), 0xFFFFFFFF), 0xFFFFFFFF)

  defpure crc32("", c), do: c

  defpure crc32(<<byte, rest::binary>>, c),
    do: crc32(rest, bxor(elem(@remainders, bxor(c, byte) &&& 255), c >>> 8))

  defpure adler32(iodata), do: adler32(Text.of_iodata(iodata), 1, 0)

  defpure adler32("", a, b), do: b * 65_536 + a

  defpure adler32(<<byte, rest::binary>>, a, b),
    do: adler32(rest, rem(a + byte, 65_521), rem(a + b + byte, 65_521))
end
