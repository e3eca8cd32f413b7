#!/bin/sh
# What sponsors must reach, measured in one run: `bench/sponsors.sh [OUT.tsv]`, from the root of the project, on a
# computer with two cores or more and nothing else to do. Ten minutes, and up to twenty more where cores are seldom even:
# rounds that compare two threads with one count only on even ones, and each size waits half a minute for them at most.
# Prints each target with what was measured, and how many percent of the rounds were on uneven cores after all;
# OUT.tsv (default bench/out/sponsors.tsv) has all figures. ROUNDS=1 is enough to see whether it works.
set -eu

out=${1:-bench/out/sponsors.tsv}
rounds=${ROUNDS:-41}
few=${ROUNDS:-11}
least=${ROUNDS:-5}
mkdir -p "$(dirname "$out")"
: > "$out"

measure() { mix mote.bench "$@" --cores even --format tsv >> "$out"; }

mix compile
measure fork_bomb --depth 5..17 --sponsor both --runs "$rounds"
measure fork_bomb --depth 18..24 --sponsor both --runs "$few"
measure erfc_bomb --depth 4..8 --sponsor both --runs "$rounds"
measure erfc_bomb --depth 10,12 --sponsor both --runs "$few"
measure from_sleep --depth 4,6 --sponsor both --runs "$rounds"
measure time_eater --n 1,2,4,8,16,32,64,128,256 --sponsor both --runs "$rounds"
measure ping_pong ring chain --sponsor both --runs "$few"
measure hot --sponsor both --runs "$few"
measure fan --n 10_000,100_000 --sponsor both --runs "$least"
measure apart --depth 17,19,22 --runs "$few"
measure apart_erfc --depth 7 --runs "$few"
measure sor neighbours radixsort sieve apsp big --sponsor both --runs "$few"
measure northwind_threads --runs "$few"
measure beside --depth 20 --runs "$rounds"
measure sendx --runs "$few"
measure idle_cpu --n 5_000 --runs "$least"

awk -F '\t' -f bench/targets.awk - "$out" << 'TARGETS'
fork_bomb ratio_mt_vs_st 1 least 0.95
fork_bomb ratio_mt_vs_st 18 least 1.6
erfc_bomb ratio_mt_vs_st 4 least 1.85
from_sleep ratio_mt_vs_st 4 least 1.25
from_sleep ratio_mt_vs_st 6 least 1.55
time_eater ratio_mt_vs_st 1 least 0.95
ping_pong ratio_mt_vs_st 1 least 0.95
ring ratio_mt_vs_st 1 least 0.95
chain ratio_mt_vs_st 1 least 0.95
hot ratio_mt_vs_st 1 least 0.7
sor ratio_mt_vs_st 1 least 0.95
sor ratio_cpu_mt_vs_st 1 most 1.3
neighbours ratio_mt_vs_st 1 least 0.95
neighbours ratio_cpu_mt_vs_st 1 most 1.3
radixsort ratio_mt_vs_st 1 least 0.95
radixsort ratio_cpu_mt_vs_st 1 most 1.3
sieve ratio_mt_vs_st 1 least 0.95
sieve ratio_cpu_mt_vs_st 1 most 1.3
apsp ratio_mt_vs_st 1 least 0.95
apsp ratio_cpu_mt_vs_st 1 most 1.3
big ratio_mt_vs_st 1 least 0.95
big ratio_cpu_mt_vs_st 1 most 1.3
northwind_threads ratio_two_vs_one 1 least 1.5
northwind_threads ratio_4_vs_two 1 least 0.95
northwind_threads ratio_8_vs_two 1 least 0.95
northwind_threads ratio_16_vs_two 1 least 0.95
northwind_threads ratio_32_vs_two 1 least 0.95
fork_bomb percent_uneven 1 told rounds_on_uneven_cores
erfc_bomb percent_uneven 1 told rounds_on_uneven_cores
time_eater percent_uneven 1 told rounds_on_uneven_cores
ping_pong percent_uneven 1 told rounds_on_uneven_cores
ring percent_uneven 1 told rounds_on_uneven_cores
chain percent_uneven 1 told rounds_on_uneven_cores
apart ratio_apart_vs_together 1 told what_two_threads_give_fork_bombs
apart_erfc ratio_apart_vs_together 1 told what_two_threads_give_erfc_bombs
beside ratio_beside_vs_alone 1 least 0.98
sendx ns_per_round_trip_awake 1 most 3000
sendx ns_per_round_trip_parked 1 most 60000
idle_cpu percent_of_core 1 most 0.2
TARGETS
