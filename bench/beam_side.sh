#!/bin/sh
# What asking, futures and telemetry must reach, measured in one run: `bench/beam_side.sh [OUT.tsv]`, from the root of the
# project, on a computer with two cores or more and nothing else to do. About a minute. Prints each target with what was
# measured; OUT.tsv (default bench/out/beam_side.tsv) has all figures. ROUNDS=1 is enough to see whether it works.
set -eu

out=${1:-bench/out/beam_side.tsv}
rounds=${ROUNDS:-21}
mkdir -p "$(dirname "$out")"
: > "$out"

measure() { mix mote.bench "$@" --format tsv >> "$out"; }

mix compile
measure ask --compare beam --runs "$rounds"
measure futures --runs "$rounds"
measure telemetry --runs "$rounds"

# A question takes at most twice the time of GenServer.call/3. Telemetry a hundred times as often as by default costs at
# most fifty percent, so half a percent by default.
awk -F '\t' -f bench/targets.awk - "$out" << 'TARGETS'
ask ratio_vs_beam 1 least 0.5
futures ns_per_future 1 most 2000
futures ns_per_future_inside 1 most 200
telemetry ratio_telling_vs_silent 1 least 0.667
TARGETS
