defmodule Mote.Bench.Page do
  # The report as one page of HTML that needs nothing else: plots and style are in it. What is measured is in `suite.ex`.
  @moduledoc false

  alias Mote.Bench.{Measure, Report, Suite}
  alias Mote.Measure.{Plot, Table}

  @titles %{
    "mote" => "Mote",
    "mote_st" => "Mote, 1 thread",
    "mote_mt" => "Mote, all cores",
    "beam" => "BEAM processes",
    "one" => "1 thread",
    "two" => "2 threads",
    "one_uncollected" => "1 thread, uncollected",
    "two_uncollected" => "2 threads, uncollected"
  }

  # Of a histogram.
  @bins 40

  @style """
  :root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --faint: #6a737d; --line: #d8dde3; --bad: #b42318 }
  @media (prefers-color-scheme: dark) {
    :root { --ground: #15181c; --ink: #dfe4ea; --faint: #929ba5; --line: #343b43; --bad: #ff8a80 }
  }
  body { background: var(--ground); color: var(--ink); font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto;
         padding: 0 1rem }
  h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem }
  table { border-collapse: collapse; margin-bottom: 1.5rem; font-size: 0.85rem; font-variant-numeric: tabular-nums }
  th, td { padding: 0.15rem 0.8rem 0.15rem 0; text-align: right; border-bottom: 1px solid var(--line) }
  th { color: var(--faint); font-weight: normal; vertical-align: bottom }
  summary { color: var(--faint); cursor: pointer }
  .left { text-align: left }
  .note { color: var(--faint) }
  .error { color: var(--bad); white-space: pre-wrap }
  .wide, pre { overflow-x: auto }
  a { color: inherit }
  svg { max-width: 100%; height: auto; color: var(--ink) }
  svg text { fill: currentColor }
  svg rect[fill="#FFFFFF"] { fill: var(--ground) }
  svg line[stroke="#000000"], svg polyline[stroke="#000000"], svg rect[stroke="#000000"] { stroke: currentColor }
  """

  @doc "The page: what the computer is, then every program."
  @spec html([Suite.t()], [{String.t(), String.t()}], String.t()) :: String.t()
  def html(entries, computer, heading) do
    IO.iodata_to_binary([
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      [
        "<title>Mote: what actors and messages cost</title>\n<style>\n",
        @style,
        "</style>\n</head>\n<body>\n"
      ],
      ["<h1>What actors and messages cost</h1>\n<p class=\"note\">", escape(heading), "</p>\n"],
      table(Enum.map(computer, &Tuple.to_list/1), nil, [0, 1]),
      overview(entries),
      Enum.map(entries, &section/1),
      "</body>\n</html>\n"
    ])
  end

  @doc "The table of all runs of all programs, of which the page shows the medians."
  @spec runs([Suite.t()]) :: Table.t()
  def runs(entries) do
    tables =
      for entry <- entries, do: {entry.program.about().name, Measure.table(entry.program, entry.measures)}

    columns = ["program" | Measure.columns()]
    Table.new(columns, for({name, table} <- tables, row <- table.rows, do: [name | row]))
  end

  # The main figure of each program at its greatest size, and how many times faster than a BEAM process that is.
  defp overview([]), do: ""

  defp overview(entries) do
    header = ["program", "size", "metric", "Mote", "BEAM processes", "times faster"]
    ["<nav class=\"wide\">", table(Enum.map(entries, &line/1), header, [0, 2]), "</nav>\n"]
  end

  defp line(entry) do
    about = entry.program.about()
    size = List.last(entry.sizes)
    best = fn metric, variants, choose -> best(entry, size, metric, variants, choose) end
    others = [:beam | Keyword.keys(about.rust)]
    machines = for %{variant: variant} <- entry.measures, variant not in others, uniq: true, do: variant

    [
      {:link, about.name},
      if(size, do: "#{about.param} #{Report.number(size)}", else: if(entry.error, do: "failed", else: "")),
      metric(about.metric),
      best.(about.metric, machines, &Enum.min_by/2),
      best.(about.metric, [:beam], &Enum.min_by/2),
      best.(:ratio_vs_beam, machines, &Enum.max_by/2)
    ]
  end

  # The best of the variants at a size, if there is one.
  defp best(entry, size, metric, variants, choose) do
    found = for m <- entry.measures, m.param == size, m.metric == metric, m.variant in variants, do: m

    if found == [],
      do: "",
      else: found |> choose.(&Measure.median/1) |> then(&Report.figure(&1, Measure.median(&1)))
  end

  defp section(entry) do
    about = entry.program.about()
    name = escape(about.name)

    [
      ["<section id=\"", name, "\">\n<h2>", name, "</h2>\n<p>", escape(about.title), "</p>\n"],
      if(entry.error, do: ["<p class=\"error\">", escape(entry.error), "</p>\n"], else: ""),
      figure(entry, about),
      medians(entry, about),
      figures(entry, about),
      left_out(entry, about),
      "</section>\n"
    ]
  end

  defp left_out(%Suite{left_out: []}, _about), do: ""

  defp left_out(%Suite{left_out: sizes}, about),
    do: ["<p class=\"note\">Not measured: ", escape("#{about.param} = #{Enum.join(sizes, ", ")}"), "</p>\n"]

  # -- the plot ------------------------------------------------------------------------------------------------

  defp figure(%Suite{measures: []}, _about), do: ""

  defp figure(entry, about) do
    svg = entry |> drawn(about.plot) |> Plot.draw(:svg, options(entry, about))
    ["<figure>\n", svg, "</figure>\n"]
  rescue
    error in ArgumentError -> ["<p class=\"note\">No plot: ", escape(error.message), "</p>\n"]
  end

  # Only what the program names, and of a histogram only the greatest size.
  defp drawn(entry, plot) do
    table = entry.program |> Measure.table(entry.measures) |> Table.filter(metric: plot.metric)
    variant = Table.index!(table, :variant)
    wanted = if plot.variants, do: Enum.map(plot.variants, &to_string/1)
    rows = for row <- table.rows, wanted == nil or Enum.at(row, variant) in wanted, do: row
    table = %{table | rows: Enum.map(rows, &List.update_at(&1, variant, fn name -> title(name) end))}
    if plot.kind == :histogram, do: Table.filter(table, param: Enum.max(entry.sizes)), else: table
  end

  defp options(entry, about) do
    plot = about.plot
    # One size alone is a bar, whatever several would be.
    lines? = plot.kind == :lines and length(entry.sizes) > 1
    kind = if plot.kind == :lines and not lines?, do: :bars, else: plot.kind
    metric = metric(plot.metric)

    {x_label, y_label} =
      cond do
        kind == :histogram -> {metric, "runs"}
        plot.over == :count -> {counted(plot.metric), metric}
        true -> {Atom.to_string(about.param), metric}
      end

    [
      kind: kind,
      title: about.name,
      over: if(plot.over == :count, do: :count, else: :param),
      x: if(lines? or kind == :histogram, do: plot.x, else: :linear),
      bins: @bins,
      y: if(lines? or plot.kind != :lines, do: plot.y, else: :linear),
      x_label: x_label,
      y_label: y_label,
      series: :variant
    ]
  end

  defp metric(metric), do: metric |> Atom.to_string() |> String.replace("_", " ")

  # `ns_per_actor` is counted in actors.
  defp counted(metric) do
    case metric |> metric() |> String.split(" per ") do
      [_, "leaf"] -> "leaves"
      [_, thing] -> thing <> "s"
      _ -> "count"
    end
  end

  defp title(variant), do: Map.get(@titles, variant, String.replace(variant, "_", " "))

  # -- the figures ---------------------------------------------------------------------------------------------

  # What is drawn, and the ratios: a line for each size.
  defp medians(%Suite{measures: []}, _about), do: ""

  defp medians(entry, about) do
    drawn? = fn metric ->
      metric == about.plot.metric or String.starts_with?(Atom.to_string(metric), "ratio_")
    end

    columns = for m <- entry.measures, drawn?.(m.metric), uniq: true, do: {m.metric, m.variant}
    header = for {metric, variant} <- columns, do: "#{metric(metric)}: #{title(Atom.to_string(variant))}"

    rows =
      for size <- entry.sizes do
        [Report.number(size) | for({metric, variant} <- columns, do: median(entry, size, metric, variant))]
      end

    ["<div class=\"wide\">", table(rows, [Atom.to_string(about.param) | header], []), "</div>\n"]
  end

  defp median(entry, size, metric, variant) do
    case Enum.find(entry.measures, &(&1.param == size and &1.metric == metric and &1.variant == variant)) do
      nil -> ""
      measure -> Report.figure(measure, Measure.median(measure))
    end
  end

  defp figures(%Suite{measures: []}, _about), do: ""

  defp figures(entry, about) do
    header = [Atom.to_string(about.param), "on", "metric", "median", "least", "greatest", "runs"]

    rows =
      for measure <- entry.measures do
        show = &Report.figure(measure, &1)

        [
          Report.number(measure.param),
          title(Atom.to_string(measure.variant)),
          metric(measure.metric),
          show.(Measure.median(measure)),
          show.(Measure.min(measure)),
          show.(Measure.max(measure)),
          Report.number(length(measure.values))
        ]
      end

    [
      "<details>\n<summary>All figures</summary>\n<div class=\"wide\">",
      table(rows, header, [1, 2]),
      "</div>\n</details>\n"
    ]
  end

  defp table(rows, header, left) do
    [
      "<table>\n",
      if(header, do: row(header, "th", left), else: ""),
      Enum.map(rows, &row(&1, "td", left)),
      "</table>\n"
    ]
  end

  defp row(cells, tag, left) do
    cells =
      for {cell, at} <- Enum.with_index(cells) do
        ["<", tag, if(at in left, do: " class=\"left\"", else: ""), ">", cell(cell), "</", tag, ">"]
      end

    ["<tr>", cells, "</tr>\n"]
  end

  defp cell({:link, name}), do: ["<a href=\"#", escape(name), "\">", escape(name), "</a>"]
  defp cell(text), do: escape(text)

  defp escape(text) do
    text
    |> String.replace("&", "&amp;")
    |> String.replace("<", "&lt;")
    |> String.replace(">", "&gt;")
    |> String.replace("\"", "&quot;")
  end
end
