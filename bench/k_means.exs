# k-means in an actor per thousand points; sizes are numbers of points.
#
#     mix run bench/k_means.exs
#     mix run bench/k_means.exs 100_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.KMeans, [10_000])
