defmodule Mote.Prelude.Binary do
  # Functions of :binary. A pattern is a binary, or a list of binaries, of which the longest counts where several match.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.{Places, Text}

  defpure bin_to_list(binary), do: Mote.Total.binary_list(binary, :bytes)
  defpure list_to_bin(list) when is_list(list), do: Text.of_iodata(list)
  defpure copy(binary, n \\ 1) when is_binary(binary), do: Enum.join(List.duplicate(binary, n))
  defpure first(binary), do: :binary.at(binary, 0)
  defpure last(binary), do: :binary.at(binary, byte_size(binary) - 1)
  defpure part(binary, {start, size}), do: binary_part(binary, start, size)

  # -- integers ------------------------------------------------------------------------------------------------

  defpure decode_unsigned(binary), do: decode_unsigned(binary, :big)
  defpure decode_unsigned(binary, :big) when is_binary(binary), do: decoded(bin_to_list(binary))

  defpure decode_unsigned(binary, :little) when is_binary(binary),
    do: decoded(Enum.reverse(bin_to_list(binary)))

  defpure decoded(bytes), do: Enum.reduce(bytes, 0, fn byte, n -> n * 256 + byte end)

  defpure encode_unsigned(n), do: encode_unsigned(n, :big)
  defpure encode_unsigned(n, :big) when is_integer(n) and n >= 0, do: Text.of_iodata(encoded(n, []))

  defpure encode_unsigned(n, :little) when is_integer(n) and n >= 0,
    do: Text.of_iodata(Enum.reverse(encoded(n, [])))

  defpure encoded(n, bytes) when n < 256, do: [n | bytes]
  defpure encoded(n, bytes), do: encoded(div(n, 256), [rem(n, 256) | bytes])

  # -- places --------------------------------------------------------------------------------------------------

  defpure match(binary, pattern) when is_binary(binary) do
    case Places.next(binary, Places.pattern(pattern), 0) do
      nil -> :nomatch
      place -> place
    end
  end

  defpure matches(binary, pattern) when is_binary(binary),
    do: Places.all(binary, Places.pattern(pattern), 0, [])

  defpure split(binary, pattern, options \\ []) when is_list(options) do
    parts = parts(binary, places(binary, pattern, options, [:global, :trim, :trim_all]), 0, [])

    cond do
      :trim_all in options -> for part when part != "" <- Enum.reverse(parts), do: part
      :trim in options -> parts |> Enum.drop_while(&(&1 == "")) |> Enum.reverse()
      true -> Enum.reverse(parts)
    end
  end

  # The last one first.
  defpure parts(binary, [], from, parts), do: [Places.from(binary, from) | parts]

  defpure parts(binary, [{at, size} | places], from, parts),
    do: parts(binary, places, at + size, [binary_part(binary, from, at - from) | parts])

  defpure replace(binary, pattern, new, options \\ []) when is_binary(new) and is_list(options),
    do: Places.with_new(binary, places(binary, pattern, options, [:global]), new, 0, [])

  defpure places(binary, pattern, options, known) when is_binary(binary) do
    _ = Enum.map(options, fn option -> true = option in known end)
    pattern = Places.pattern(pattern)

    if :global in options,
      do: Places.all(binary, pattern, 0, []),
      else: Places.one(Places.next(binary, pattern, 0))
  end
end
