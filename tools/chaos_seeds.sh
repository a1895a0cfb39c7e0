#!/usr/bin/env bash
# chaos_seeds.sh [FOLDER]: `chaos run` over many seeds on both stores, and one table of what came of it.
#
# 20 seeds with a lease of 2 s and 2 with the default settings, each of 2,000 jobs at a kill rate of 0.4. Takes about
# half an hour, so CI runs one seed a store instead (tests/chaos). Run it inside the root: ./dev sh tools/chaos_seeds.sh
# Environment: DEADMAN_BINARY, SEEDS (20), DEFAULT_SEEDS (2), JOBS (2000), STORES ("sqlite:auto postgres:auto").
# Reports go to FOLDER (default build/chaos-seeds); one that is there already is not run again, so it can be resumed.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
binary=${DEADMAN_BINARY:-$top/build/release/bin/deadman}
folder=${1:-$top/build/chaos-seeds}
jobs=${JOBS:-2000}
read -ra stores <<<"${STORES:-sqlite:auto postgres:auto}"
failures=0

[ -x "$binary" ] || { echo "chaos_seeds: no $binary; build it with: ./dev build release deadman" >&2; exit 2; }
mkdir -p "$folder"

run_one() { # STORE SEED SETTING ARGS...
    local store=$1 seed=$2 setting=$3 report
    shift 3
    report=$folder/${store%%:*}-$setting-$seed.json
    [ ! -s "$report" ] || return 0
    printf '%s %s, %s, seed %s: ' "$(date +%T)" "$store" "$setting" "$seed"
    "$binary" chaos run --store "$store" --jobs "$jobs" --kill-rate 0.4 --seed "$seed" --report "$report" "$@" \
        2>/dev/null | tail -n 1 || { failures=$((failures + 1)); echo "  ^ FAILED: $report"; }
}

for store in "${stores[@]}"; do
    for seed in $(seq 1 "${SEEDS:-20}"); do run_one "$store" "$seed" 2s --lease 2s; done
    for seed in $(seq 1 "${DEFAULT_SEEDS:-2}"); do run_one "$store" "$seed" 8s; done
done

# One line a store and setting: sums over its seeds; percentiles are the worst of any seed's, p50 the middle one's.
printf '\n| store | lease | seeds | jobs | effects | lost | duplicated | runs | lapsed | kills | pauses | refused | %s |\n' \
    'rescue p50, ms | rescue p99, ms | rescue max, ms'
printf '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n'
for store in "${stores[@]}"; do
    for setting in 2s 8s; do
        files=("$folder/${store%%:*}-$setting"-*.json)
        [ -s "${files[0]}" ] || continue
        jq -rs --arg store "${store%%:*}" --arg lease "$setting" '
            def total(f): map(f) | add;
            def worst(f): map(f) | max | round;
            [$store, $lease, length, total(.jobs), total(.effects), total(.lost), total(.duplicated), total(.runs),
             "\(100 * total(.lapsed) / total(.runs) * 10 | round / 10) %", total(.kills), total(.pauses),
             total(.fenced), (map(.rescue_ms.p50) | sort | .[length / 2 | floor] | round),
             worst(.rescue_ms.p99), worst(.rescue_ms.max)]
            | "| " + (map(tostring) | join(" | ")) + " |"' "${files[@]}"
    done
done
[ "$failures" = 0 ] || { echo "$failures runs failed" >&2; exit 1; }
