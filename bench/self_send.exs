# An actor counts down by messages to itself, 1,000 times; sizes are where it begins.
#
#     mix run bench/self_send.exs
#     mix run bench/self_send.exs 10_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.SelfSend, [1_000])
