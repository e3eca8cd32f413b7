defmodule Mote.Directory.Place do
  # Which of a directory's shards has a key: the same in Elixir and in a machine, whatever the key is.
  #
  # It only has to spread keys evenly, and it is on the way of every message. So integers and texts are hashed by a few
  # operations, and what has no contents of its own, such as a pid or an address, belongs to one shard.
  @moduledoc false

  use Mote.Behaviour

  import Bitwise

  @word 0xFFFFFFFF
  @golden 0x9E3779B1

  @doc "The address of the shard that has the key."
  defpure shard(directory, key) do
    shards = directory.shards
    elem(shards, (spread(hash(key)) * tuple_size(shards)) >>> 32)
  end

  # Golden section: also of numbers in a row the upper bits differ.
  defpurep spread(hash), do: (bxor(hash, hash >>> 23) &&& 0x7FFFFFF) * @golden &&& @word

  defpure hash(key) when is_integer(key), do: key

  defpure hash(key) when is_binary(key) do
    size = byte_size(key)
    hash = for <<word::32 <- key>>, reduce: size, do: (hash -> bxor(hash * 33 &&& @word, word))

    # The last bytes, which may be part of the last word, too.
    case rem(size, 4) do
      0 -> hash
      left -> bxor(hash * 33 &&& @word, rest(binary_part(key, size - left, left)))
    end
  end

  defpure hash(key) when is_atom(key), do: hash(Atom.to_string(key))
  # A sum is never -0.0.
  defpure hash(key) when is_float(key), do: hash(<<key + 0.0::float>>)
  defpure hash(key) when is_tuple(key), do: hash(Tuple.to_list(key))
  defpure hash([]), do: 0
  defpure hash([head | tail]), do: bxor(hash(tail) * 33 &&& @word, hash(head))
  # For Elixir they are maps, for a machine they are not.
  defpure hash(%{__struct__: module}) when module in [Mote.Address, Mote.Customer, Mote.Timer], do: 1
  # The keys of a map are in no order that both sides know.
  defpure hash(key) when is_map(key), do: Enum.reduce(Map.values(key), map_size(key), &(&2 + hash(&1)))
  defpure hash(_), do: 1

  defpurep rest(<<byte, rest::binary>>), do: byte + 256 * rest(rest)
  defpurep rest(""), do: 0
end
