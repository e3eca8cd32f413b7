# The time eater by messages to itself; sizes are how many random numbers a leaf adds up.
#
#     mix run bench/time_eater_sends.exs
#     mix run bench/time_eater_sends.exs 64
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.TimeEaterSends, [1, 16, 256])
