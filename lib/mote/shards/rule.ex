defmodule Mote.Shards.Rule.Code do
  # Which member has a key: the one whose score for it is the highest (rendezvous hashing). One source for behaviours and for
  # processes.
  #
  # 1. A score depends on the key and on that one member. So a member that comes takes keys from the others and gives none, and one
  #    that goes leaves its keys to the others: no other key moves.
  # 2. A key is known by its hash of 32 bits here, and a member by its seed of as many: products stay below 2^58, which are small
  #    integers on both sides.
  @moduledoc false

  @word 0xFFFFFFFF

  @doc "The functions `owner/2` and `score/2`, defined by `define`, a word such as `def`."
  defmacro functions(define) do
    quote do
      # Members are `{seed, anything}`, in an order that is the same everywhere, and at least one.
      unquote(define)(owner(hash, [{seed, _} = first | rest]),
        do: better(hash, rest, first, score(hash, seed))
      )

      unquote(define)(better(hash, members, best, most)) do
        case members do
          [] ->
            best

          [{seed, _} = member | rest] ->
            score = score(hash, seed)
            if score > most, do: better(hash, rest, member, score), else: better(hash, rest, best, most)
        end
      end

      unquote(define)(score(hash, seed)) do
        word = mixed(Bitwise.bxor(mixed(hash, 16, 0x3504F33), seed), 15, 0x2B3A68D)
        Bitwise.bxor(word, word >>> 16)
      end

      unquote(define)(mixed(word, bits, factor),
        do: Bitwise.bxor(word, word >>> bits) * factor &&& unquote(@word)
      )
    end
  end
end

defmodule Mote.Shards.Rule do
  # For behaviours.
  @moduledoc false
  use Mote.Behaviour
  import Bitwise
  require Mote.Shards.Rule.Code, as: Code

  Code.functions(:defpure)
end

defmodule Mote.Shards.Rule.Plain do
  # For processes.
  @moduledoc false
  import Bitwise
  require Mote.Shards.Rule.Code, as: Code

  Code.functions(:def)

  @doc "The hash of a key: the same on all nodes."
  @spec hash(term) :: non_neg_integer
  def hash(key), do: :erlang.phash2(key, 0x100000000)

  @doc "The seed of a node."
  @spec seed(node) :: non_neg_integer
  def seed(node), do: :erlang.phash2({__MODULE__, node}, 0x100000000)
end
