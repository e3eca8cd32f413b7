defmodule Mote.Far.Entry do
  # What is sent to another node: a parcel has entries, one for each thing that the porter there is to do.
  @moduledoc false

  alias Mote.Machine.Long
  alias Mote.Native
  require Long

  @typedoc "A tuple whose first element says what is to be done (lib/mote/far/porter.ex)."
  @type t :: tuple

  # What an entry takes in a parcel, besides what is in it: mostly the address.
  @own 128

  # A term that takes this much written out may take a while to look through.
  @long 8 * 1024

  @parcel 64 * 1024

  @doc """
  About how many bytes an entry takes that brings a term: its words, and all that is in its binaries, which may be elsewhere. The
  external format alone will not do: a list of small integers is sixteen times as large in memory.
  """
  @spec bytes(term) :: pos_integer
  def bytes(term) do
    written = :erlang.external_size(term)
    # The quicker way holds up the scheduler until it is through.
    words = if written < @long, do: :erts_debug.flat_size(term), else: Long.dirty(Native.words_in(term))
    @own + 8 * words + written
  end

  @doc """
  Messages for one actor as they may leave, each some with their bytes: together, unless that would be more than a parcel.
  """
  @spec parts([term]) :: [{[term], pos_integer}]
  def parts(messages) do
    bytes = bytes(messages)

    if bytes <= @parcel or match?([_], messages) do
      [{messages, bytes}]
    else
      {some, others} = Enum.split(messages, div(length(messages), 2))
      parts(some) ++ parts(others)
    end
  end

  @doc "The bytes of a parcel: as many go fastest over a connection."
  @spec parcel() :: pos_integer
  def parcel, do: @parcel

  @doc "Returns how many messages are in entries: of users, to actors, customers and processes that have asked."
  @spec messages([t]) :: non_neg_integer
  def messages(entries), do: entries |> Enum.map(&count/1) |> Enum.sum()

  @doc "Returns how many are in one entry. Requests, calls and reports of Mote itself do not count."
  @spec count(t) :: non_neg_integer
  def count({:many, _machine, _key, _sponsor, messages}), do: length(messages)
  def count(entry) when elem(entry, 0) in [:send, :ask, :answer, :reply], do: 1
  def count(_entry), do: 0

  @doc "By what the process is told that waits for an answer, if one does."
  @spec asker(t) :: reference | nil
  def asker({:ask, _machine, _key, _sponsor, _request, tag}), do: tag
  def asker({:request, _machine, _key, _request, tag}), do: tag
  def asker({:create, _function, _args, tag}), do: tag
  def asker(_entry), do: nil

  @doc "The key by which this node has the actor that it is for, if it is for one."
  @spec target(t) :: binary | nil
  def target({kind, _machine, key, _sponsor, _what}) when kind in [:send, :many], do: key
  def target({:lend, _machine, key, _milliseconds}), do: key
  def target({:ask, _machine, key, _sponsor, _request, _tag}), do: key
  def target({:request, _machine, key, _request, _tag}), do: key
  def target(_other), do: nil
end
