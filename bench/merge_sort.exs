# Merge sort with an actor for each part of the list; sizes are numbers of integers.
#
#     mix run bench/merge_sort.exs
#     mix run bench/merge_sort.exs 1_048_576
Code.require_file("compare.exs", __DIR__)
Mote.Bench.Compare.run(Mote.Bench.Programs.MergeSort, [1_000, 65_536])
