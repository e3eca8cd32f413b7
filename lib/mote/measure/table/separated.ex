defmodule Mote.Measure.Table.Separated do
  # A table for programs: cells with a comma or a tab between them, quoted as in RFC 4180 where it is needed. A text that
  # reads like a number, or like nothing, is quoted as well: so reading gives what was written.
  @moduledoc false
  import Mote.Internal.Sized, only: [sized: 1]

  alias Mote.Measure.Table

  @doc "The names of the columns, then the rows, each in a line."
  @spec write(Table.t(), char) :: String.t()
  def write(%Table{columns: columns, rows: rows}, separator) do
    [columns | rows]
    |> Enum.map(fn row -> [row |> Enum.map(&cell(&1, separator)) |> Enum.intersperse(separator), ?\n] end)
    |> IO.iodata_to_binary()
  end

  defp cell(nil, _), do: ""
  defp cell(number, _) when is_number(number), do: to_string(number)

  defp cell(text, separator) do
    if text == "" or number(text) != :error or String.contains?(text, [<<separator>>, "\"", "\n", "\r"]),
      do: [?", String.replace(text, "\"", "\"\""), ?"],
      else: text
  end

  @doc "Reads it again."
  @spec read(String.t(), char) :: {:ok, Table.t()} | {:error, String.t()}
  def read(text, separator) do
    with {:ok, [{1, columns} | rows]} <- records(text, separator, 1, [], []),
         :ok <- named(columns),
         :ok <- same_length(columns, rows) do
      {:ok, Table.new(columns, for({_, row} <- rows, do: row))}
    else
      {:ok, []} -> {:error, "a table begins with the names of its columns, this one is empty"}
      {:error, message} -> {:error, message}
    end
  rescue
    error in ArgumentError -> {:error, error.message}
  end

  defp named(columns) do
    if Enum.all?(columns, &is_binary/1), do: :ok, else: {:error, "line 1: a column needs a name"}
  end

  defp same_length(columns, rows) do
    size = length(columns)

    case Enum.find(rows, fn {_, row} -> length(row) != size end) do
      nil -> :ok
      {line, row} -> {:error, "line #{line}: expected #{size} cells, got #{length(row)}"}
    end
  end

  # Records with the number of their first line, as lists of cells.
  defp records("", _, _, [], records), do: {:ok, Enum.reverse(records)}

  defp records(text, separator, line, cells, records) do
    with {:ok, cell, rest, lines} <- take(text, separator, line) do
      cells = [cell | cells]

      case rest do
        <<^separator, rest::binary>> -> records_on(rest, separator, line + lines, cells, records)
        _ -> records(ended(rest), separator, line + lines + 1, [], [{line, Enum.reverse(cells)} | records])
      end
    end
  end

  # Behind a separator there is one more cell, even at the end of the text.
  defp records_on("", _, line, cells, records),
    do: {:ok, Enum.reverse([{line, Enum.reverse([nil | cells])} | records])}

  defp records_on(text, separator, line, cells, records), do: records(text, separator, line, cells, records)

  defp ended("\r\n" <> rest), do: rest
  defp ended("\n" <> rest), do: rest
  defp ended(""), do: ""

  # One cell, what is behind it, and how many ends of lines are in it.
  defp take("\"" <> text, separator, line), do: quoted(text, separator, line, [])

  defp take(text, separator, _line) do
    size = plain(text, separator, 0)
    sized(<<cell::binary-size(^size), rest::binary>>) = text
    {:ok, value(cell), rest, 0}
  end

  defp plain(text, separator, size) do
    case text do
      sized(<<_::binary-size(^size), c, _::binary>>) when c in [separator, ?\n] -> size
      sized(<<_::binary-size(^size), "\r\n", _::binary>>) -> size
      sized(<<_::binary-size(^size), _, _::binary>>) -> plain(text, separator, size + 1)
      _ -> size
    end
  end

  defp quoted(text, separator, line, parts) do
    case String.split(text, "\"", parts: 2) do
      [part, "\"" <> rest] -> quoted(rest, separator, line, [parts, part, ?"])
      [part, rest] -> closed(IO.iodata_to_binary([parts, part]), rest, separator, line)
      [_] -> {:error, "line #{line}: a quoted cell does not end"}
    end
  end

  defp closed(cell, rest, separator, line) do
    if rest == "" or String.starts_with?(rest, [<<separator>>, "\n", "\r\n"]),
      do: {:ok, cell, rest, length(String.split(cell, "\n")) - 1},
      else: {:error, "line #{line}: something stands behind a quoted cell"}
  end

  defp value(""), do: nil

  defp value(text) do
    with :error <- number(text), do: text
  end

  defp number(text) do
    with :error <- whole(Integer.parse(text)), do: whole(Float.parse(text))
  end

  defp whole({number, ""}), do: number
  defp whole(_), do: :error
end
