defmodule Mote.Machine.Long do
  # Terms that a call of the NIF does not write at once: they are large, or there is a long binary in them.
  #
  # A long binary is shared with the machine. It may be a small part of a large one, which it keeps alive:
  # only this side can see how much that is. So the NIF is called again with that figure, and copies binaries
  # that are not worth sharing.
  @moduledoc false

  # Shorter binaries are copied in any case, as the NIF knows.
  @shared 4_096

  # Shorter ones keep nothing.
  @kept 64

  @typedoc "The sizes that long binaries keep alive, and those that functions keep by their captured binaries."
  @type kept :: [{binary | fun, non_neg_integer}]

  @doc """
  Calls a function of the NIF that writes `term`. If that does not write it at once, calls it again, told what long binaries
  in `term` keep, or its form for dirty schedulers, whose name ends in `_big`. A macro, for until then nothing is made.
  """
  defmacro call(term, {{:., dot, [module, name]}, meta, arguments} = first) do
    told = arguments ++ [quote(do: kept)]
    normal = {{:., dot, [module, name]}, meta, told}
    dirty = {{:., dot, [module, :"#{name}_big"]}, meta, told}

    quote do
      with word when word in [:big, :long] <- unquote(first) do
        unquote(__MODULE__).again(word, unquote(term), fn kept -> unquote(normal) end, fn kept ->
          unquote(dirty)
        end)
      end
    end
  end

  @doc """
  Calls a function of the NIF, and if that would take too long for a normal scheduler, its form for dirty ones.
  """
  defmacro dirty({{:., dot, [module, name]}, meta, arguments} = normal) do
    dirty = {{:., dot, [module, :"#{name}_big"]}, meta, arguments}
    quote(do: with(:big <- unquote(normal), do: unquote(dirty)))
  end

  @doc """
  Calls a function of the NIF that takes the first parts of a list, and if the first one would take too long for a normal
  scheduler, its form for dirty ones.
  """
  defmacro batch({{:., dot, [module, name]}, meta, arguments} = normal) do
    dirty = {{:., dot, [module, :"#{name}_big"]}, meta, arguments}
    quote(do: with({_, _, :big} <- unquote(normal), do: unquote(dirty)))
  end

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

  @doc "Returns the sizes that all long binaries and all functions in `term` keep alive."
  @spec kept(term, kept) :: kept
  def kept(term, found \\ [])

  def kept(binary, found) when is_binary(binary) and byte_size(binary) > @shared,
    do: [{binary, :binary.referenced_byte_size(binary)} | found]

  def kept([head | tail], found), do: kept(tail, kept(head, found))
  def kept(tuple, found) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> kept(found)

  def kept(map, found) when is_map(map),
    do: :maps.fold(fn key, value, found -> kept(value, kept(key, found)) end, found, map)

  def kept(function, found) when is_function(function) do
    case captured(function) do
      0 -> found
      bytes -> [{function, bytes} | found]
    end
  end

  def kept(_other, found), do: found

  # The machine cannot look into a function, nor make one of its own: so it keeps all that this one does.
  defp captured(function) do
    {:env, values} = :erlang.fun_info(function, :env)
    bytes(values)
  end

  defp bytes(binary) when is_binary(binary) and byte_size(binary) > @kept,
    do: :binary.referenced_byte_size(binary)

  # The beginning of a bitstring keeps what all of it does.
  defp bytes(<<start::binary-size(65), _::bitstring>>), do: :binary.referenced_byte_size(start)

  defp bytes([head | tail]), do: bytes(head) + bytes(tail)
  defp bytes(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> bytes()

  defp bytes(map) when is_map(map),
    do: :maps.fold(fn key, value, n -> n + bytes(key) + bytes(value) end, 0, map)

  defp bytes(function) when is_function(function), do: captured(function)
  defp bytes(_other), do: 0
end
