defmodule Mote.Measure.Table do
  @moduledoc """
  A table of measurements: columns with names, rows of numbers and texts. A missing cell is `nil`.

  One row is one run. The results of `mix mote.bench` and `Mote.Measure.sweep/2` have this form, so that
  the same functions summarise, write and draw it:

      iex> alias Mote.Measure.Table
      iex> table = Table.new([:param, :sponsor, :run, :value], [[5, :single, 1, 71.0], [5, :single, 2, 64.0]], unit: "ns")
      iex> Table.to_csv(table)
      "param,sponsor,run,value\\n5,single,1,71.0\\n5,single,2,64.0\\n"
      iex> Table.from_csv!(Table.to_csv(table)).rows == table.rows
      true
      iex> table |> Table.summary() |> Table.column(:median)
      [67.5]

  Names of columns are texts; wherever one is asked for, an atom will do. Atoms in cells become texts.
  `inspect/1` shows the table as text, and only the first rows of a long one.
  """

  alias Mote.Measure.Statistics
  alias Mote.Measure.Table.{Separated, Text}

  @enforce_keys [:columns, :rows]
  defstruct [:columns, :rows, title: nil, unit: nil]

  @type cell :: number | String.t() | nil
  @type column :: atom | String.t()

  @typedoc "`unit` is that of the column `value`, or of its statistics in a summary."
  @type t :: %__MODULE__{
          columns: [String.t()],
          rows: [[cell]],
          title: String.t() | nil,
          unit: String.t() | nil
        }

  # What a summary makes of the runs: in this order, behind the columns that say what was measured.
  @statistics ~w(runs median min max mad)

  @doc """
  A table. Options: `:title`, `:unit`.

  Raises `ArgumentError` when columns have one name, or rows are not as long as there are columns.
  """
  @spec new([column], [[term]], title: String.t(), unit: String.t()) :: t
  def new(columns, rows, opts \\ []) do
    columns = Enum.map(columns, &to_string/1)
    opts = Keyword.validate!(opts, [:title, :unit])

    if columns != Enum.uniq(columns),
      do: raise(ArgumentError, "columns must have different names, got: #{Enum.join(columns, ", ")}")

    if row = Enum.find(rows, &(length(&1) != length(columns))) do
      raise ArgumentError, "expected rows of #{length(columns)} cells, got: #{inspect(row)}"
    end

    rows = for row <- rows, do: Enum.map(row, &cell/1)
    struct!(%__MODULE__{columns: columns, rows: rows}, opts)
  end

  defp cell(value) when is_number(value) or is_nil(value) or is_binary(value), do: value
  defp cell(value) when is_atom(value), do: Atom.to_string(value)

  defp cell(other),
    do: raise(ArgumentError, "a cell is a number, a text, an atom or nil, got: #{inspect(other)}")

  @doc "The cells of a column. Raises `ArgumentError` when there is none of that name."
  @spec column(t, column) :: [cell]
  def column(%__MODULE__{rows: rows} = table, name) do
    index = index!(table, name)
    Enum.map(rows, &Enum.at(&1, index))
  end

  @doc "Returns whether there is a column of that name."
  @spec column?(t, column) :: boolean
  def column?(%__MODULE__{columns: columns}, name), do: to_string(name) in columns

  @doc """
  Only the rows with these cells.

      iex> table = Mote.Measure.Table.new([:n, :sponsor], [[1, :single], [1, :multi]])
      iex> Mote.Measure.Table.filter(table, sponsor: :multi).rows
      [[1, "multi"]]
  """
  @spec filter(t, [{column, term}]) :: t
  def filter(%__MODULE__{} = table, cells) do
    wanted = for {name, value} <- cells, do: {index!(table, name), cell(value)}

    rows =
      Enum.filter(table.rows, fn row -> Enum.all?(wanted, fn {at, value} -> Enum.at(row, at) == value end) end)

    %{table | rows: rows}
  end

  @doc """
  One row for all runs of the same thing: their number, median, least, greatest, and median absolute
  deviation.

  Runs are rows that differ in the columns `run` and `value` only. Raises `ArgumentError` for a table without a column
  `value`.
  """
  @spec summary(t) :: t
  def summary(%__MODULE__{} = table) do
    value = index!(table, :value)
    run = Enum.find_index(table.columns, &(&1 == "run"))
    left = for {name, at} <- Enum.with_index(table.columns), at not in [value, run], do: {name, at}
    key = fn row -> for {_, at} <- left, do: Enum.at(row, at) end

    groups = Enum.group_by(table.rows, key, &Enum.at(&1, value))

    rows =
      for group <- table.rows |> Enum.map(key) |> Enum.uniq(),
          values = Enum.filter(groups[group], &is_number/1),
          values != [] do
        group ++ [length(values) | statistics(values)]
      end

    %{table | columns: Enum.map(left, &elem(&1, 0)) ++ @statistics, rows: rows}
  end

  defp statistics(values) do
    %{median: median, min: least, max: greatest, mad: mad} = Statistics.of(values)
    [median, least, greatest, mad]
  end

  @doc "As comma separated values (RFC 4180): the names of the columns, then the rows. Texts that look like numbers are quoted."
  @spec to_csv(t) :: String.t()
  def to_csv(%__MODULE__{} = table), do: Separated.write(table, ?,)

  @doc "As tab separated values, with the same quotes."
  @spec to_tsv(t) :: String.t()
  def to_tsv(%__MODULE__{} = table), do: Separated.write(table, ?\t)

  @doc "Reads what `to_csv/1` wrote; it contains neither title nor unit. An error says in which line."
  @spec from_csv(String.t()) :: {:ok, t} | {:error, String.t()}
  def from_csv(text), do: Separated.read(text, ?,)

  @doc "Like `from_csv/1`, but raises `ArgumentError`."
  @spec from_csv!(String.t()) :: t
  def from_csv!(text) do
    case from_csv(text) do
      {:ok, table} -> table
      {:error, message} -> raise ArgumentError, message
    end
  end

  @doc "As text, in columns, with its title."
  @spec to_text(t) :: String.t()
  def to_text(%__MODULE__{} = table), do: Text.write(table)

  @doc false
  @spec index!(t, column) :: non_neg_integer
  def index!(%__MODULE__{columns: columns}, name) do
    Enum.find_index(columns, &(&1 == to_string(name))) ||
      raise ArgumentError, "the table has no column #{inspect(name)}, but #{Enum.join(columns, ", ")}"
  end

  defimpl Inspect do
    def inspect(table, opts) do
      shown = if opts.limit == :infinity, do: length(table.rows), else: opts.limit
      left = length(table.rows) - shown
      more = if left > 0, do: "  … #{left} more rows\n", else: ""
      "#Mote.Measure.Table<\n" <> Text.write(%{table | rows: Enum.take(table.rows, shown)}) <> more <> ">"
    end
  end
end
