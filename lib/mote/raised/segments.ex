defmodule Mote.Raised.Segments do
  # Which part of a binary could not be put together, and why. What the numbers of a specification mean is written down in
  # guides/ir.md.
  @moduledoc false

  import Bitwise

  alias Mote.Raised.Call

  @types {"integer", "float", "binary", "binary", "utf8", "binary"}

  @doc "Returns Elixir's message about the first segment that has no such value."
  @spec failed(values :: tuple, specs :: tuple) :: String.t()
  def failed(values, specs) do
    wrong =
      values
      |> segments(specs)
      |> Enum.with_index(1)
      |> Enum.find_value(fn {segment, n} -> if why = why(segment), do: {n, segment, why} end)

    case wrong do
      {n, {kind, _, _}, why} ->
        "construction of binary failed: segment #{n} of type '#{elem(@types, kind)}': #{why}"

      nil ->
        "a part of the binary has no such value"
    end
  end

  @doc "The values of the segments, without their sizes."
  @spec values(values :: tuple, specs :: tuple) :: [term]
  def values(values, specs), do: for({_, value, _} <- segments(values, specs), do: value)

  # `{kind, value, bits}`; bits are nil where a size is none.
  # What was too much for a report is `:...` in it: then there are none, or fewer.
  defp segments(values, specs) when is_tuple(values) and is_tuple(specs),
    do: segments(Tuple.to_list(values), Tuple.to_list(specs), [])

  defp segments(_values, _specs), do: []

  defp segments([value | values], [spec | specs], before) when is_integer(spec) do
    {bits, values} = bits(spec, values)
    segments(values, specs, [{band(spec, 7), value, bits} | before])
  end

  defp segments(_, _, before), do: Enum.reverse(before)

  defp bits(spec, values) when band(spec, 16) == 0, do: {spec >>> 5, values}
  defp bits(spec, [n | values]) when is_integer(n) and n >= 0, do: {(spec >>> 5) * n, values}
  defp bits(_, values), do: {nil, Enum.drop(values, 1)}

  defp why({_, _, nil}), do: "its size must be an integer of 0 or more"
  defp why({0, value, _}) when not is_integer(value), do: "expected an integer but got: #{Call.show(value)}"
  defp why({0, _, bits}) when bits > 64, do: "#{bits} bits are more than a machine writes at once"

  defp why({1, value, _}) when not is_number(value),
    do: "expected a float or an integer but got: #{Call.show(value)}"

  defp why({1, value, bits}), do: if(bits not in [32, 64] or large?(value), do: "no float of #{bits} bits")

  defp why({kind, value, _}) when kind in [2, 3, 5] and not is_bitstring(value),
    do: "expected a binary but got: #{Call.show(value)}"

  defp why({2, value, _}) when not is_binary(value),
    do: "the size of the value #{Call.show(value)} is not a multiple of 8 bits"

  defp why({3, value, bits}) when bits > bit_size(value),
    do: "the value #{Call.show(value)} is shorter than the size of the segment"

  defp why({4, value, _}) when not (value in 0..0xD7FF or value in 0xE000..0x10FFFF),
    do: "expected a non-negative integer encodable as utf8 but got: #{Call.show(value)}"

  defp why(_), do: nil

  # Beyond the floats of 32 bits.
  defp large?(value), do: abs(value) > 3.4028234663852886e38
end
