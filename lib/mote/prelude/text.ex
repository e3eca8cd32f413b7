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
  defpure of_list(list), do: Mote.Total.binary_join(flat(list), :utf8)

  # All that is in lists of lists, as one list. A binary may be the end of each.
  defpure flat(list) when is_list(list), do: if(flat?(list), do: list, else: Enum.reverse(elements(list, [])))

  defpure flat?([]), do: true
  defpure flat?([x | rest]) when not is_list(x), do: flat?(rest)
  defpure flat?(_), do: false

  defpure elements([], done), do: done
  defpure elements([x | rest], done) when is_list(x), do: elements(rest, elements(x, done))
  defpure elements([x | rest], done), do: elements(rest, [x | done])
  defpure elements(binary, done) when is_binary(binary), do: [binary | done]

  defpure of_ascii([_ | _] = list), do: of_list(Enum.map(list, fn c when c in 0..127 -> c end))

  defpure of_chardata(text) when is_binary(text), do: text
  defpure of_chardata(list), do: of_list(list)

  # `List.to_charlist/1`.
  defpure characters(list), do: Mote.Total.binary_list(of_list(list), :utf8)

  # `Kernel.to_charlist/1`.
  defpure charlist(list) when is_list(list), do: list
  defpure charlist(other), do: Mote.Total.binary_list(to_string(other), :utf8)

  # -- bytes and binaries --------------------------------------------------------------------------------------

  defpure of_iodata(binary) when is_binary(binary), do: binary
  defpure of_iodata(list), do: Mote.Total.binary_join(flat(list), :bytes)

  defpure bytes(iodata), do: byte_size(of_iodata(iodata))

  # -- of Atom -------------------------------------------------------------------------------------------------

  # `to_string/1` makes nothing of nil.
  defpure of_atom(nil), do: "nil"
  defpure of_atom(atom) when is_atom(atom), do: to_string(atom)

  defpure of_atom_characters(atom), do: charlist(of_atom(atom))
end
