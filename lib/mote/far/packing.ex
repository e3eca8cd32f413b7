defmodule Mote.Far.Packing do
  # Writes entries into a parcel: each target address once, and its number with each entry. Consecutive messages for one
  # actor are one entry. So a parcel of small messages is a tenth as large, and its reader makes a machine's reference and
  # a key of each address once.
  #
  # 1. Unpacking returns the packed messages, in their order; consecutive messages for one actor and sponsor together.
  @moduledoc false

  alias Mote.Far.Entry

  @typedoc "Addresses as `{machine, key}`, and entries with numbers in place of these."
  @type packed :: {tuple, [tuple]}

  @doc "Packs the entries of a parcel."
  @spec pack([Entry.t()]) :: packed
  def pack(entries), do: pack(entries, [], %{}, [])

  defp pack([], packed, _numbers, targets),
    do: {targets |> Enum.reverse() |> List.to_tuple(), Enum.reverse(packed)}

  defp pack([{:send, machine, key, sponsor, message} | entries], packed, numbers, targets) do
    {n, numbers, targets} = number(machine, key, numbers, targets)

    case same(entries, machine, key, sponsor, []) do
      {[], _} -> pack(entries, [{:send, n, sponsor, message} | packed], numbers, targets)
      {more, entries} -> pack(entries, [{:many, n, sponsor, [message | more]} | packed], numbers, targets)
    end
  end

  defp pack([entry | entries], packed, numbers, targets)
       when elem(entry, 0) in [:many, :ask, :lend] do
    [kind, machine, key | rest] = Tuple.to_list(entry)
    {n, numbers, targets} = number(machine, key, numbers, targets)
    pack(entries, [List.to_tuple([kind, n | rest]) | packed], numbers, targets)
  end

  defp pack([entry | entries], packed, numbers, targets),
    do: pack(entries, [entry | packed], numbers, targets)

  # The messages that follow for the same actor, and what comes after them.
  defp same([{:send, machine, key, sponsor, message} | entries], machine, key, sponsor, messages),
    do: same(entries, machine, key, sponsor, [message | messages])

  defp same(entries, _machine, _key, _sponsor, messages), do: {Enum.reverse(messages), entries}

  defp number(machine, key, numbers, targets) do
    target = {machine, key}

    case numbers do
      %{^target => n} -> {n, numbers, targets}
      _ -> {map_size(numbers), Map.put(numbers, target, map_size(numbers)), [target | targets]}
    end
  end

  @doc "The entries of a parcel; raises `ArgumentError` or `FunctionClauseError` if these are none."
  @spec unpack(packed) :: [Entry.t()]
  def unpack({targets, entries}), do: Enum.map(entries, &unpacked(&1, targets))

  defp unpacked({:send, n, sponsor, message}, targets) do
    {machine, key} = target(targets, n)
    {:send, machine, key, sponsor, message}
  end

  defp unpacked({:many, n, sponsor, messages}, targets) do
    {machine, key} = target(targets, n)
    {:many, machine, key, sponsor, messages}
  end

  defp unpacked({:ask, n, sponsor, request, tag}, targets) do
    {machine, key} = target(targets, n)
    {:ask, machine, key, sponsor, request, tag}
  end

  defp unpacked({:lend, n, milliseconds}, targets) do
    {machine, key} = target(targets, n)
    {:lend, machine, key, milliseconds}
  end

  defp unpacked(entry, _targets), do: entry

  defp target(targets, n) when is_integer(n), do: pair(elem(targets, n))

  defp pair({_machine, _key} = target), do: target
end
