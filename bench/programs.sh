#!/bin/sh
# What the programs of the systems that Mote descends from must reach, measured in one run: `bench/programs.sh [OUT.tsv]`,
# from the root of the project, on a computer with two cores and nothing else to do. About ten minutes. Prints each target
# with what was measured; OUT.tsv (default bench/out/programs.tsv) has all figures. ROUNDS=1 is enough to see whether it
# works.
set -eu

out=${1:-bench/out/programs.tsv}
rounds=${ROUNDS:-5}
mkdir -p "$(dirname "$out")"
: > "$out"

measure() { mix mote.bench "$@" --format tsv >> "$out"; }

mix compile
measure chain --compare beam --runs "$rounds"
measure fan --n 10_000 --compare beam --runs "$rounds"
measure merge_sort --compare beam --runs "$rounds"
measure idle --n 10_000_000 --runs "$rounds"
measure northwind --sponsor both --runs "$rounds"
measure k_means k_nearest --runs "$rounds"
measure fib_futures --n 19,21,22,23,25,27,30 --sponsor both --runs "$rounds"

# 100 ns per read are ten million reads per second. fib(19) takes some 20 microseconds.
awk -F '\t' -f bench/targets.awk - "$out" << 'TARGETS'
chain ratio_vs_beam 1 least 25
fan ratio_vs_beam 1 least 15
merge_sort ratio_vs_beam 1 least 8
idle bytes_per_actor 10000000 most 17
northwind ns_per_read 1 most 100
k_means ratio_two_vs_one 1 least 1.8
k_nearest ratio_two_vs_one 1 least 1.8
fib_futures ratio_mt_vs_st 19 least 1.85
TARGETS
