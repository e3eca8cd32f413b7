defmodule Mote.Bench.Report do
  # Figures as text: a table for people, tab separated values for programs.
  @moduledoc false

  alias Mote.Bench.Measure

  @tsv ~w(bench variant param metric median min max unit)
  @columns ["variant", "metric", "median", "min", "max"]

  @doc "The first line of the tab separated values."
  @spec tsv_header() :: String.t()
  def tsv_header, do: Enum.join(@tsv, "\t")

  @doc "One line for each measure, numbers without grouping: integers as they are, others with three digits."
  @spec tsv([Measure.t()]) :: [String.t()]
  def tsv(measures) do
    for measure <- measures do
      numbers = Enum.map([Measure.median(measure), Measure.min(measure), Measure.max(measure)], &plain/1)
      names = [measure.bench, measure.variant, measure.param, measure.metric]
      Enum.join(names ++ numbers ++ [Measure.unit(measure)], "\t")
    end
  end

  @doc "A table of the measures of one program, of any number of sizes."
  @spec table(module, [Measure.t()]) :: String.t()
  def table(program, measures) do
    about = program.about()
    header = [Atom.to_string(about.param) | @columns]
    rows = Enum.map(measures, &row/1)
    "#{about.name}: #{about.title}\n\n" <> align([header | rows], [1, 2]) <> "\n"
  end

  @doc "Lays out rows of cells in columns, to the right but for those of the given indices."
  @spec align([[String.t()]], [non_neg_integer]) :: String.t()
  def align(rows, left \\ []) do
    widths =
      rows
      |> Enum.zip_with(& &1)
      |> Enum.map(fn cells -> cells |> Enum.map(&String.length/1) |> Enum.max() end)

    Enum.map_join(rows, "\n", &line(&1, widths, left))
  end

  @doc "One row, with the widths of the columns."
  @spec line([String.t()], [non_neg_integer], [non_neg_integer]) :: String.t()
  def line(cells, widths, left \\ []) do
    [cells, widths]
    |> Enum.zip()
    |> Enum.with_index(fn {cell, width}, index ->
      if index in left, do: String.pad_trailing(cell, width), else: String.pad_leading(cell, width)
    end)
    |> Enum.join("  ")
    |> then(&("  " <> String.trim_trailing(&1)))
  end

  @doc """
  A number with three significant digits, or grouped when it is longer.

      iex> Enum.map([14.237, 3.0, 155.25, 2310.4, 33_554_431], &Mote.Bench.Report.number/1)
      ["14.2", "3.00", "155", "2,310", "33,554,431"]
  """
  @spec number(number) :: String.t()
  def number(value) when is_float(value) and abs(value) < 9.995, do: decimals(value, 2)
  def number(value) when is_float(value) and abs(value) < 99.95, do: decimals(value, 1)

  def number(value) do
    value
    |> round()
    |> Integer.to_string()
    |> String.replace(~r/(?<=\d)(?=(\d{3})+$)/, ",")
  end

  @doc """
  Memory in the unit that reads best (powers of 1000).

      iex> Enum.map([nil, 16.1, 85_000_000, 1_210_000_000], &Mote.Bench.Report.memory/1)
      ["unavailable", "16.1 B", "85.0 MB", "1.21 GB"]
  """
  @spec memory(number | nil) :: String.t()
  def memory(nil), do: "unavailable"
  def memory(bytes) when bytes < 1.0e4, do: number(bytes * 1.0) <> " B"
  def memory(bytes) when bytes < 1.0e6, do: number(bytes / 1.0e3) <> " kB"
  def memory(bytes) when bytes < 1.0e9, do: number(bytes / 1.0e6) <> " MB"
  def memory(bytes), do: number(bytes / 1.0e9) <> " GB"

  defp row(measure) do
    show = show(Measure.unit(measure))

    [
      number(measure.param),
      Atom.to_string(measure.variant),
      measure.metric |> Atom.to_string() |> String.replace("_", " "),
      show.(Measure.median(measure)),
      show.(Measure.min(measure)),
      show.(Measure.max(measure))
    ]
  end

  defp show("bytes"), do: &memory/1
  defp show("%"), do: &(decimals(&1 * 1.0, 3) <> " %")
  defp show(unit), do: &(number(&1) <> " " <> unit)

  defp plain(value) when is_integer(value), do: Integer.to_string(value)
  defp plain(value), do: decimals(value, 3)

  defp decimals(value, digits), do: :erlang.float_to_binary(value, decimals: digits)
end
