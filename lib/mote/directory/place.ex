defmodule Mote.Directory.Place.Code do
  # Tells which of a directory's shards has a key, by one source for behaviours and for processes. A `defpure` function
  # that a process runs as a turn counts fuel, which takes longer than sending.
  #
  # It only has to spread keys evenly, and it is on the way of every message. So integers and texts are hashed by a few
  # operations, and terms without contents of their own, such as pids and addresses, belong to one shard.
  @moduledoc false

  @word 0xFFFFFFFF
  @golden 0x9E3779B1

  @doc "The functions `shard/2` and `hash/1`, defined by `define`, a word such as `def`."
  defmacro functions(define) do
    [main(define), parts(define)]
  end

  defp main(define) do
    quote do
      # Golden section: consecutive numbers differ in their upper bits, too.
      unquote(define)(spread(hash),
        do: (Bitwise.bxor(hash, hash >>> 23) &&& 0x7FFFFFF) * unquote(@golden) &&& unquote(@word)
      )

      unquote(define)(
        shard(%{shards: shards}, key),
        do: elem(shards, (spread(hash(key)) * tuple_size(shards)) >>> 32)
      )

      unquote(define)(hash(key) when is_integer(key), do: key)

      unquote(define)(hash(key) when is_binary(key)) do
        size = byte_size(key)
        hash = for <<word::32 <- key>>, reduce: size, do: (hash -> join(hash, word))

        # The last bytes, if they are not a word.
        case rem(size, 4) do
          0 -> hash
          left -> join(hash, rest(binary_part(key, size - left, left)))
        end
      end

      unquote(define)(hash(key) when is_atom(key), do: hash(Atom.to_string(key)))
      # A sum is never -0.0.
      unquote(define)(hash(key) when is_float(key), do: hash(<<key + 0.0::float>>))
      unquote(define)(hash(key) when is_tuple(key), do: hash(Tuple.to_list(key)))
      unquote(define)(hash([]), do: 0)
      unquote(define)(hash([head | tail]), do: join(hash(tail), hash(head) &&& unquote(@word)))

      # For Elixir they are maps, for a machine they are not.
      unquote(define)(
        hash(%{__struct__: module}) when module in [Mote.Address, Mote.Customer, Mote.Outbox, Mote.Timer],
        do: 1
      )

      # The keys of a map are in no order that both sides know.
      unquote(define)(
        hash(key) when is_map(key),
        do: Enum.reduce(Map.values(key), map_size(key), fn value, sum -> sum + hash(value) end)
      )

      unquote(define)(hash(_), do: 1)
    end
  end

  defp parts(define) do
    quote do
      unquote(define)(join(hash, word), do: Bitwise.bxor(hash * 33 &&& unquote(@word), word))
      unquote(define)(rest(<<byte, rest::binary>>), do: byte + 256 * rest(rest))
      unquote(define)(rest(""), do: 0)
    end
  end
end

defmodule Mote.Directory.Place do
  # For behaviours.
  @moduledoc false
  use Mote.Behaviour
  import Bitwise
  require Mote.Directory.Place.Code, as: Code

  Code.functions(:defpure)
end

defmodule Mote.Directory.Place.Plain do
  # For processes.
  @moduledoc false
  import Bitwise
  require Mote.Directory.Place.Code, as: Code

  Code.functions(:def)
end
