# The tree of the fork bomb, each leaf adding up 64 random numbers; sizes are depths.
#
#     mix run bench/random_bomb.exs
#     mix run bench/random_bomb.exs 5,14
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.RandomBomb, [10])
