defmodule Mote.Prelude.CodePoints do
  # How each code point behaves beside others, when characters are told apart: Unicode's Grapheme_Cluster_Break, as far as it
  # matters. Found out, when this is compiled, by asking the release of Erlang whose functions Elixir calls, so that a machine has
  # the tables that Elixir has there.
  @moduledoc false

  # No code point beyond is anything but `:other`, except for those of 0xE0000.
  @asked [0x00..0xD7FF, 0xE000..0x1FFFF, 0xE0000..0xE0FFF]

  @doc """
  The first code point of each run of code points of the same class, in ascending order, and the classes of the runs.
  """
  @spec runs() :: {tuple, tuple}
  def runs do
    {firsts, classes} =
      @asked
      |> Enum.flat_map(&runs/1)
      |> Enum.concat([{0xE1000, :other}])
      |> Enum.dedup_by(fn {_, class} -> class end)
      |> Enum.unzip()

    {List.to_tuple(firsts), List.to_tuple(classes)}
  end

  # What is between the ranges is `:other`.
  defp runs(first..last//1) do
    for(c <- first..last, do: {c, class(c)})
    |> Enum.dedup_by(fn {_, class} -> class end)
    |> Enum.concat([{last + 1, :other}])
  end

  defp class(?\r), do: :cr
  defp class(?\n), do: :lf
  defp class(0x200D), do: :joiner
  defp class(c) when c in 0x1F1E6..0x1F1FF, do: :flag

  # Parts of Korean syllables: leading consonants, vowels, trailing consonants. A syllable ends in one of the latter two.
  defp class(c) when c in 0x1100..0x115F or c in 0xA960..0xA97C, do: :leading
  defp class(c) when c in 0x1160..0x11A7 or c in 0xD7B0..0xD7C6, do: :vowel
  defp class(c) when c in 0x11A8..0x11FF or c in 0xD7CB..0xD7FB, do: :trailing
  defp class(c) when c in 0xAC00..0xD7A3, do: :syllable

  defp class(c) do
    cond do
      one?([?a, c]) -> if one?([0x2764, c, 0x200D, 0x2764]), do: extending(c), else: :spacing
      one?([c, ?a]) -> :prepended
      one?([0x2764, 0x200D, c]) -> :picture
      not one?([c, 0x301]) -> :control
      one?([0x915, 0x94D, c]) -> :consonant
      true -> :other
    end
  end

  # Between Indic consonants some make one character of them, in later releases of Unicode.
  defp extending(c), do: if(one?([0x915, c, 0x915]), do: :linker, else: :extending)

  @doc "Returns whether code points are one character."
  @spec one?([char, ...]) :: boolean
  def one?(code_points), do: match?([_], :unicode_util.gc(code_points))
end
