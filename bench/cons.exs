# A list of actors, to which another one is appended; sizes are numbers of cells.
#
#     mix run bench/cons.exs
#     mix run bench/cons.exs 10_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Cons, [1_000])
