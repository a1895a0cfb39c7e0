#!/usr/bin/env bash
# shellcheck disable=SC2317  # the functions are called through `step`
# lint.sh BUILD_DIR [--all]: everything that reads the source and runs nothing of it. BUILD_DIR is configured.
# lint.sh BUILD_DIR --fix [FILE...]: formats these files, or all.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
shift
failed=0
step() { # NAME COMMAND...
    local start=$SECONDS name=$1 verdict=ok
    shift
    "$@" || { verdict=FAILED; failed=1; }
    printf 'lint: %-22s %4d s  %s\n' "$name" $((SECONDS - start)) "$verdict"
}

files() { # PATTERN...: ours, also those not committed yet
    git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
        [ ! -f "$file" ] || printf '%s\0' "$file"
    done
}

format() {
    local found
    found=$(files '*.h' '*.cc' | xargs -0 -r clang-format --dry-run 2>&1 |
        sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: .*clang-format-violations.*/\1/p' | sort | uniq -c | sort -k2)
    [ -z "$found" ] || { echo "$found"; echo "places to format in these files; ./dev lint --fix does it"; return 1; }
}

format_self_test() {
    printf 'int  x ;\n' | clang-format --dry-run --assume-filename=src/x.cc 2>&1 | grep -q clang-format-violations
}

shell_scripts() { files dev '.ci/run' '*.sh' | xargs -0 -r shellcheck -x; }

if [ "${1:-}" = --fix ]; then
    shift
    if [ $# -gt 0 ]; then clang-format -i "$@"; else files '*.h' '*.cc' | xargs -0 -r clang-format -i; fi
    exit
fi

step "layers" python3 tools/check_layers.py
step "layers, self-test" python3 tools/check_layers.py --self-test
step "tidy" python3 tools/tidy.py
step "tidy, self-test" python3 tools/tidy.py --self-test
step "format" format
step "format, self-test" format_self_test
step "shell scripts" shell_scripts
step "clang-tidy" python3 tools/clang_tidy.py "$build" "$@"
step "clang-tidy, self-test" python3 tools/clang_tidy.py --self-test
exit $failed
