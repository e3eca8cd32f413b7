defmodule Mote.Dashboard.JSON do
  # JSON, one way: Elixir 1.14 has none, and a page is no reason for a dependency.
  #
  # 1. Every term has a text: a term that JSON has no form for (tuple, struct, pid, …) is written as
  #    `inspect/1` shows it.
  # 2. The output is valid UTF-8, whatever is in a binary.
  @moduledoc false

  @replacement "\uFFFD"

  @doc "The term as JSON."
  @spec encode(term) :: iodata
  def encode(nil), do: "null"
  def encode(true), do: "true"
  def encode(false), do: "false"
  def encode(atom) when is_atom(atom), do: string(Atom.to_string(atom))
  def encode(integer) when is_integer(integer), do: Integer.to_string(integer)
  def encode(float) when is_float(float), do: :erlang.float_to_binary(float, [:short])
  def encode(text) when is_binary(text), do: string(text)
  def encode(struct) when is_struct(struct), do: string(inspect(struct))

  def encode(map) when is_map(map),
    do: [?{, commas(map, fn {key, value} -> [string(key(key)), ?:, encode(value)] end), ?}]

  def encode(list) when is_list(list) do
    # An improper list has no length.
    if List.improper?(list), do: string(inspect(list)), else: [?[, commas(list, &encode/1), ?]]
  end

  def encode(other), do: string(inspect(other))

  defp commas(parts, encode), do: parts |> Enum.map(encode) |> Enum.intersperse(?,)

  defp key(key) when is_binary(key), do: key
  defp key(key) when is_atom(key), do: Atom.to_string(key)
  defp key(key), do: inspect(key)

  defp string(text), do: [?", escape(text, []), ?"]

  # Characters that need no escape are most of them: those of ASCII go one by one, and that is fast enough for a page.
  defp escape("", written), do: Enum.reverse(written)
  defp escape(<<?", rest::binary>>, written), do: escape(rest, ["\\\"" | written])
  defp escape(<<?\\, rest::binary>>, written), do: escape(rest, ["\\\\" | written])
  defp escape(<<?\n, rest::binary>>, written), do: escape(rest, ["\\n" | written])

  defp escape(<<control, rest::binary>>, written) when control < 0x20,
    do: escape(rest, ["\\u" <> (control |> Integer.to_string(16) |> String.pad_leading(4, "0")) | written])

  defp escape(<<char, rest::binary>>, written) when char < 0x80, do: escape(rest, [char | written])
  defp escape(<<char::utf8, rest::binary>>, written), do: escape(rest, [<<char::utf8>> | written])
  defp escape(<<_invalid, rest::binary>>, written), do: escape(rest, [@replacement | written])
end
