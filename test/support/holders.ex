defmodule Mote.Holders do
  @moduledoc """
  Behaviours that hold and drop addresses, for the tests of the collector.
  """

  use Mote.Behaviour, errors: :undefined

  @doc "Holds what it was told last, and says what."
  defactor holder(links) do
    {customer, :links} ->
      send customer, links

    {customer, {:link, new}} ->
      send customer, :linked
      become holder(new)
  end

  @doc "Never answers; keeps the customer until it is told to let go."
  defactor silent(customers) do
    :let_go -> become silent([])
    {customer, :keep} -> become silent([customer | customers])
  end

  @doc "Two of itself for every message, without end."
  defactor bomb() do
    n ->
      left = create bomb()
      right = create bomb()
      send left, n + 1
      send right, n + 1
  end

  @doc "Builds a list of n elements, keeps it, and forgets it when asked for another one."
  defactor hoard(_list) do
    {customer, n} ->
      kept = for i <- 1..n, do: {i}
      send customer, :kept
      become hoard(kept)
  end

  @doc "Creates a holder for each message, which holds it and which nobody ever reaches again."
  defactor litter() do
    {customer, n} ->
      for i <- 1..n do
        holder = create holder({self(), i})
        send holder, :nothing
      end

      send customer, :littered
  end
end
