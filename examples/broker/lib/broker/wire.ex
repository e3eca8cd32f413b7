defmodule Broker.Wire do
  # The data types of MQTT, both ways (chapter 1.5 of the standards).
  #
  # Invariants:
  # 1. What is read is checked: a text is UTF-8 without U+0000.
  # 2. Nothing is copied: what is read is part of the buffer.
  @moduledoc false
  use Mote.Behaviour
  import Bitwise

  @doc "A number of one to four bytes, seven bits in each, the lowest first."
  defpure varint(<<0::1, n::7, rest::binary>>), do: {:ok, n, rest}
  defpure varint(<<1::1, a::7, 0::1, b::7, rest::binary>>), do: {:ok, b * 128 + a, rest}

  defpure varint(<<1::1, a::7, 1::1, b::7, 0::1, c::7, rest::binary>>),
    do: {:ok, (c * 128 + b) * 128 + a, rest}

  defpure varint(<<1::1, a::7, 1::1, b::7, 1::1, c::7, 0::1, d::7, rest::binary>>),
    do: {:ok, ((d * 128 + c) * 128 + b) * 128 + a, rest}

  defpure varint(bytes), do: if(byte_size(bytes) < 4, do: :more, else: :error)

  @doc "Bytes behind their number."
  defpure binary(<<size::16, bytes::binary-size(size), rest::binary>>), do: {:ok, bytes, rest}
  defpure binary(_), do: :error

  @doc "A text."
  defpure text(bytes) do
    with {:ok, text, _} = read <- binary(bytes) do
      if String.valid?(text) and :binary.match(text, <<0>>) == :nomatch, do: read, else: :error
    end
  end

  @doc "Writes a number."
  defpure from_varint(n) when n < 0x80, do: <<n>>
  defpure from_varint(n) when n < 0x4000, do: <<1::1, n::7, n >>> 7>>
  defpure from_varint(n) when n < 0x200000, do: <<1::1, n::7, 1::1, n >>> 7::7, n >>> 14>>
  defpure from_varint(n), do: <<1::1, n::7, 1::1, n >>> 7::7, 1::1, n >>> 14::7, n >>> 21>>

  @doc "Writes bytes, or a text."
  defpure from_binary(bytes), do: <<byte_size(bytes)::16, bytes::binary>>
end
