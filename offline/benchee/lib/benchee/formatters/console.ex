defmodule Benchee.Formatters.Console do
  @moduledoc """
  A table per input, and how much slower than the fastest the others are.

  Options: `comparison: false` leaves the second part out, `extended_statistics: true` adds a table of minimum,
  maximum, sample size and mode.
  """

  @behaviour Benchee.Formatter

  alias Benchee.{Format, Scenario, Statistics}

  @impl true
  def format(suite, options) do
    title = if suite.configuration.title, do: ["\n*** ", suite.configuration.title, " ***\n"], else: []
    groups = Statistics.by_input(suite.scenarios)
    [title | Enum.map(groups, &group(&1, suite.configuration, options))]
  end

  @impl true
  def write(output, _options), do: IO.write(output)

  defp group([%{input_name: input_name} | _] = scenarios, configuration, options) do
    case Enum.filter(scenarios, &(&1.run_time_data.statistics.sample_size > 0)) do
      [] ->
        []

      measured ->
        [
          if(input_name == Scenario.no_input_name(),
            do: "\n",
            else: "\n##### With input #{input_name} #####\n"
          ),
          table(measured, configuration),
          if(options[:extended_statistics], do: extended(measured), else: []),
          if(options[:comparison] == false, do: [], else: comparison(measured))
        ]
    end
  end

  defp table(scenarios, configuration) do
    # One unit in all rows of a column, so that they can be compared at a glance.
    {time, count} = units(scenarios)
    percentiles = configuration.percentiles -- [50]
    header = ["Name", "ips", "average", "deviation", "median"] ++ Enum.map(percentiles, &"#{&1}th %")

    rows =
      for %{name: name, run_time_data: %{statistics: statistics}} <- scenarios do
        [
          name,
          ips(statistics, count),
          Format.time(statistics.average, time),
          "±#{Format.decimals(statistics.std_dev_ratio * 100)}%",
          Format.time(statistics.median, time)
        ] ++ Enum.map(percentiles, &Format.time(statistics.percentiles[&1], time))
      end

    align([header | rows])
  end

  defp extended(scenarios) do
    {time, _count} = units(scenarios)

    rows =
      for %{name: name, run_time_data: %{statistics: statistics}} <- scenarios do
        [
          name,
          Format.time(statistics.minimum, time),
          Format.time(statistics.maximum, time),
          to_string(statistics.sample_size),
          modes(statistics.mode, time)
        ]
      end

    ["\nExtended statistics:\n\n", align([["Name", "minimum", "maximum", "sample size", "mode"] | rows])]
  end

  defp modes(nil, _time), do: "None"
  defp modes(modes, time), do: modes |> List.wrap() |> Enum.map_join(", ", &Format.time(&1, time))

  defp comparison([_only]), do: []

  defp comparison([fastest | others] = scenarios) do
    {_time, count} = units(scenarios)

    rows =
      for %{name: name, run_time_data: %{statistics: statistics}} <- others do
        slower =
          if is_number(statistics.relative_more), do: Format.decimals(statistics.relative_more), else: "∞"

        [
          name,
          ips(statistics, count),
          "- #{slower}x slower +#{Format.time(statistics.absolute_difference)}"
        ]
      end

    first = [fastest.name, ips(fastest.run_time_data.statistics, count), ""]
    ["\nComparison:\n", align([first | rows])]
  end

  defp units(scenarios) do
    middle = Enum.at(scenarios, div(length(scenarios), 2)).run_time_data.statistics
    {Format.time_unit(middle.average), Format.count_unit(middle.ips || 0)}
  end

  defp ips(%{ips: nil}, _unit), do: "∞"
  defp ips(%{ips: ips}, unit), do: Format.count(ips, unit)

  # The first column to the left, numbers to the right, remarks that end a line as they are.
  defp align(rows) do
    widths =
      rows
      |> Enum.zip()
      |> Enum.map(fn column -> column |> Tuple.to_list() |> Enum.map(&String.length/1) |> Enum.max() end)

    for [name | cells] <- rows do
      [name_width | cell_widths] = widths

      line =
        for {cell, width} <- Enum.zip(cells, cell_widths), into: String.pad_trailing(name, name_width) do
          if String.starts_with?(cell, "- "),
            do: " " <> cell,
            else: "  " <> String.pad_leading(cell, max(width, 10))
        end

      [String.trim_trailing(line), "\n"]
    end
  end
end
