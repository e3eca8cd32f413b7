defmodule Mote.Bench.PlotTest do
  use ExUnit.Case, async: true

  alias Mote.Bench.{Plot, Program}
  alias Mote.Bench.Programs.ForkBomb

  @about %{param: :n, defaults: [10, 100], metric: :ns_per_actor}

  test "a program that says nothing is drawn over its sizes" do
    assert Plot.new([], @about) == %Plot{
             sizes: [10, 100],
             full: [10, 100],
             metric: :ns_per_actor,
             over: :size,
             x: :log,
             y: :log,
             kind: :lines,
             variants: nil
           }
  end

  test "a single size gives bars, a depth a linear axis" do
    assert %Plot{kind: :bars, y: :linear, x: :linear} = Plot.new([], %{@about | defaults: [7], param: :depth})
    assert %Plot{kind: :bars, full: [7, 10, 100]} = Plot.new([sizes: [7]], @about)
  end

  test "what a program says counts" do
    given = [
      sizes: 2..4,
      full: 2..9,
      metric: :bytes_per_actor,
      over: :count,
      x: :log2,
      y: :linear,
      kind: :bars
    ]

    plot = Plot.new(given ++ [variants: [:mote_st]], @about)
    assert %Plot{sizes: [2, 3, 4], metric: :bytes_per_actor, over: :count, x: :log2, y: :linear} = plot
    assert %Plot{kind: :bars, variants: [:mote_st]} = plot
    assert plot.full == Enum.to_list(2..9)
    assert %Plot{full: [_ | _]} = ForkBomb.about().plot
  end

  test "mistakes are explained" do
    for {given, message} <- [
          {[kind: :pie], "plot: kind: must be one of [:lines, :bars, :histogram], got: :pie"},
          {[x: :ln], "plot: x: must be one of [:linear, :log, :log2], got: :ln"},
          {[over: :time], "plot: over: must be one of [:size, :count], got: :time"},
          {[sizes: []], "plot: sizes: must be sizes, positive integers, got: []"},
          {[full: [0]], "plot: full: must be sizes, positive integers, got: [0]"}
        ] do
      assert_raise ArgumentError, message, fn -> Plot.new(given, @about) end
    end

    opts = [title: "x", param: :n, defaults: [1], small: 1, metric: :ns_per_actor, plot: [size: 3]]
    assert_raise ArgumentError, ~r/unknown keys \[:size\]/, fn -> Program.about(Wrong, opts) end
  end
end
