defmodule World.Picture do
  @moduledoc """
  Draws how many are in each zone, as a map of characters.

      iex> World.Picture.text(%{0 => 10, 33 => 5}) |> String.split("\\n") |> hd() |> String.slice(0, 3)
      "@  "
  """

  @shades ~w(. : - = + * # % @) |> List.to_tuple()

  @doc "The map of what `World.watch/2` returns."
  @spec text(%{non_neg_integer => non_neg_integer}) :: String.t()
  def text(zones) do
    most = zones |> Map.values() |> Enum.max(fn -> 1 end)

    Enum.map_join(0..31, "\n", fn y ->
      Enum.map_join(0..31, fn x -> shade(Map.get(zones, y * 32 + x, 0), most) end)
    end)
  end

  defp shade(0, _most), do: " "
  defp shade(here, most), do: elem(@shades, div(here * (tuple_size(@shades) - 1), max(most, 1)))
end
