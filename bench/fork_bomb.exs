# A binary tree of actors that grows and reports up; sizes are depths.
#
#     mix run bench/fork_bomb.exs
#     mix run bench/fork_bomb.exs 12
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.ForkBomb, [10, 15])
