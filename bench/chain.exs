# Each actor creates the next one, and the answer travels back; sizes are numbers of actors.
#
#     mix run bench/chain.exs
#     mix run bench/chain.exs 1_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Chain, [1_000, 100_000])
