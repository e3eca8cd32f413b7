defmodule Mote.Total.Binaries do
  # The primitives on binaries. Returns `@none` where there is no answer. The meaning of a specification's numbers is
  # written down in guides/ir.md.
  @moduledoc false
  import Kernel, except: [bit_size: 1, binary_part: 3, to_string: 1]
  import Bitwise
  import Mote.Internal.Sized, only: [sized: 1]

  alias Mote.Total.{Integers, Number}

  @none Mote.Total.None.value()

  def bin_of(values, specs) when is_tuple(values) and is_tuple(specs) do
    {answer, parts} = join(Tuple.to_list(values), Tuple.to_list(specs), [])
    bits = for part <- Enum.reverse(parts), into: <<>>, do: part
    if answer == :ok, do: bits, else: @none
  end

  def bin_of(_, _), do: @none

  defp join(_, [], parts), do: {:ok, parts}

  defp join([value | values], [spec | specs], parts) when is_integer(spec) and spec >= 0 do
    with {:ok, size, values} <- size(spec, values),
         <<_::bitstring>> = part <- part(band(spec, 7), value, size, band(spec, 8) != 0) do
      join(values, specs, [part | parts])
    else
      _ -> {:none, parts}
    end
  end

  defp join(_, _, parts), do: {:none, parts}

  defp size(spec, values) when band(spec, 16) == 0, do: {:ok, bsr(spec, 5), values}
  defp size(spec, [n | values]) when is_integer(n) and n >= 0, do: {:ok, bsr(spec, 5) * n, values}
  defp size(_, _), do: @none

  defp part(0, n, bits, little) when is_integer(n) and bits <= 64 do
    cond do
      not Integers.number?(n) -> @none
      little -> <<n::little-size(bits)>>
      true -> <<n::size(bits)>>
    end
  end

  defp part(1, n, bits, little) when is_number(n) and bits in [32, 64] do
    with f when is_float(f) <- Number.float(n), do: float(f, bits, little)
  end

  defp part(2, binary, _, _) when is_binary(binary), do: binary

  defp part(3, bitstring, bits, _) when is_bitstring(bitstring), do: bin_bits(bitstring, 0, bits)
  defp part(5, bitstring, _, _) when is_bitstring(bitstring), do: bitstring

  defp part(4, n, _, _) when n in 0..0xD7FF or n in 0xE000..0x10FFFF, do: <<n::utf8>>
  defp part(_, _, _, _), do: @none

  # A value that 32 bits cannot hold raises on some releases; on others it becomes an infinity, which is not a float.
  defp float(f, bits, little) do
    case <<f::float-size(bits)>> do
      sized(<<_::float-size(^bits)>>) when little -> <<f::float-little-size(bits)>>
      sized(<<_::float-size(^bits)>>) = big -> big
      _ -> @none
    end
  rescue
    ArgumentError -> @none
  end

  def bin_int(binary, position, spec) do
    number(binary, position, spec, fn binary, position, bits, flags ->
      case binary do
        sized(<<_::size(^position), n::size(^bits), _::bitstring>>) when bits <= 64 and flags == 0 ->
          n

        sized(<<_::size(^position), n::little-size(^bits), _::bitstring>>) when bits <= 64 and flags == 1 ->
          n

        sized(<<_::size(^position), n::signed-size(^bits), _::bitstring>>) when bits <= 64 and flags == 2 ->
          n

        sized(<<_::size(^position), n::signed-little-size(^bits), _::bitstring>>)
        when bits <= 64 and flags == 3 ->
          n

        _ ->
          @none
      end
    end)
  end

  def bin_float(binary, position, spec) do
    number(binary, position, spec, fn binary, position, bits, flags ->
      case binary do
        sized(<<_::size(^position), f::float-size(^bits), _::bitstring>>)
        when bits in [32, 64] and flags in [0, 2] ->
          f

        sized(<<_::size(^position), f::float-little-size(^bits), _::bitstring>>)
        when bits in [32, 64] and flags in [1, 3] ->
          f

        _ ->
          @none
      end
    end)
  end

  defp number(binary, position, spec, read)
       when is_bitstring(binary) and is_integer(position) and position >= 0 and is_integer(spec) and spec >= 0,
       do: read.(binary, position, bsr(spec, 2), band(spec, 3))

  defp number(_, _, _, _), do: @none

  def bin_slice(binary, position, count)
      when is_bitstring(binary) and is_integer(position) and position >= 0 and is_integer(count) and
             count >= 0 do
    case binary do
      sized(<<_::size(^position), part::binary-size(^count), _::bitstring>>) -> part
      _ -> @none
    end
  end

  def bin_slice(_, _, _), do: @none

  def bin_bits(bitstring, position, count)
      when is_bitstring(bitstring) and is_integer(position) and position >= 0 and is_integer(count) and
             count >= 0 do
    case bitstring do
      sized(<<_::size(^position), part::bitstring-size(^count), _::bitstring>>) -> part
      _ -> @none
    end
  end

  def bin_bits(_, _, _), do: @none

  def bin_rest(binary, position) when is_integer(position) and rem(position, 8) == 0 do
    with rest when not is_binary(rest) <- bin_tail(binary, position), do: @none
  end

  def bin_rest(_, _), do: @none

  def bin_tail(bitstring, position) when is_bitstring(bitstring) and is_integer(position) and position >= 0 do
    case bitstring do
      sized(<<_::size(^position), rest::bitstring>>) -> rest
      _ -> @none
    end
  end

  def bin_tail(_, _), do: @none

  def bin_utf8(binary, position) when is_bitstring(binary) and is_integer(position) and position >= 0 do
    case binary do
      sized(<<_::size(^position), character::utf8, _::bitstring>>) -> character
      _ -> @none
    end
  end

  def bin_utf8(_, _), do: @none

  def utf8_bits(n) when n in 0..0xD7FF or n in 0xE000..0x10FFFF, do: byte_size(<<n::utf8>>) * 8
  def utf8_bits(_), do: @none

  def bit_size(bitstring) when is_bitstring(bitstring), do: :erlang.bit_size(bitstring)
  def bit_size(_), do: @none

  def binary_part(binary, start, length)
      when is_binary(binary) and is_integer(start) and is_integer(length) and start >= 0 and
             start + length >= 0 and
             start <= byte_size(binary) and start + length <= byte_size(binary),
      do: :erlang.binary_part(binary, start, length)

  def binary_part(_, _, _), do: @none

  def binary_at(binary, index)
      when is_binary(binary) and is_integer(index) and index in 0..(byte_size(binary) - 1)//1,
      do: :binary.at(binary, index)

  def binary_at(_, _), do: @none

  def binary_find(binary, part, from)
      when is_binary(binary) and is_binary(part) and part != "" and is_integer(from) and from >= 0 and
             from <= byte_size(binary) do
    case :binary.match(binary, part, scope: {from, byte_size(binary) - from}) do
      {at, _size} -> at
      :nomatch -> nil
    end
  end

  def binary_find(_, _, _), do: @none

  def binary_join(list, joiner) when is_binary(joiner) do
    {count, rest} = binaries(list, 0)
    if rest == [], do: list |> between(joiner, count) |> IO.iodata_to_binary(), else: @none
  end

  def binary_join(list, nil) when is_list(list) do
    if List.improper?(list) or not Enum.all?(list, &is_bitstring/1),
      do: @none,
      else: for(bits <- list, into: <<>>, do: bits)
  end

  def binary_join(list, kind) when is_list(list) and kind in [:bytes, :utf8] do
    parts = if List.improper?(list), do: [nil], else: Enum.map(list, &part(&1, kind))
    if Enum.all?(parts, &is_binary/1), do: IO.iodata_to_binary(parts), else: @none
  end

  def binary_join(_, _), do: @none

  defp part(byte, :bytes) when byte in 0..255, do: <<byte>>
  defp part(c, :utf8) when c in 0..0xD7FF or c in 0xE000..0x10FFFF, do: <<c::utf8>>
  defp part(bytes, kind) when is_binary(bytes), do: if(kind == :bytes or String.valid?(bytes), do: bytes)
  defp part(_, _), do: nil

  defp binaries([binary | rest], count) when is_binary(binary), do: binaries(rest, count + 1)
  defp binaries(rest, count), do: {count, rest}

  defp between(_, _, 0), do: []
  defp between([last | _], _, 1), do: [last]
  defp between([binary | rest], joiner, count), do: [binary, joiner | between(rest, joiner, count - 1)]

  def carried_text(term) when is_pid(term) or is_reference(term) or is_port(term), do: inspect(term)
  def carried_text(_), do: @none

  # Characters by themselves, whatever others of these are beside them.
  defguardp plain(c)
            when c in 0x20..0x7E or c in 0xAF..0x2FF or c in 0x370..0x482 or c in 0x5D0..0x5EA or
                   c in 0x1E00..0x1FFF or c in 0x2010..0x2027 or c in 0x20A0..0x20BF or c in 0x3001..0x3029 or
                   c in 0x3041..0x3096 or c in 0x309D..0x30FF or c in 0x4E00..0x9FFF or c in 0xFF01..0xFF9D

  # Letters that have the same upper and lower case in all releases of Unicode, and characters without any.
  defguardp of_known_case(c)
            when c in 0..0x17F or c in 0x300..0x52F or c in 0x5D0..0x5EA or c in 0x2000..0x20BF or
                   c in 0x3000..0x9FFF or c in 0xFE00..0xFE0F or c in 0x1F300..0x1FAFF

  def text_run(binary, kind, most)
      when is_binary(binary) and kind in [:plain, :utf8] and is_integer(most) and most >= 0,
      do: run(binary, kind, most, 0, 0)

  def text_run(_, _, _), do: @none

  defp run(<<c::utf8, rest::binary>>, kind, most, bytes, n) when n < most and (kind == :utf8 or plain(c)),
    do: run(rest, kind, most, bytes + byte_size(<<c::utf8>>), n + 1)

  defp run(_, _, _, bytes, n), do: {bytes, n}

  def text_changed(binary, :reverse) when is_binary(binary) do
    {bytes, _} = run(binary, :plain, byte_size(binary), 0, 0)
    if bytes == byte_size(binary), do: String.reverse(binary)
  end

  def text_changed(binary, how) when is_binary(binary) and how in [:upcase, :downcase] do
    if of_known_case?(binary), do: apply(String, how, [binary])
  end

  def text_changed(_, _), do: @none

  defp of_known_case?(""), do: true
  defp of_known_case?(<<c::utf8, rest::binary>>) when of_known_case(c), do: of_known_case?(rest)
  defp of_known_case?(_), do: false

  def binary_list(binary, :bytes) when is_binary(binary), do: :binary.bin_to_list(binary)

  def binary_list(binary, :utf8) when is_binary(binary) do
    if String.valid?(binary), do: String.to_charlist(binary), else: @none
  end

  def binary_list(_, _), do: @none

  def binary_split(binary, nil) when is_binary(binary), do: String.split(binary)
  def binary_split(binary, "") when is_binary(binary), do: String.codepoints(binary)

  def binary_split(binary, part) when is_binary(binary) and is_binary(part),
    do: :binary.split(binary, part, [:global])

  def binary_split(_, _), do: @none

  def to_string(n) when is_integer(n), do: Integers.text(n)
  def to_string(f) when is_float(f), do: Float.to_string(f)
  def to_string(nil), do: ""
  def to_string(atom) when is_atom(atom), do: Atom.to_string(atom)
  def to_string(binary) when is_binary(binary), do: binary
  def to_string(_), do: @none

  def to_float(text) when is_binary(text) do
    :erlang.binary_to_float(text)
  rescue
    ArgumentError -> @none
  end

  def to_float(_), do: @none
end
