defmodule Mote.Directory.States do
  # The states of a directory's actors, shard by shard and part by part, as `Mote.Directory.fold/4` needs them.
  #
  # 1. Keys come in the order of the machine's maps. The next part begins behind the last key, so a key that is there all the time comes
  #    once.
  # 2. A part is seen by the calling process while the shard's thread sleeps, and otherwise by that thread between two turns.
  @moduledoc false

  alias Mote.{Address, Directory, Error, Native}
  alias Mote.Machine.{Long, Question}
  require Long

  @doc "Folds over `{key, state}` of the actors in the shards."
  @spec fold([Address.t()], Directory.t(), acc, (term, tuple, acc -> acc), timeout) :: acc when acc: term
  def fold(shards, directory, acc, fun, timeout) do
    Enum.reduce(shards, acc, fn shard, acc -> parts(shard, [], acc, {directory, fun, timeout}) end)
  end

  defp parts(shard, behind, acc, {_, _, timeout} = how) do
    {entries, more?} = part(shard, behind, timeout)
    acc = entries(entries, acc, how)

    if more? do
      {last, _state} = List.last(entries)
      parts(shard, [last], acc, how)
    else
      acc
    end
  end

  defp part(%{machine: machine, key: key} = shard, behind, timeout) do
    with word when is_atom(word) <- Native.peek_entries(machine, key, behind) do
      ask = &Long.call(behind, Native.inspect_entries(machine, key, behind, &1))

      machine |> Question.put(timeout, [address: shard], ask) |> Error.ok!()
    end
  end

  defp entries([{key, nil} | rest], acc, {directory, fun, _} = how) do
    case Directory.peek(directory, key) do
      {:ok, state} -> entries(rest, fun.(key, state, acc), how)
      # It was removed meanwhile.
      {:error, %Error{reason: :unknown_key}} -> entries(rest, acc, how)
      {:error, error} -> raise error
    end
  end

  defp entries([{key, state} | rest], acc, {_, fun, _} = how), do: entries(rest, fun.(key, state, acc), how)
  defp entries([], acc, _how), do: acc
end
