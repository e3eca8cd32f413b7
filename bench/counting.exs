# One producer, one counter; sizes are numbers of messages.
#
#     mix run bench/counting.exs
#     mix run bench/counting.exs 1_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Counting, [1_000, 1_000_000])
