# Requests and replies between two actors; sizes are numbers of round trips.
#
#     mix run bench/ping_pong.exs
#     mix run bench/ping_pong.exs 1_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.PingPong, [1_000, 100_000])
