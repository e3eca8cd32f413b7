defmodule Mote.Prelude.CodePoints do
  # How each code point behaves beside others, when characters are told apart: Unicode's Grapheme_Cluster_Break, as far as it
  # matters. Found out, when this is compiled, by asking the release of Erlang whose functions Elixir calls, so that a machine has
  # the tables that Elixir has there.
  @moduledoc false

  @page 128

  @doc "The size of a page."
  @spec page() :: pos_integer
  def page, do: @page

  @doc """
  The number of each page of code points, a byte each; the number of the class of each code point, page after page, a byte
  each; and the classes. Equal pages are there once. Code points behind the pages are `:other`.
  """
  @spec classes() :: {binary, binary, tuple}
  def classes do
    pages = for first <- 0..0xE0FFF//@page, do: for(c <- first..(first + @page - 1), do: asked(c))
    {pages, different} = numbered(pages)
    {classes, names} = numbered(Enum.concat(different))
    {pages, classes, List.to_tuple(names)}
  end

  # Which one of the different ones each of them is.
  defp numbered(all) do
    different = Enum.uniq(all)
    true = length(different) <= 256
    number = different |> Enum.with_index() |> Map.new()
    {for(one <- all, into: <<>>, do: <<Map.fetch!(number, one)>>), different}
  end

  # What is between these is `:other`, or no code point.
  defp asked(c) when c in 0..0xD7FF or c in 0xE000..0x1FFFF or c in 0xE0000..0xE0FFF, do: class(c)
  defp asked(_), do: :other

  defp class(?\r), do: :cr
  defp class(?\n), do: :lf
  defp class(0x200D), do: :joiner
  defp class(c) when c in 0x1F1E6..0x1F1FF, do: :flag

  # Parts of Korean syllables: leading consonants, vowels, trailing consonants. A syllable ends in one of the latter two.
  defp class(c) when c in 0x1100..0x115F or c in 0xA960..0xA97C, do: :leading
  defp class(c) when c in 0x1160..0x11A7 or c in 0xD7B0..0xD7C6, do: :vowel
  defp class(c) when c in 0x11A8..0x11FF or c in 0xD7CB..0xD7FB, do: :trailing

  defp class(c) when c in 0xAC00..0xD7A3,
    do: if(rem(c - 0xAC00, 28) == 0, do: :vowel_ended, else: :trailing_ended)

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
