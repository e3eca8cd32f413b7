# Reads of 29 customers through a dispatcher and two readers; sizes are rounds of 31 reads.
#
#     mix run bench/northwind.exs
#     mix run bench/northwind.exs 100_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Northwind, [1_000, 10_000])
