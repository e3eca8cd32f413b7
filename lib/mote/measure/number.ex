defmodule Mote.Measure.Number do
  # Numbers for people, not for programs to read.
  @moduledoc false

  @doc """
  A number with three significant digits, or grouped when it is longer.

      iex> Enum.map([14.237, 3.0, 155.25, 2310.4, 33_554_431], &Mote.Measure.Number.short/1)
      ["14.2", "3.00", "155", "2,310", "33,554,431"]
  """
  @spec short(number) :: String.t()
  def short(value) when is_float(value) and abs(value) < 9.995, do: decimals(value, 2)
  def short(value) when is_float(value) and abs(value) < 99.95, do: decimals(value, 1)

  def short(value) do
    value
    |> round()
    |> Integer.to_string()
    |> String.replace(~r/(?<=\d)(?=(\d{3})+$)/, ",")
  end

  @doc "A number with that many digits behind the point."
  @spec decimals(float, non_neg_integer) :: String.t()
  def decimals(value, digits), do: :erlang.float_to_binary(value, decimals: digits)
end
