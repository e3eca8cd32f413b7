defmodule StreamData.Random do
  @moduledoc false
  # Pure random numbers: a seed is used once, or split into two.

  @range Bitwise.bsl(1, 58)

  @type seed :: :rand.state()

  @spec seed({integer, integer, integer} | integer) :: seed
  def seed(start), do: :rand.seed_s(:exsp, start)

  @spec split(seed) :: {seed, seed}
  def split(seed) do
    {start, rest} = :rand.uniform_s(@range, seed)
    {:rand.seed_s(:exsp, start), rest}
  end

  @spec integer(integer, integer, seed) :: integer
  def integer(low, high, seed) do
    {number, _rest} = :rand.uniform_s(high - low + 1, seed)
    low + number - 1
  end

  # In 0.0..1.0, without 1.0.
  @spec float(seed) :: float
  def float(seed) do
    {number, _rest} = :rand.uniform_s(seed)
    number
  end
end
