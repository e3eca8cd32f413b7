# All programs of the Savina suite, each on Mote and on BEAM processes, one after the other.
#
#     mix run bench/savina.exs

Code.require_file("compare.exs", __DIR__)
for program <- Mote.Bench.Savina.programs(), do: Mote.Bench.Compare.run(program, program.about().defaults)
