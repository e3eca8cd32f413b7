# A tree of ten levels, each leaf adding up random numbers; sizes are how many.
#
#     mix run bench/time_eater.exs
#     mix run bench/time_eater.exs 64
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.TimeEater, [1, 16, 256])
