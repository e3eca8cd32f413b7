defmodule Mote.Prelude.Text do
  # Text that is put together: of texts with something between them, of lists of characters and texts (chardata), and of
  # lists of bytes and binaries (iodata). Lists may be as long as memory allows, and nest as deep as the stack does.
  @moduledoc false
  use Mote.Behaviour

  defpure joined(texts, joiner), do: Mote.Total.binary_join(texts, joiner)

  # Of bitstrings.
  defpure bits(bitstrings), do: Mote.Total.binary_join(bitstrings, nil)

  # -- characters and texts ------------------------------------------------------------------------------------

  # `List.to_string/1`, which is also what `to_string/1` does with a list.
  defpure of_list(list) when is_list(list), do: joined(Enum.reverse(texts(list, [])), "")

  defpure texts([], done), do: done
  defpure texts([c | rest], done) when is_integer(c), do: texts(rest, [<<c::utf8>> | done])
  defpure texts([list | rest], done) when is_list(list), do: texts(rest, texts(list, done))
  defpure texts([text | rest], done), do: texts(rest, [valid(text, text) | done])
  defpure texts(text, done), do: [valid(text, text) | done]

  defpure of_ascii([_ | _] = list), do: of_list(Enum.map(list, fn c when c in 0..127 -> c end))

  # The text itself, if it is one from here on.
  defpure valid("", text), do: text
  defpure valid(<<_::utf8, rest::binary>>, text), do: valid(rest, text)

  defpure of_chardata(text) when is_binary(text), do: text
  defpure of_chardata(list), do: of_list(list)

  # `List.to_charlist/1`.
  defpure characters(list) when is_list(list), do: Enum.reverse(points(list, []))

  defpure points([], done), do: done
  defpure points([c | rest], done) when is_integer(c), do: points(rest, points(<<c::utf8>>, done))
  defpure points([other | rest], done), do: points(rest, points(other, done))
  defpure points("", done), do: done
  defpure points(<<c::utf8, rest::binary>>, done), do: points(rest, [c | done])

  # `Kernel.to_charlist/1`.
  defpure charlist(list) when is_list(list), do: list
  defpure charlist(other), do: Enum.reverse(points(to_string(other), []))

  # -- bytes and binaries --------------------------------------------------------------------------------------

  defpure of_iodata(binary) when is_binary(binary), do: binary
  defpure of_iodata(list) when is_list(list), do: joined(Enum.reverse(binaries(list, [])), "")

  defpure binaries([], done), do: done
  defpure binaries([byte | rest], done) when byte in 0..255, do: binaries(rest, [<<byte>> | done])
  defpure binaries([list | rest], done) when is_list(list), do: binaries(rest, binaries(list, done))
  defpure binaries([binary | rest], done) when is_binary(binary), do: binaries(rest, [binary | done])
  defpure binaries(binary, done) when is_binary(binary), do: [binary | done]

  defpure bytes(iodata), do: byte_size(of_iodata(iodata))

  # -- of Atom -------------------------------------------------------------------------------------------------

  # `to_string/1` makes nothing of nil.
  defpure of_atom(nil), do: "nil"
  defpure of_atom(atom) when is_atom(atom), do: to_string(atom)

  defpure of_atom_characters(atom), do: Enum.reverse(points(of_atom(atom), []))
end
