defmodule Mote.Telling do
  @moduledoc """
  Behaviours for tests of durable machines: what they tell processes, and keep of them, is to follow from what is on the disk.
  """

  use Mote.Behaviour

  # Tells a process a random number each millisecond, and knows what it has told.
  defactor teller(process, draws) do
    :tick ->
      draw = :rand.uniform()
      send process, {:told, map_size(draws), draw}
      send_after 1, self(), :tick
      become teller(process, Map.put(draws, map_size(draws), draw))

    {:tell_to, process} ->
      become teller(process, draws)

    {customer, :draws} ->
      send customer, draws
  end

  # Makes actors, among others that are collected, and tells all in a map, or in a list as well.
  defactor maker(made) do
    {customer, {:make, from, upto}} ->
      others = for n <- 1..500, do: create(cell({n, n, n}))
      for other <- others, do: send(other, {customer, :nothing})
      accounts = for n <- from..upto, do: create(cell(n))
      send customer, length(others)
      become maker(made ++ accounts)

    {customer, :map} ->
      send customer, for(account <- made, into: %{}, do: {account, 1})

    {customer, :list_and_map} ->
      send customer, {made, for(account <- made, into: %{}, do: {account, 1})}
  end

  # Tells something else if what it has is a function.
  defactor holding(what) do
    {customer, {:put, what}} ->
      send customer, :ok
      become holding(what)

    {customer, :tell} ->
      if is_function(what),
        do: send(customer, {create(cell(:first)), create(cell(:second))}),
        else: send(customer, create(cell(:other)))
  end

  defactor growing(kept) do
    {customer, {:grow, n}} ->
      send customer, :ok
      become growing([Enum.to_list(1..n) | kept])

    {customer, :count} ->
      send customer, length(kept)
  end

  defactor cell(value) do
    {customer, :value} -> send customer, value
  end

  # Keeps who asks, until it tells them.
  defactor line(waiting) do
    {customer, :wait} ->
      become line([customer | waiting])

    {customer, :count} ->
      send customer, length(waiting)

    {customer, :tell} ->
      for one <- waiting, do: send(one, create(cell(:told)))
      cell = create(cell(length(waiting)))
      send customer, cell
      become line([])
  end

  defactor tally(n) do
    :add ->
      become tally(n + 1)

    {customer, :add} ->
      send customer, n + 1
      become tally(n + 1)
  end

  defdirectory tallies() do
    _key -> tally(0)
  end
end
