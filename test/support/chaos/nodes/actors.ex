defmodule Mote.Chaos.Nodes.Actors do
  @moduledoc "The actors of every node: those that count what comes, those that send, and one that is slow."
  use Mote.Behaviour

  # What each sender has sent here: how many, the greatest number, how often one came that was not greater.
  defactor tally(seen) do
    {customer, :seen} ->
      send customer, seen

    {sender, n} ->
      case Map.get(seen, sender, {0, 0, 0}) do
        {count, last, back} when n > last -> become seen: Map.put(seen, sender, {count + 1, n, back})
        {count, last, back} -> become seen: Map.put(seen, sender, {count + 1, last, back + 1})
      end
  end

  # Sends numbers to one address or process.
  defactor sender(name, to, n) do
    {customer, :sent} ->
      send customer, n

    :send ->
      send to, {name, n + 1}
      become n: n + 1
  end

  # Keeps its thread for some milliseconds.
  defactor slow(n) do
    {customer, :done} -> send customer, n
    :work -> become n: count(n, n + 2_000_000)
  end

  defpurep count(n, n), do: n
  defpurep count(m, n), do: count(m + 1, n)

  defdirectory tallies() do
    key when is_integer(key) -> tally(%{})
  end
end
