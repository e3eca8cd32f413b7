defmodule Mote.Bench.Measure do
  # A figure with its spread: one line of a report.
  @moduledoc false

  alias Mote.Measure.{Statistics, Table}

  @enforce_keys [:bench, :variant, :param, :metric, :values]
  defstruct [:bench, :variant, :param, :metric, :values]

  @type t :: %__MODULE__{
          bench: String.t(),
          variant: atom,
          param: pos_integer,
          metric: atom,
          values: [number, ...]
        }

  @columns [:param, :count, :variant, :metric, :run, :value]

  @doc "The middle value; of an even number of them the mean of the two in the middle."
  @spec median(t | [number, ...]) :: number
  def median(%__MODULE__{values: values}), do: median(values)
  def median([_ | _] = values), do: Statistics.median(values)

  @doc "The columns of `table/2`."
  @spec columns() :: [atom]
  def columns, do: @columns

  @doc "The measures of a program as a table, with a row for each run."
  @spec table(module, [t]) :: Table.t()
  def table(program, measures) do
    rows =
      for measure <- measures, {value, run} <- Enum.with_index(measure.values, 1) do
        [measure.param, program.count(measure.param), measure.variant, measure.metric, run, value]
      end

    Table.new(@columns, rows, title: program.about().name)
  end

  @spec min(t) :: number
  def min(%__MODULE__{values: values}), do: Enum.min(values)

  @spec max(t) :: number
  def max(%__MODULE__{values: values}), do: Enum.max(values)

  @doc "`\"ns\"`, `\"us\"`, `\"ms\"`, `\"bytes\"`, `\"%\"`, `\"misses\"`, `\"/s\"`, or `\"x\"` for ratios."
  @spec unit(t) :: String.t()
  def unit(%__MODULE__{metric: metric}) do
    name = Atom.to_string(metric)

    cond do
      String.starts_with?(name, "ns_") -> "ns"
      String.starts_with?(name, "us_") -> "us"
      String.starts_with?(name, "percent_") -> "%"
      String.ends_with?(name, "_per_s") -> "/s"
      String.ends_with?(name, "_ms") -> "ms"
      String.starts_with?(name, ["ratio_", "by_"]) or name =~ "_by_" or name == "two_askers" -> "x"
      String.starts_with?(name, "misses_") -> "misses"
      String.contains?(name, "bytes") -> "bytes"
    end
  end
end
