defmodule Mote.Prelude.Hash do
  # `:erlang.phash2`, whose values are the same on all releases: Bob Jenkins' mixing of three words of 32 bits. Terms that only a
  # machine has, and processes, have none here.
  @moduledoc false
  use Mote.Behaviour

  import Bitwise
  import Mote.Internal.Sized, only: [sized: 1]

  @word 0xFFFFFFFF
  @golden 0x9E3779B9

  # OTP 27 tells two zeros apart; whether their hashes differ is for the release to say.
  @one_zero :erlang.phash2(:erlang.binary_to_term(<<131, 70, 128, 0::56>>)) == :erlang.phash2(0.0)

  defpure phash2(term), do: hash(term, 0) &&& 0x7FFFFFF

  defpure phash2(term, range) when is_integer(range) and range in 1..0x100000000,
    do: rem(hash(term, 0), range)

  # A term, mixed with the hash of what is before it.
  defpure hash([], 0), do: 3_468_870_702
  defpure hash([], before), do: word(2, 2, before)
  defpure hash(atom, 0) when is_atom(atom), do: name(to_name(atom), 0)
  defpure hash(atom, before) when is_atom(atom), do: word(name(to_name(atom), 0), 3, before)

  defpure hash(n, before) when n in -0x8000000..0x7FFFFFF and n < 0,
    do: word(n &&& @word, 1, word(-n, 1, before))

  defpure hash(n, before) when n in 0..0x7FFFFFF, do: word(n, 1, before)
  defpure hash(n, before) when is_integer(n) and n < 0, do: digits(-n, 10, before)
  defpure hash(n, before) when is_integer(n), do: digits(n, 11, before)

  defpure hash(f, before) when is_float(f) do
    # A sum is never -0.0; some releases of OTP take `if f == 0.0, do: 0.0, else: f` for f.
    f = if @one_zero, do: f + 0.0, else: f
    <<high::32, low::32>> = <<f::float>>
    words(high, low, 12, before)
  end

  defpure hash("", before), do: times(13) + before &&& @word

  defpure hash(binary, before) when is_binary(binary),
    do: bytes(binary, @golden, @golden, times(13) + before &&& @word, byte_size(binary))

  # The bits behind the last byte are a number.
  defpure hash(bits, before) when is_bitstring(bits) do
    {whole, size} = {div(bit_size(bits), 8), rem(bit_size(bits), 8)}
    sized(<<bytes::binary-size(^whole), last::size(^size)>>) = bits
    words(size, last, 15, bytes(bytes, @golden, @golden, times(13) + before &&& @word, whole))
  end

  defpure hash(tuple, before) when is_tuple(tuple),
    do:
      Enum.reduce(Tuple.to_list(tuple), word(tuple_size(tuple), 9, before), fn term, before ->
        hash(term, before)
      end)

  defpure hash(list, before) when is_list(list), do: list(list, 0, 0, before)

  # The order of the pairs does not matter.
  defpure hash(map, before) when is_map(map) do
    pairs = for {key, value} <- Map.to_list(map), reduce: 0, do: (all -> bxor(all, hash(value, hash(key, 0))))
    before = word(map_size(map), 16, before)
    if map == %{}, do: before, else: word(pairs, 19, before)
  end

  # Bytes are taken four at a time.
  defpure list([byte | rest], n, bytes, before) when byte in 0..255 do
    bytes = bytes * 256 + byte
    if n == 3, do: list(rest, 0, 0, word(bytes, 4, before)), else: list(rest, n + 1, bytes, before)
  end

  defpure list(list, 0, _, before), do: others(list, before)
  defpure list(list, _, bytes, before), do: others(list, word(bytes, 4, before))

  defpure others([term | rest], before), do: hash(rest, hash(term, before))
  defpure others(tail, before), do: hash(tail, before)

  defpure to_name(nil), do: "nil"
  defpure to_name(atom), do: to_string(atom)

  # Characters of Latin-1 count as one, the bytes of others each by itself.
  defpure name("", h), do: h
  defpure name(<<c::utf8, rest::binary>>, h) when c < 256, do: name(rest, character(h * 16 + c &&& @word))
  defpure name(<<byte, rest::binary>>, h), do: name(rest, character(h * 16 + byte &&& @word))

  defpure character(h), do: h |> bxor((h &&& 0xF0000000) >>> 24) |> bxor(h &&& 0xF0000000)

  defpure digits(n, which, before) do
    before = words(n &&& @word, n >>> 32 &&& @word, which, before)
    if n >>> 64 > 0, do: digits(n >>> 64, which, before), else: before
  end

  defpure bytes(<<x::little-32, y::little-32, z::little-32, rest::binary>>, a, b, c, size) do
    {a, b, c} = mixed(a + x &&& @word, b + y &&& @word, c + z &&& @word)
    bytes(rest, a, b, c, size)
  end

  # The lowest byte of the last word is for the size.
  defpure bytes(rest, a, b, c, size) do
    <<x::little-32, y::little-32, z::little-24, _::binary>> = rest <> <<0::64, 0::24>>
    elem(mixed(a + x &&& @word, b + y &&& @word, c + size + z * 256 &&& @word), 2)
  end

  defpure word(x, which, before), do: words(x, 0, which, before)

  defpure words(x, y, which, before),
    do: elem(mixed(times(which) + x &&& @word, times(which) + y &&& @word, before), 2)

  defpure times(which), do: which * @golden &&& @word

  defpure mixed(a, b, c) do
    a = bxor(a - b - c &&& @word, c >>> 13)
    b = bxor(b - c - a &&& @word, a <<< 8 &&& @word)
    c = bxor(c - a - b &&& @word, b >>> 13)
    a = bxor(a - b - c &&& @word, c >>> 12)
    b = bxor(b - c - a &&& @word, a <<< 16 &&& @word)
    c = bxor(c - a - b &&& @word, b >>> 5)
    a = bxor(a - b - c &&& @word, c >>> 3)
    b = bxor(b - c - a &&& @word, a <<< 10 &&& @word)
    c = bxor(c - a - b &&& @word, b >>> 15)
    {a, b, c}
  end
end
