defmodule Mote.Measure.PlotTest do
  # Plots: the points are those of the table, the files are well formed, mistakes are named.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import ExUnit.CaptureLog

  alias Mote.Measure
  alias Mote.Measure.{Plot, Plotter, Table}
  alias Mote.Xml

  @moduletag :tmp_dir

  defp table(opts \\ []) do
    rows =
      for sponsor <- [:single, :multi], n <- [8, 4, 16], run <- 1..3, do: [n, sponsor, run, n * 10.0 + run]

    Table.new([:param, :sponsor, :run, :value], rows, [title: "a < b & \"c\"", unit: "ns"] ++ opts)
  end

  defp texts(svg), do: svg |> Xml.parse!() |> Xml.texts()

  test "an SVG is well formed and has its texts", %{tmp_dir: dir} do
    path = Path.join(dir, "plot.svg")

    for opts <- [
          [],
          [x: :log2, y: :log],
          [kind: :bars],
          [kind: :histogram],
          [legend: :upper_left],
          [legend: false]
        ] do
      assert Measure.plot(table(), path, opts) == :ok
      document = path |> File.read!() |> Xml.parse!()
      texts = Xml.texts(document)
      assert "a < b & \"c\"" in texts
      assert "single" in texts == (opts[:legend] != false)
      assert {"svg", %{}, _} = document
    end
  end

  test "axes are written at round numbers, of logarithms as what they are of", %{tmp_dir: dir} do
    path = Path.join(dir, "plot.svg")
    texts = fn opts -> Measure.plot!(table(), path, opts) && path |> File.read!() |> texts() end
    assert ~w(4 8 16) -- texts.(x: :log2) == []
    assert ~w(50 100) -- texts.(y: :log) == []
    assert ~w(0 50 100 150) -- texts.([]) == []
    # Nothing but zeros: none is below them.
    zeros = Table.new([:param, :value], [[1, 0]])
    Measure.plot!(zeros, path, kind: :bars)
    labels = path |> File.read!() |> texts()
    assert "0" in labels and not Enum.any?(labels, &String.starts_with?(&1, "-"))
    wide = Table.new([:param, :value], [[1, 1], [1_000_000, 65_536]])
    Measure.plot!(wide, path, x: :log, y: :log2)
    assert ~w(1 1000 1M 2^0 2^15) -- (path |> File.read!() |> texts()) == []
  end

  test "a PNG has its signature, its size and its text", %{tmp_dir: dir} do
    path = Path.join(dir, "plot.PNG")
    assert Measure.plot(table(), to_charlist(path), size: {640, 400}) == :ok

    assert <<0x89, "PNG\r\n", 0x1A, "\n", 13::32, "IHDR", 640::32, 400::32, 8, 2, _::binary>> =
             image = File.read!(path)

    assert binary_part(image, byte_size(image) - 8, 4) == "IEND"

    # Text is drawn: with another one there is another picture.
    Measure.plot!(table(), path, size: {640, 400}, title: "other")
    assert File.read!(path) != image
    Measure.plot!(table(), path, size: {640, 400})
    assert File.read!(path) == image
  end

  test "points are medians with their spread, in the order of the axis" do
    figure = Plot.figure(table(), [])
    assert [%{name: "single", points: points}, %{name: "multi"}] = figure.series
    assert points == for(n <- [4.0, 8.0, 16.0], do: %{x: n, y: n * 10 + 2, low: n * 10 + 1, high: n * 10 + 3})

    assert Plot.figure(Table.summary(table()), []).series == figure.series

    bars = Plot.figure(table(), kind: :bars)
    assert bars.categories == ["8", "4", "16"]
    assert [%{points: [%{x: 0.0, y: 82.0}, %{x: 1.0, y: 42.0}, %{x: 2.0, y: 162.0}]} | _] = bars.series

    histogram = Plot.figure(table(), kind: :histogram, bins: 3)
    assert length(histogram.categories) == 3
    assert [%{points: [%{x: 0.0, y: 4.0}, %{x: 1.0, y: 2.0}, %{x: 2.0, y: 3.0}]} | _] = histogram.series
  end

  test "the intervals of a histogram are equally wide on its scale" do
    table = Table.new([:value], for(value <- [1, 2, 5, 9, 20, 10_000], do: [value]))
    points = fn opts -> hd(Plot.figure(table, [kind: :histogram, bins: 4] ++ opts).series).points end
    assert [%{x: 0.0, y: 5.0}, %{x: 3.0, y: 1.0}] = points.([])
    assert [%{x: 0.0, y: 4.0}, %{x: 1.0, y: 1.0}, %{x: 3.0, y: 1.0}] = points.(x: :log)
    assert points.(x: :log2) == points.(x: :log)
    # The middle of each.
    assert Plot.figure(table, kind: :histogram, bins: 4, x: :log).categories == ~w(3.16 31.6 316 3,162)
  end

  test "without a column of names there is one line" do
    table = Table.new([:n, :speed], [[1, 2], [2, 4]])
    assert %{series: [%{points: [%{y: 2.0}, %{y: 4.0}]}]} = Plot.figure(table, over: :n, value: :speed)
    assert %{series: [%{name: "1"}, %{name: "2"}]} = Plot.figure(table, over: :n, value: :speed, series: :n)
  end

  test "one point, equal values and zeros can be drawn", %{tmp_dir: dir} do
    for rows <- [[[5, 7]], [[5, 0], [6, 0]], [[5, -3], [5, 3]]],
        format <- ~w(svg png),
        kind <- [:lines, :bars, :histogram] do
      assert Measure.plot(Table.new([:param, :value], rows), Path.join(dir, "plot.#{format}"), kind: kind) ==
               :ok
    end
  end

  property "whatever the numbers are, there is a plot with ticks" do
    numbers =
      one_of([
        integer(),
        float(),
        float(min: -1.0e-9, max: 1.0e-9),
        float(min: -1.0e300, max: 1.0e300),
        positive_integer()
      ])

    check all(
            rows <-
              list_of(fixed_list([numbers, member_of(["a", "b"]), numbers]), min_length: 1, max_length: 8),
            x <- member_of([:linear, :log, :log2]),
            y <- member_of([:linear, :log, :log2]),
            kind <- member_of([:lines, :bars, :histogram]),
            max_runs: 150
          ) do
      fit = fn scale, n -> if scale == :linear, do: n, else: abs(n) + 1.0e-12 end
      # Of a histogram the x axis has the values.
      scale = if kind == :histogram, do: x, else: y
      rows = for [at, name, value] <- rows, do: [fit.(x, at), name, fit.(scale, value)]
      table = Table.new([:param, :series, :value], rows)
      # The bars of a histogram are counts.
      opts = [x: x, y: if(kind == :histogram, do: :linear, else: y), kind: kind]
      assert length(table |> Plot.draw(:svg, opts) |> texts()) >= 4
      assert <<0x89, "PNG", _::binary>> = Plot.draw(table, :png, [size: {300, 200}] ++ opts)
    end
  end

  test "integers of any size are numbers", %{tmp_dir: dir} do
    rows = for x <- [2 ** 63, 2 ** 64, 2 ** 900], run <- 1..2, do: [x, run, x + run]
    table = Table.new([:param, :run, :value], rows)

    assert [%{points: [%{x: 9.223372036854775808e18, y: 9.223372036854775808e18}, _, _]}] =
             Plot.figure(table, []).series

    for kind <- [:lines, :bars, :histogram], x <- [:linear, :log2] do
      assert Measure.plot(table, Path.join(dir, "plot.svg"), kind: kind, x: x) == :ok
    end
  end

  test "mistakes are explained", %{tmp_dir: dir} do
    path = Path.join(dir, "plot.svg")
    odd = Table.new([:param, :value], [["a", 1], [2, nil]])

    for {message, table, opts} <- [
          {"there is nothing to plot: the table is empty", Table.new([:param, :value], []), []},
          {"there is nothing to plot: the column value has no numbers",
           Table.new([:param, :value], [[1, nil]]), []},
          {"the table has no column :speed, but param, sponsor, run, value", table(), [value: :speed]},
          {"the table has no column :n, but param, sponsor, run, value", table(), [over: :n]},
          {"the table has no column :who, but param, sponsor, run, value", table(), [series: :who]},
          {"the x axis of lines has numbers, but the column param has \"a\": take kind: :bars", odd, []},
          {"a :log scale has positive values only, but the column value has 0.0",
           Table.new([:param, :value], [[1, 0]]), [y: :log]},
          {"a :log2 scale has positive values only, but the column param has -1.0",
           Table.new([:param, :value], [[-1, 1]]), [x: :log2]},
          {"expected :x to be one of [:linear, :log, :log2], got: :ln", table(), [x: :ln]},
          {"expected :legend to be one of [:right, :upper_left, :upper_right, :lower_left, :lower_right, false], got: :top",
           table(), [legend: :top]},
          {"expected :bins to be an integer from 1 to 1000, got: 0", table(), [bins: 0]},
          {"expected :title to be a text, got: :atom", table(), [title: :atom]},
          {"expected :x_label to be a text, got: 1", table(), [x_label: 1]},
          {"expected :y_label to be a text, got: <<255>>", table(), [y_label: <<255>>]},
          {"expected :title to be a text, got: :atom", %{table() | title: :atom}, []},
          {"expected :y_label to be a text, got: :ns", %{table() | unit: :ns}, []},
          {"expected a cell to be a text, got: <<255>>",
           Table.new([:param, :series, :value], [[1, <<255>>, 1]]), []},
          {"expected :over to be the name of a column, got: {1}", table(), [over: {1}]},
          {"expected :series to be the name of a column, got: 5", table(), [series: 5]},
          {"expected the options of plot/3 to be a keyword list, got: :x", table(), :x},
          {"a plot has numbers up to 1.0e300, but the column value has #{10 ** 301}",
           Table.new([:param, :value], [[1, 10 ** 301]]), []},
          {"a plot has numbers up to 1.0e300, but the column value has #{-(10 ** 400)}",
           Table.new([:param, :value], [[1, -(10 ** 400)]]), [kind: :histogram]},
          {"a plot has numbers up to 1.0e300, but the column param has #{10 ** 301}",
           Table.new([:param, :value], [[10 ** 301, 1]]), []},
          {"expected :size to be {width, height}, each from 200 to 8000 pixels, got: {1, 1}", table(),
           [size: {1, 1}]}
        ] do
      assert_raise ArgumentError, message, fn -> Measure.plot(table, path, opts) end
    end

    assert_raise ArgumentError, ~r/unknown key :colour in the options of plot\/3; there are :over, /, fn ->
      Measure.plot(table(), path, colour: :red)
    end

    for file <- ["plot.pdf", :plot, 7] do
      assert_raise ArgumentError, "a plot is an .svg or a .png file, got: #{inspect(file)}", fn ->
        Measure.plot(table(), file)
      end
    end

    assert_raise ArgumentError, "expected a table to plot, returned by Mote.Measure.sweep/2, got: :x", fn ->
      Measure.plot(:x, path)
    end

    refute File.exists?(path)
  end

  test "a file that cannot be written is an error that names it", %{tmp_dir: dir} do
    path = Path.join(dir, "missing/plot.svg")
    assert {:error, %File.Error{reason: :enoent, path: ^path} = error} = Measure.plot(table(), path)

    assert Exception.message(error) ==
             "could not write the plot to #{inspect(path)}: no such file or directory"

    assert_raise File.Error, fn -> Measure.plot!(table(), path) end
  end

  test "an actor has its rows drawn, and hears of mistakes", %{tmp_dir: dir} do
    machine = start_supervised!({Mote, []})
    painter = start_supervised!({Plotter, [x: :log]})
    plotter = Mote.create(machine, Plotter.plotter(painter))
    path = Path.join(dir, "plot.svg")
    rows = [{1, :here, %{samples: [1, 2, 3], median: 2}}, {10, :here, 5}]
    assert Mote.ask!(plotter, {path, rows}) == :ok
    assert "here" in (path |> File.read!() |> texts())

    for {request, message} <- [
          {{Path.join(dir, "no/plot.svg"), rows}, ~r/could not write the plot to/},
          {{path, [{-1, :here, 1}]}, ~r/a :log scale has positive values only/},
          {{path, []}, ~r/the table is empty/},
          {{path, [:a]}, ~r/expected rows \{parameter, name, answer\}, got: \[:a\]/},
          {{7, rows}, ~r/expected the path of a file, got: 7/},
          {{path, [{1, <<255>>, 1}]}, ~r/expected a cell to be a text, got: <<255>>/},
          {{path, [{1, :here, 10 ** 301}]}, ~r/a plot has numbers up to 1.0e300/},
          {{path, [{1, :here, 1} | :x]}, ~r/expected rows \{parameter, name, answer\}/},
          {{path, [{1, :here, %{samples: 5}}]}, ~r/protocol Enumerable not implemented for/}
        ] do
      assert {:error, text} = Mote.ask!(plotter, request)
      assert text =~ message
    end

    assert Mote.ask!(plotter, {path, [{1, :here, 2 ** 70}]}) == :ok

    # Nobody is there to tell of it.
    log =
      capture_log(fn ->
        Mote.send(plotter, {:nobody, {path, rows}})
        send(painter, :stray)
        assert Mote.ask!(plotter, {path, rows}) == :ok
      end)

    assert log =~ "painter #{inspect(painter)} got an unexpected message: :stray"

    for {opts, message} <- [
          {[title: :atom], "expected :title to be a text, got: :atom"},
          {:x, "expected the options"}
        ] do
      assert assert_raise(ArgumentError, fn -> Plotter.start_link(opts) end).message =~ message
    end
  end
end
