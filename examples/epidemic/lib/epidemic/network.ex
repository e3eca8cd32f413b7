defmodule Epidemic.Network do
  @moduledoc """
  Who meets whom. People are numbers from 0; everybody has the same number of contacts, and contacts are mutual.

  `near` of them live around: the next numbers on both sides, as on a ring. `far` of them live anywhere: for each of these the
  whole population is put into pairs at random. A pair is found by calculation, in both directions, so no table is needed.

      iex> Epidemic.Network.contacts(0, {10, 4, 0, 1})
      [1, 9, 2, 8]
      iex> town = {1_000, 0, 3, 1}
      iex> for i <- 0..999, j <- Epidemic.Network.contacts(i, town), i not in Epidemic.Network.contacts(j, town), do: {i, j}
      []
  """
  use Mote.Behaviour
  import Bitwise
  alias Epidemic.Dice

  @rounds 4

  @doc "The contacts of a person in a town of `{people, near, far, seed}`."
  defpure contacts(i, {people, near, far, seed}) do
    around(i, people, div(near, 2), anywhere(i, people, far, seed, []))
  end

  defpurep around(_i, _people, 0, others), do: others

  defpurep around(i, people, step, others) do
    around(i, people, step - 1, [rem(i + step, people), rem(i + people - step, people) | others])
  end

  defpurep anywhere(_i, _people, 0, _seed, others), do: others

  defpurep anywhere(i, people, n, seed, others) do
    anywhere(i, people, n - 1, seed, [partner(i, people, Dice.of(seed, -n)) | others])
  end

  # A shuffle puts everybody into a place; neighbours by place are a pair.
  defpurep partner(i, people, key) do
    half = half(people, 1)
    place = shuffle(i, people, half, key)
    shuffle_back(bxor(place, 1), people, half, key)
  end

  # How many bits are half of those of a number of a person.
  defpurep half(people, half) when 1 <<< (2 * half) >= people, do: half
  defpurep half(people, half), do: half(people, half + 1)

  # A Feistel network shuffles all numbers of so many bits. One that leads out of the town is followed until it is back.
  defpurep shuffle(i, people, half, key) do
    mask = (1 <<< half) - 1
    place = forth(i >>> half, i &&& mask, half, mask, key, 0)
    if place < people, do: place, else: shuffle(place, people, half, key)
  end

  defpurep shuffle_back(place, people, half, key) do
    mask = (1 <<< half) - 1
    i = back(place >>> half, place &&& mask, half, mask, key, @rounds)
    if i < people, do: i, else: shuffle_back(i, people, half, key)
  end

  defpurep forth(left, right, half, _mask, _key, @rounds), do: left <<< half ||| right

  defpurep forth(left, right, half, mask, key, round) do
    forth(right, bxor(left, Dice.of(key + round, right) &&& mask), half, mask, key, round + 1)
  end

  defpurep back(left, right, half, _mask, _key, 0), do: left <<< half ||| right

  defpurep back(left, right, half, mask, key, round) do
    back(bxor(right, Dice.of(key + round - 1, left) &&& mask), left, half, mask, key, round - 1)
  end
end
