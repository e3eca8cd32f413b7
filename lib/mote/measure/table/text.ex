defmodule Mote.Measure.Table.Text do
  # A table for people: columns aligned, numbers with three digits. Nothing that a program should read.
  @moduledoc false

  alias Mote.Measure.{Number, Table}

  @doc "The title, the names of the columns, the rows; each line indented, with an end."
  @spec write(Table.t()) :: String.t()
  def write(%Table{columns: columns, rows: rows} = table) do
    left = for {_, at} <- Enum.with_index(columns), Enum.any?(rows, &is_binary(Enum.at(&1, at))), do: at
    title(table) <> align([columns | Enum.map(rows, &cells/1)], left) <> "\n"
  end

  defp title(%Table{title: nil, unit: nil}), do: ""
  defp title(%Table{title: title, unit: nil}), do: "  #{title}\n\n"
  defp title(%Table{title: title, unit: unit}), do: "  #{title || "values"} (#{unit})\n\n"

  defp cells(row), do: Enum.map(row, &cell/1)

  defp cell(nil), do: "-"
  defp cell(text) when is_binary(text), do: text
  defp cell(number), do: Number.short(number)

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
end
