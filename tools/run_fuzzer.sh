#!/usr/bin/env bash
# run_fuzzer.sh FUZZER SEEDS BUILD_DIR SECONDS: one fuzzer for a while, starting from SEEDS/NAME where there is one.
# What it finds stays in BUILD_DIR/artifacts, what it learns in BUILD_DIR/corpus.
set -euo pipefail

fuzzer=$1 build=$3 seconds=$4
name=${fuzzer##*/}
corpus=("$build/corpus/$name")
mkdir -p "${corpus[0]}"
[ ! -d "$2/$name" ] || corpus+=("$2/$name")
log=$build/artifacts/$name.log
if "$fuzzer" "${corpus[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$build/artifacts/$name-" -print_final_stats=1 >"$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
else
    tail -n 60 "$log"
    echo "$name: FOUND something; the input is in $build/artifacts"
    exit 1
fi
