# Orders with their customers, lines and products; sizes are rounds of 48 orders.
#
#     mix run bench/northwind_joins.exs
#     mix run bench/northwind_joins.exs 10_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.NorthwindJoins, [1_000])
