#!/usr/bin/env bash
# Goal: what `cmake --install` lays down is enough: a stranger's project finds the package, builds the
# example against it and runs it; the public header names no third-party header.
set -euo pipefail

build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
grep -hE '^#include' "$work"/prefix/include/deadman/*.h | grep -vE '^#include <[a-z_]+>$' &&
    fail 'an installed header includes more than the standard library'
cmake -S "$source/examples/embedded" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure.log"
cmake --build "$work/build" >"$work/build.log" || { cat "$work/build.log"; fail 'the example does not build'; }
cd "$work"
./build/embedded | tee said
grep -qx 'job 1 succeeded' said || fail 'the example said something else'
[ "$(sqlite3 embedded.db 'select count(*) from greeting')" = 1 ] || fail 'not one effect'
"$work/prefix/bin/deadman" version >/dev/null || fail 'the installed binary does not run'
echo '1 passed, 0 failed'
