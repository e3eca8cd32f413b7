# The tree of the fork bomb, each leaf computing erfc of 1,000 numbers; sizes are depths.
#
#     mix run bench/erfc_bomb.exs
#     mix run bench/erfc_bomb.exs 5,12
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.ErfcBomb, [3, 8])
