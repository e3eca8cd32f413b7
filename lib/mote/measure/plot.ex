defmodule Mote.Measure.Plot do
  # From a table to a figure, which the crate native/mote_plot draws: which cells are points, of which series, and what is
  # written at the axes. The options are those of `Mote.Measure.plot/3`.
  @moduledoc false

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.Inspection
  alias Mote.Measure.{Histogram, Number, Table}
  alias Mote.Measure.Plot.Native

  @scales [:linear, :log, :log2]
  @kinds [:lines, :bars, :histogram]
  @legends [:right, :upper_left, :upper_right, :lower_left, :lower_right, false]
  @series ~w(sponsor variant series)
  @pixels 200..8_000

  @defaults [
    x: :linear,
    y: :linear,
    kind: :lines,
    bins: 20,
    legend: :right,
    size: {860, 520}
  ]
  @columns [:over, :value, :series]
  @texts [:title, :x_label, :y_label]

  # So that what is worked out from the numbers is one, too.
  @most 1.0e300

  @doc "The bytes of the file."
  @spec draw(Table.t(), :svg | :png, keyword) :: binary
  def draw(%Table{} = table, format, opts) do
    case table |> figure(opts) |> native(format) do
      {:ok, bytes} -> bytes
      {:error, reason} -> raise "cannot draw the plot: #{reason}"
    end
  end

  defp native(figure, format) do
    Native.draw(figure, format)
  rescue
    error in ErlangError ->
      if error.original != :nif_not_loaded, do: reraise(error, __STACKTRACE__)

      raise "Mote was built without plots: say `config :mote, plots: true` (in Mote's own repository MOTE_PLOTS=1), " <>
              "then run `mix deps.compile mote --force`"
  end

  @doc "Returns the data to draw. Raises `ArgumentError` for data that cannot be drawn."
  @spec figure(Table.t(), keyword) :: map
  def figure(%Table{} = table, opts) do
    opts = options!(opts)
    if table.rows == [], do: raise(ArgumentError, "there is nothing to plot: the table is empty")

    {width, height} = opts.size
    opts = Map.merge(%{over: :param, value: nil, series: nil}, opts)
    parts = parts(opts.kind, table, opts)

    Map.merge(
      %{
        title: text!(:title, opts[:title] || table.title || ""),
        width: width,
        height: height,
        kind: if(opts.kind == :lines, do: :lines, else: :bars),
        legend: opts.legend || :none,
        x_scale: opts.x,
        y_scale: opts.y,
        x_label: opts[:x_label] || to_string(opts.over),
        y_label: text!(:y_label, opts[:y_label] || table.unit || to_string(opts.value || :value)),
        categories: []
      },
      parts
    )
  end

  # -- lines and bars ------------------------------------------------------------------------------------------

  defp parts(:lines, table, opts) do
    series =
      for {name, points} <- series(table, opts) do
        points = for {x, figures} <- points, do: Map.put(figures, :x, number!(x, opts.over))
        %{name: name, points: Enum.sort_by(points, & &1.x)}
      end

    positive!(opts.x, opts.over, for(%{points: points} <- series, %{x: x} <- points, do: x))
    y_positive!(series, opts)
    %{series: series}
  end

  defp parts(:bars, table, opts) do
    series = series(table, opts)
    categories = Enum.uniq(for {_, points} <- series, {x, _} <- points, do: x)
    places = categories |> Enum.with_index() |> Map.new()

    series =
      for {name, points} <- series do
        %{name: name, points: for({x, figures} <- points, do: Map.put(figures, :x, places[x] * 1.0))}
      end

    y_positive!(series, opts)
    %{series: series, categories: Enum.map(categories, &text/1)}
  end

  # One row of intervals for all series: their bars stand side by side. On a logarithmic scale they are equally wide there,
  # so that a few values far away from all others do not make one bar of these.
  defp parts(:histogram, table, opts) do
    value = opts.value || :value
    all = numbers(table, value)
    if all == [], do: nothing!(value)
    positive!(opts.x, value, all)
    intervals = all |> Enum.map(&scaled(opts.x, &1)) |> Histogram.of(opts.bins)

    series =
      for {name, rows} <- named_rows(table, opts) do
        counts =
          rows
          |> numbers(value)
          |> Enum.frequencies_by(&place(scaled(opts.x, &1), intervals))

        points = for {at, count} <- Enum.sort(counts), do: point(count) |> Map.put(:x, at * 1.0)
        %{name: name, points: points}
      end

    y_positive!(series, opts)

    labels =
      for {{low, high, _}, at} <- Enum.with_index(intervals),
          do: interval(value_at(opts.x, (low + high) / 2), at, length(intervals))

    %{
      series: series,
      categories: labels,
      x_label: opts[:x_label] || table.unit || to_string(value),
      y_label: opts[:y_label] || "runs"
    }
  end

  defp numbers(table, column),
    do: for(number <- Table.column(table, column), is_number(number), do: float!(number, column))

  defp place(value, intervals),
    do: Enum.find_index(intervals, fn {_, high, _} -> value < high end) || length(intervals) - 1

  # Not every bar has a place for its interval.
  defp interval(middle, at, count),
    do: if(rem(at, max(div(count, 6), 1)) == 0, do: Number.short(middle), else: "")

  defp scaled(:linear, value), do: value
  defp scaled(:log, value), do: :math.log10(value)
  defp scaled(:log2, value), do: :math.log2(value)

  defp value_at(:linear, place), do: place
  defp value_at(:log, place), do: :math.pow(10, place)
  defp value_at(:log2, place), do: :math.pow(2, place)

  # `[{name, [{x, %{y:, low:, high:}}]}]`, in the order of the table.
  defp series(table, opts) do
    for {name, rows} <- named_rows(table, opts), do: {name, points(rows, opts)}
  end

  defp named_rows(table, opts) do
    column = opts.series || Enum.find(@series, &Table.column?(table, &1))

    if column do
      names = table |> Table.column(column) |> Enum.uniq()
      for name <- names, do: {text(name), Table.filter(table, [{column, name}])}
    else
      [{table.title || "", table}]
    end
  end

  defp points(rows, opts) do
    xs = Table.column(rows, opts.over)
    value = opts.value || if(Table.column?(rows, :value), do: :value, else: :median)
    spread = if value == :median and Table.column?(rows, :min) and Table.column?(rows, :max), do: [:min, :max]

    figures =
      case spread do
        nil -> for y <- Table.column(rows, value), do: [y]
        ends -> Enum.zip_with([Table.column(rows, value) | Enum.map(ends, &Table.column(rows, &1))], & &1)
      end

    points =
      for {x, [y | _] = figures} <- Enum.zip(xs, figures),
          is_number(y),
          do: {x, Enum.map(figures, &float!(&1, value))}

    if points == [], do: nothing!(value)

    for x <- points |> Enum.map(&elem(&1, 0)) |> Enum.uniq() do
      {x, runs(for {^x, figures} <- points, do: figures)}
    end
  end

  # Of several runs the median and the ends; of a summary what it says.
  defp runs([[y, low, high]]), do: %{y: y, low: low, high: high}

  defp runs(runs) do
    %{median: y, min: low, max: high} = runs |> Enum.map(&hd/1) |> Mote.Measure.Statistics.of()
    %{y: y, low: low, high: high}
  end

  defp point(y), do: %{y: y * 1.0, low: y * 1.0, high: y * 1.0}

  defp text(nil), do: "-"
  defp text(text) when is_binary(text), do: text!("a cell", text)
  defp text(number), do: number |> Number.short() |> String.replace(~r/\.0+$/, "")

  # -- checks --------------------------------------------------------------------------------------------------

  defp number!(x, column) when is_number(x), do: float!(x, column)

  defp number!(x, column) do
    raise ArgumentError,
          "the x axis of lines has numbers, but the column #{column} has #{inspect(x)}: take kind: :bars"
  end

  defp float!(n, _column) when is_number(n) and n >= -@most and n <= @most, do: n * 1.0

  defp float!(other, column) do
    raise ArgumentError, "a plot has numbers up to #{@most}, but the column #{column} has #{inspect(other)}"
  end

  defp y_positive!(series, opts) do
    positive!(opts.y, opts.value || :value, for(%{points: points} <- series, %{low: low} <- points, do: low))
  end

  defp positive!(:linear, _, _), do: :ok

  defp positive!(scale, column, values) do
    if value = Enum.find(values, &(&1 <= 0)) do
      raise ArgumentError,
            "a #{inspect(scale)} scale has positive values only, but the column #{column} has #{value}"
    end

    :ok
  end

  @spec nothing!(term) :: no_return
  defp nothing!(column),
    do: raise(ArgumentError, "there is nothing to plot: the column #{column} has no numbers")

  @doc "The options with what they are without being said; raises `ArgumentError`."
  @spec options!(keyword) :: map
  def options!(opts) do
    Inspection.keyword!(opts, "the options of plot/3", @columns ++ Keyword.keys(@defaults) ++ @texts)
    opts = @defaults |> Keyword.merge(opts) |> Map.new()
    for key <- @texts, opts[key] != nil, do: text!(key, opts[key])

    for key <- @columns,
        name = opts[key],
        not (is_atom(name) or is_binary(name)),
        do: expected!("#{inspect(key)} to be the name of a column", name)

    checked!(opts)
    opts
  end

  defp text!(what, text) do
    if is_binary(text) and String.valid?(text),
      do: text,
      else: expected!("#{if is_atom(what), do: inspect(what), else: what} to be a text", text)
  end

  defp checked!(opts) do
    one!(:x, opts.x, @scales)
    one!(:y, opts.y, @scales)
    one!(:kind, opts.kind, @kinds)
    one!(:legend, opts.legend, @legends)

    if not (is_integer(opts.bins) and opts.bins in 1..1_000),
      do: expected!(":bins to be an integer from 1 to 1000", opts.bins)

    case opts.size do
      {width, height}
      when is_integer(width) and is_integer(height) and width in @pixels and height in @pixels ->
        :ok

      other ->
        expected!(":size to be {width, height}, each from 200 to 8000 pixels", other)
    end
  end

  defp one!(key, value, allowed) do
    if value not in allowed,
      do: expected!("#{inspect(key)} to be one of #{inspect(allowed)}", value)
  end
end
