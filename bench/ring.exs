# 503 actors in a ring pass on a number; sizes are numbers of hops.
#
#     mix run bench/ring.exs
#     mix run bench/ring.exs 1_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Ring, [1_000, 1_000_000])
