defmodule Mote.Bench.Report do
  # Figures as text: a table for people, tab separated values for programs.
  @moduledoc false

  alias Mote.Bench.Measure
  alias Mote.Measure.Number
  alias Mote.Measure.Table.Text

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
  defdelegate align(rows, left \\ []), to: Text

  @doc "One row, with the widths of the columns."
  @spec line([String.t()], [non_neg_integer], [non_neg_integer]) :: String.t()
  defdelegate line(cells, widths, left \\ []), to: Text

  @doc "A number with three significant digits, or grouped when it is longer."
  @spec number(number) :: String.t()
  defdelegate number(value), to: Number, as: :short

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

  @doc "A figure of a measure in its unit."
  @spec figure(Measure.t(), number) :: String.t()
  def figure(measure, value) do
    case Measure.unit(measure) do
      "bytes" -> memory(value)
      "%" -> Number.decimals(value * 1.0, 3) <> " %"
      unit -> number(value) <> " " <> unit
    end
  end

  defp row(measure) do
    figures = [Measure.median(measure), Measure.min(measure), Measure.max(measure)]
    metric = measure.metric |> Atom.to_string() |> String.replace("_", " ")
    [number(measure.param), Atom.to_string(measure.variant), metric | Enum.map(figures, &figure(measure, &1))]
  end

  defp plain(value) when is_integer(value), do: Integer.to_string(value)
  defp plain(value), do: Number.decimals(value, 3)
end
