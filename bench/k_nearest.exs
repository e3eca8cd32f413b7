# k-nearest-neighbours in an actor per point; sizes are numbers of points.
#
#     mix run bench/k_nearest.exs
#     mix run bench/k_nearest.exs 5_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.KNearest, [500])
