# Waiting for Godot: actors that wait for one message; sizes are numbers of actors.
#
#     mix run bench/estragon.exs
#     mix run bench/estragon.exs 1_000
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.Estragon, [1_000, 100_000])
