defmodule Mote.Measure.DocsTest do
  use ExUnit.Case, async: true

  doctest Mote.Measure
  doctest Mote.Measure.Histogram
  doctest Mote.Measure.Median
  doctest Mote.Measure.Number
  doctest Mote.Measure.Plotter
  doctest Mote.Measure.Prep
  doctest Mote.Measure.Statistics
  doctest Mote.Measure.Sweep
  doctest Mote.Measure.Table
  doctest Mote.Measure.Timer
end
