defmodule Mote.Travellers do
  @moduledoc """
  Behaviours that move between sponsors.
  """

  use Mote.Behaviour, errors: :undefined

  @doc "Sends to itself as often as told, then answers."
  defactor runner() do
    {customer, 0} ->
      send customer, :arrived

    {customer, n} ->
      send self(), {customer, n - 1}
  end

  @doc "Has a runner run in another sponsor, and counts the arrivals, each of which should come home."
  defactor traveller(home, away, arrived) do
    {:go, runner, n} -> sendx away, runner, {on(home, self()), n}
    :arrived -> become traveller(home, away, arrived + 1)
    {customer, :arrived?} -> send customer, arrived
  end

  @doc "Answers after so many steps."
  defactor spinner(out) do
    n ->
      0 = spin(n)
      send out, {:done, n}
  end

  defpure spin(n), do: if(n == 0, do: 0, else: spin(n - 1))

  @doc "Passes on, by the sponsor of that name."
  defactor crossing(sponsor, target) do
    message -> sendx sponsor, target, message
  end

  @doc "Makes a runner that is pinned to the sponsor of that name."
  defactor pinner() do
    {customer, sponsor} -> send customer, create(runner(), sponsor: sponsor)
  end

  @doc "Passes tokens to its neighbours, one after the other, until their hops are used up."
  defactor stop(here, there, out) do
    {:wire, here, there} ->
      become stop(here, there, out)

    {0, token} ->
      send out, {:token, token}

    {hops, token} ->
      send here, {hops - 1, token}
      become stop(there, here, out)
  end

  @doc """
  A node of a graph: adds up what it gets, and sends it on, weighted, over every link. A link is
  `{sponsor, address, weight}`; the sponsor `nil` stands for a plain send.
  """
  defactor node(links, sum) do
    {:wire, links} ->
      become node(links, sum)

    {customer, :sum} ->
      send customer, sum

    {:add, 0, value} ->
      become node(links, sum + value)

    {:add, hops, value} ->
      for {sponsor, address, weight} <- links do
        message = {:add, hops - 1, rem(value * weight + 1, 1_000_003)}
        if sponsor == nil, do: send(address, message), else: sendx(sponsor, address, message)
      end

      become node(links, sum + value)
  end

  @doc "Answers every number at once, and once more after so many milliseconds."
  defactor twice(ms) do
    {customer, n} ->
      send customer, {:now, n}
      send_after(ms, customer, {:later, n})
  end

  @doc "Splits up until depth 0, and every leaf sends one message."
  defactor tree(out) do
    0 ->
      send out, :leaf

    depth ->
      send create(tree(out)), depth - 1
      send create(tree(out)), depth - 1
  end
end
