defmodule Mote.Machine.Long do
  # Terms that a call of the NIF does not write at once: they are large, or there is a long binary in them.
  #
  # A long binary is shared with the machine. It may be a small part of a large one, which it keeps alive: what it keeps can
  # only be seen from here. So the NIF is called again with that, and copies what is not worth sharing.
  @moduledoc false

  # Shorter binaries are copied in any case, as the NIF knows.
  @shared 4_096

  @typedoc "What long binaries keep."
  @type kept :: [{binary, non_neg_integer}]

  @doc """
  What comes of writing `term` after all, when the first answer was `word`: by `normal` for a normal scheduler, or by
  `dirty` for a dirty one.
  """
  @spec again(:big | :long, term, (kept -> answer), (kept | nil -> answer)) :: answer when answer: term
  def again(:big, term, _normal, dirty) do
    with :long <- dirty.(nil), do: dirty.(kept(term, []))
  end

  def again(:long, term, normal, dirty) do
    kept = kept(term, [])
    with :big <- normal.(kept), do: dirty.(kept)
  end

  @doc "What all long binaries in `term` keep."
  @spec kept(term, kept) :: kept
  def kept(term, found \\ [])

  def kept(binary, found) when is_binary(binary) and byte_size(binary) > @shared,
    do: [{binary, :binary.referenced_byte_size(binary)} | found]

  def kept([head | tail], found), do: kept(tail, kept(head, found))
  def kept(tuple, found) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> kept(found)

  def kept(map, found) when is_map(map),
    do: :maps.fold(fn key, value, found -> kept(value, kept(key, found)) end, found, map)

  def kept(_other, found), do: found
end
