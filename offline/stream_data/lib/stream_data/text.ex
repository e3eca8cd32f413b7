defmodule StreamData.Text do
  @moduledoc """
  Generators of binaries, strings and atoms, behind the functions of the same names in `StreamData`.
  """

  import StreamData, only: [map: 2, filter: 2, frequency: 1, list_of: 2, integer: 1, scale: 2]

  @ascii [?\s..?~]
  @alphanumeric [?a..?z, ?A..?Z, ?0..?9]
  # Without the surrogates, which are no characters.
  @utf8 [0..0xD7FF, 0xE000..0x10FFFF]

  @doc """
  A binary of random bytes. Takes the length options of `StreamData.list_of/2`, in bytes.
  """
  @spec binary(keyword) :: StreamData.t(binary)
  def binary(options \\ []), do: StreamData.byte() |> list_of(options) |> map(&:erlang.list_to_binary/1)

  @doc """
  A bitstring of random bits. Takes the length options of `StreamData.list_of/2`, in bits.
  """
  @spec bitstring(keyword) :: StreamData.t(bitstring)
  def bitstring(options \\ []) do
    integer(0..1) |> list_of(options) |> map(&for(bit <- &1, into: <<>>, do: <<bit::1>>))
  end

  @doc """
  A codepoint of the kind: `:ascii` (printable ones), `:alphanumeric`, `:printable` or `:utf8`.
  """
  @spec codepoint(:ascii | :alphanumeric | :printable | :utf8) :: StreamData.t(char)
  def codepoint(kind \\ :utf8)
  def codepoint(:ascii), do: from_ranges(@ascii)
  def codepoint(:alphanumeric), do: from_ranges(@alphanumeric)

  # Half of it simple: a string all of whose characters are exotic tests little else.
  def codepoint(:utf8), do: frequency([{1, codepoint(:ascii)}, {1, from_ranges(@utf8)}])

  def codepoint(:printable) do
    frequency([
      {2, codepoint(:ascii)},
      {1, from_ranges([0x00A1..0x00AC, 0x00AE..0x0377])},
      {1, filter(from_ranges([0x4E00..0x9FFF, 0x1F300..0x1F5FF]), &String.printable?(<<&1::utf8>>))}
    ])
  end

  @doc """
  A string of the kind (see `codepoint/1`), or of the characters in a range or in a list of characters and ranges.

  Takes the length options of `StreamData.list_of/2`, in codepoints. Shrinks towards fewer and simpler ones.
  """
  @spec string(atom | Range.t() | [char | Range.t()], keyword) :: StreamData.t(String.t())
  def string(kind_or_codepoints, options \\ [])

  def string(kind, options) when kind in [:ascii, :alphanumeric, :printable, :utf8] do
    kind |> codepoint() |> string_of(options)
  end

  def string(%Range{} = range, options), do: [range] |> from_ranges() |> string_of(options)

  def string([_ | _] = codepoints, options) do
    codepoints
    |> Enum.map(fn
      %Range{} = range -> range
      codepoint when is_integer(codepoint) -> codepoint..codepoint
    end)
    |> from_ranges()
    |> string_of(options)
  end

  def string(other, _options) do
    raise ArgumentError, "unsupported kind of string: #{inspect(other)}"
  end

  @doc """
  An atom: `:alphanumeric`, as written without quotes, or an `:alias` like `Some.Module`.
  """
  @spec atom(:alphanumeric | :alias) :: StreamData.t(atom)
  def atom(:alphanumeric) do
    first = from_ranges([?a..?z, ?A..?Z, ?_..?_])
    rest = from_ranges([?a..?z, ?A..?Z, ?0..?9, ?_..?_, ?@..?@]) |> string_of([])

    # An atom lives for ever and has at most 255 characters.
    {first, scale(rest, &min(&1, 254))}
    |> map(fn {first, rest} -> String.to_atom(<<first, rest::binary>>) end)
  end

  def atom(:alias) do
    segment =
      {from_ranges([?A..?Z]), from_ranges([?a..?z, ?A..?Z, ?0..?9]) |> string_of(max_length: 20)}
      |> map(fn {first, rest} -> <<first, rest::binary>> end)

    segment |> list_of(min_length: 1, max_length: 5) |> map(&Module.concat/1)
  end

  defp string_of(codepoints, options), do: codepoints |> list_of(options) |> map(&List.to_string/1)

  defp from_ranges(ranges) do
    ranges |> Enum.map(&{Enum.count(&1), integer(&1)}) |> frequency()
  end
end
