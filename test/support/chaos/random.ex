defmodule Mote.Chaos.Random do
  @moduledoc """
  Choices of the calling process that a seed decides: all of a scenario is made of them, one after the other.
  """

  @doc "Begins anew."
  def seed(seed), do: :rand.seed(:exsss, {seed, 7, 11})

  @doc "An integer from `least` to `greatest`."
  def between(least, greatest), do: least + :rand.uniform(greatest - least + 1) - 1

  @doc "An integer of any order of magnitude up to `greatest`: small ones as often as large ones."
  def magnitude(greatest), do: trunc(:math.exp(:rand.uniform() * :math.log(greatest + 0.999)))

  @doc "One of a list."
  def one(list), do: Enum.at(list, between(0, length(list) - 1))

  @doc "Whether something happens that happens once in `n` times."
  def once_in?(n), do: between(1, n) == 1

  @doc "One of a list of `{weight, value}`."
  def weighted(choices) do
    total = choices |> Enum.map(&elem(&1, 0)) |> Enum.sum()
    take(choices, between(1, total))
  end

  defp take([{weight, value} | _], n) when n <= weight, do: value
  defp take([{weight, _} | rest], n), do: take(rest, n - weight)

  @doc "A list of `least` to `greatest` elements, each made by `fun`."
  def several(least, greatest, fun), do: for(_ <- 1..between(least, greatest)//1, do: fun.())

  @doc "An index into whatever there will be."
  def any, do: between(0, 999)
end
