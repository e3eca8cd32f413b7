# A master and 100 runners; sizes are requests to each.
#
#     mix run bench/fan.exs
#     mix run bench/fan.exs 100_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Fan, [100, 1_000])
