defmodule Mote.Bench.Northwind.Json do
  # Reads one JSON text (RFC 8259), strictly: for the lines of `--data`, which are small. It is no library: nothing is
  # written, nothing can be chosen. Objects become maps with binaries as keys, `null` becomes nil.
  @moduledoc false

  @typedoc "What a JSON text says."
  @type value :: nil | boolean | number | String.t() | [value] | %{String.t() => value}

  @space ~c" \t\n\r"

  @doc """
  The value of a text. An error says what is wrong and at which byte, counted from 1.

      iex> Mote.Bench.Northwind.Json.read(~S({"id": 7, "tags": ["caf\\u00e9", null]}))
      {:ok, %{"id" => 7, "tags" => ["café", nil]}}
      iex> Mote.Bench.Northwind.Json.read("[1, 02]")
      {:error, "expected , or ] at byte 6"}
  """
  @spec read(binary) :: {:ok, value} | {:error, String.t()}
  def read(text) do
    {value, rest} = text |> skip() |> value()

    case skip(rest) do
      "" -> {:ok, value}
      rest -> wrong("expected the end", rest)
    end
  catch
    {:wrong, what, rest} -> {:error, "#{what} at byte #{byte_size(text) - byte_size(rest) + 1}"}
  end

  defp value("null" <> rest), do: {nil, rest}
  defp value("true" <> rest), do: {true, rest}
  defp value("false" <> rest), do: {false, rest}
  defp value(<<?", rest::binary>>), do: string(rest, [])

  defp value("[" <> rest) do
    case skip(rest) do
      "]" <> rest -> {[], rest}
      rest -> array(rest, [])
    end
  end

  defp value("{" <> rest) do
    case skip(rest) do
      "}" <> rest -> {%{}, rest}
      rest -> object(rest, %{})
    end
  end

  defp value(text), do: number(text)

  defp array(text, read) do
    {value, rest} = value(text)

    case skip(rest) do
      "," <> rest -> rest |> skip() |> array([value | read])
      "]" <> rest -> {Enum.reverse(read, [value]), rest}
      rest -> wrong("expected , or ]", rest)
    end
  end

  defp object(<<?", rest::binary>> = text, read) do
    {key, rest} = string(rest, [])
    if is_map_key(read, key), do: wrong("the key #{inspect(key)} is there twice", text)
    {value, rest} = rest |> skip() |> colon() |> skip() |> value()
    read = Map.put(read, key, value)

    case skip(rest) do
      "," <> rest -> rest |> skip() |> object(read)
      "}" <> rest -> {read, rest}
      rest -> wrong("expected , or }", rest)
    end
  end

  defp object(text, _read), do: wrong("expected a key in quotes", text)

  defp colon(":" <> rest), do: rest
  defp colon(text), do: wrong("expected :", text)

  defp string(<<?", rest::binary>>, read), do: {read |> Enum.reverse() |> IO.iodata_to_binary(), rest}
  defp string(<<?\\, rest::binary>>, read), do: escape(rest, read)
  defp string(<<char::utf8, rest::binary>>, read) when char >= 0x20, do: string(rest, [<<char::utf8>> | read])
  defp string("", _read), do: wrong("expected the end of a string", "")
  defp string(text, _read), do: wrong("a string cannot have this byte", text)

  for {letter, char} <- [
        {?", ?"},
        {?\\, ?\\},
        {?/, ?/},
        {?b, ?\b},
        {?f, ?\f},
        {?n, ?\n},
        {?r, ?\r},
        {?t, ?\t}
      ] do
    defp escape(<<unquote(letter), rest::binary>>, read), do: string(rest, [unquote(char) | read])
  end

  # Characters beyond 16 bits are two halves.
  defp escape(<<?u, digits::binary-size(4), rest::binary>> = text, read) do
    case {hex(digits, text), rest} do
      {high, <<"\\u", digits::binary-size(4), rest::binary>>} when high in 0xD800..0xDBFF ->
        low = hex(digits, text)
        unless low in 0xDC00..0xDFFF, do: wrong("half a character", text)
        string(rest, [<<0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00)::utf8>> | read])

      {half, _} when half in 0xD800..0xDFFF ->
        wrong("half a character", text)

      {char, rest} ->
        string(rest, [<<char::utf8>> | read])
    end
  end

  defp escape(text, _read), do: wrong("unknown escape", text)

  defp hex(digits, text) do
    if digits =~ ~r/\A[0-9a-fA-F]{4}\z/,
      do: String.to_integer(digits, 16),
      else: wrong("expected four hexadecimal digits", text)
  end

  @number ~r/\A(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?/

  defp number(text) do
    case Regex.run(@number, text) do
      nil -> wrong("expected a value", text)
      [integer, integer] -> {String.to_integer(integer), rest(text, integer)}
      [all, integer, "" | [exponent]] -> {float(integer <> ".0" <> exponent, text), rest(text, all)}
      [all | _] -> {float(all, text), rest(text, all)}
    end
  end

  defp float(digits, text) do
    String.to_float(digits)
  rescue
    ArgumentError -> wrong("a number out of range", text)
  end

  defp rest(text, read), do: binary_part(text, byte_size(read), byte_size(text) - byte_size(read))

  defp skip(<<char, rest::binary>>) when char in @space, do: skip(rest)
  defp skip(text), do: text

  @spec wrong(String.t(), binary) :: no_return
  defp wrong(what, rest), do: throw({:wrong, what, rest})
end
