defmodule Mote.Bench.ReportTest do
  use ExUnit.Case, async: true
  doctest Mote.Bench.Report

  alias Mote.Bench.{Measure, Report}
  alias Mote.Bench.Programs.ForkBomb

  @measures [
    %Measure{
      bench: "fork_bomb",
      variant: :mote,
      param: 20,
      metric: :ns_per_actor,
      values: [14.2, 15.0, 13.5]
    },
    %Measure{bench: "fork_bomb", variant: :mote, param: 20, metric: :peak_rss_bytes, values: [123_456_789]},
    %Measure{
      bench: "fork_bomb",
      variant: :beam,
      param: 20,
      metric: :ns_per_actor,
      values: [2_200.0, 2_400.0]
    },
    %Measure{bench: "fork_bomb", variant: :mote, param: 20, metric: :ratio_vs_beam, values: [160.1234]}
  ]

  test "tab separated values have one metric a line" do
    assert Report.tsv_header() == "bench\tvariant\tparam\tmetric\tmedian\tmin\tmax\tunit"

    assert Report.tsv(@measures) == [
             "fork_bomb\tmote\t20\tns_per_actor\t14.200\t13.500\t15.000\tns",
             "fork_bomb\tmote\t20\tpeak_rss_bytes\t123456789\t123456789\t123456789\tbytes",
             "fork_bomb\tbeam\t20\tns_per_actor\t2300.000\t2200.000\t2400.000\tns",
             "fork_bomb\tmote\t20\tratio_vs_beam\t160.123\t160.123\t160.123\tx"
           ]
  end

  test "the table is aligned" do
    assert Report.table(ForkBomb, @measures) ==
             """
             fork_bomb: #{ForkBomb.about().title}

               depth  variant  metric            median       min       max
                  20  mote     ns per actor     14.2 ns   13.5 ns   15.0 ns
                  20  mote     peak rss bytes    123 MB    123 MB    123 MB
                  20  beam     ns per actor    2,300 ns  2,200 ns  2,400 ns
                  20  mote     ratio vs beam      160 x     160 x     160 x
             """
  end

  test "numbers keep three digits over all sizes" do
    assert Report.number(0.0) == "0.00"
    assert Report.number(9.99) == "9.99"
    assert Report.number(9.999) == "10.0"
    assert Report.number(99.96) == "100"
    assert Report.number(999.6) == "1,000"
    assert Report.number(100) == "100"
    assert Report.number(1_000) == "1,000"
  end

  test "every unit is shown with its figure" do
    for {metric, shown} <- [
          us_per_leaf: "26.1 us",
          ns_per_round_trip_parked: "26.1 ns",
          ratio_mt_vs_st: "26.1 x",
          percent_of_core: "26.125 %"
        ] do
      measure = %Measure{bench: "fork_bomb", variant: :mote, param: 1, metric: metric, values: [26.125]}
      assert Report.table(ForkBomb, [measure]) =~ "  #{shown}  "
    end
  end

  test "the median of an even number is between the two in the middle" do
    assert Measure.median([4, 1, 3, 2]) == 2.5
    assert Measure.median([3, 1, 2]) == 2
    assert Measure.median([7]) == 7
  end
end
