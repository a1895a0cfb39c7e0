#!/usr/bin/env python3
"""Checks what no compiler checks: files that no target lists, bans with their replacement, sizes, paths of one machine.

A line that must break a ban says so: `// tidy-allow: why`.
"""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable

import sources

OWN_TARGETS = ("src/", "apps/", "tests/", "bench/") # folders whose every file some target must list
SOURCE_LINES_FAIL = 1000
SOURCE_LINES_WARN = 400

# (pattern, where it is allowed, what to write instead)
BANS = [
    (r"\b(system|steady|high_resolution)_clock::now\s*\(", ("src/deadman/base/", "src/deadman/platform/"),
     "read the time from a base::Clock that is passed in"),
    (r"\bsleep_(for|until)\b", ("src/deadman/base/",), "wait on a base::Clock, a condition or a test signal"),
    (r"\brandom_device\b", ("src/deadman/base/",), "take a seeded base random source that is passed in"),
    (r"\bstd::(cout|endl)\b", ("apps/", "examples/"), "log an event, or return the text; '\\n' instead of endl"),
    (r"\b(std::)?s?rand\s*\(\s*\)", (), "take a seeded base random source that is passed in"),
    (r"\busing namespace std\s*;", (), "name what you use"),
    (r"\bFIX" r"ME\b|\bXX" r"X\b", (), "do it, or file an issue and name it"),
]
TEXT_BANS = [
    # Any file: what belongs to one machine or one network.
    (r"(?<![\w.$}~-])/(work|root|Users|home/(?!deadman\b)[\w.-]+)/", "a path of one machine: make it relative or configurable"),
    (r"https?://(?:[\w-]+\.)*(?:deb|archive|mirrors?|registry|proxy|packages|repo\d?|index|ftp)\.[\w-]+\.[\w.-]+",
     "a package host: take the system's own setting"),
]
TEXT_SUFFIXES = {".h", ".cc", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".toml", ".sql", ".yaml", ".yml", ""}
VAGUE_FOLDERS = {"utils", "util", "common", "helpers", "misc"}


def check(top: pathlib.Path) -> Iterable[sources.Finding]:
    yield from check_orphans(top)
    for file in sources.source_files(top):
        path = file.relative_to(top).as_posix()
        text = file.read_text(errors="replace")
        lines = text.splitlines()
        yield from check_size(path, len(lines))
        if file.suffix == ".h" and "#pragma once" not in text:
            yield path, 1, "a header without #pragma once"
        for part in set(path.split("/")[:-1]) & VAGUE_FOLDERS:
            yield path, 0, f"a folder named '{part}' says nothing: name what is in it"
        for number, line in enumerate(lines, 1):
            if "tidy-allow:" in line:
                continue
            for pattern, allowed, instead in BANS:
                if re.search(pattern, line) and not path.startswith(allowed):
                    yield path, number, f"'{line.strip()[:60]}': {instead}"
    for file in text_files(top):
        path = file.relative_to(top).as_posix()
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            for pattern, instead in TEXT_BANS:
                if re.search(pattern, line) and "tidy-allow:" not in line:
                    yield path, number, f"'{line.strip()[:80]}': {instead}"


def check_size(path: str, lines: int) -> Iterable[sources.Finding]:
    if lines > SOURCE_LINES_FAIL:
        yield path, 0, f"{lines} lines, over {SOURCE_LINES_FAIL}: split it"
    elif lines > SOURCE_LINES_WARN:
        yield path, 0, f"warning: {lines} lines, over {SOURCE_LINES_WARN}"


def check_orphans(top: pathlib.Path) -> Iterable[sources.Finding]:
    listed: set[str] = set()
    for root in OWN_TARGETS:
        for cmake in [*(top / root).rglob("CMakeLists.txt"), *(top / root).rglob("*.cmake")]:
            folder = cmake.parent.relative_to(top).as_posix()
            words = re.findall(r"[\w./-]+\.(?:cc|h)\b", re.sub(r"#[^\n]*", "", cmake.read_text()))
            listed.update(f"{folder}/{word}" for word in words)
    for file in sources.source_files(top):
        path = file.relative_to(top).as_posix()
        if path.startswith(OWN_TARGETS) and path not in listed and not ("/internal/" in path and path.endswith(".h")):
            yield path, 0, "belongs to no target: list it in the CMakeLists.txt beside it"


def text_files(top: pathlib.Path) -> Iterable[pathlib.Path]:
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=top, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        files = [top / name for name in listing.stdout.split("\0") if name]
    else:  # a copy, outside git
        files = [file for file in top.rglob("*") if "build" not in file.relative_to(top).parts]
    return sorted(file for file in files if file.suffix in TEXT_SUFFIXES and file.is_file())


def planted(path: str, line: str):
    return lambda top: sources.append(top / path, line + "\n")


FAULTS = {
    "orphan source": lambda top: sources.write(top / "tests/sim/planted_test.cc", "int x;\n"),
    "orphan header": lambda top: sources.write(top / "src/deadman/domain/planted.h", "#pragma once\n"),
    "header without #pragma once": lambda top: sources.write(top / "src/deadman/domain/internal/planted.h", "int x;\n"),
    "source too long": planted("src/deadman/base/error.cc", "\n" * (SOURCE_LINES_FAIL + 1)),
    "wall clock": planted("apps/deadman/main.cc", "auto t = std::chrono::system_clock::now();"),
    "steady clock": planted("apps/deadman/main.cc", "auto t = steady_clock::now ();"),
    "sleep": planted("apps/deadman/main.cc", "std::this_thread::sleep_for(1s);"),
    "random device": planted("apps/deadman/main.cc", "std::random_device entropy;"),
    "std::cout": planted("src/deadman/base/error.cc", 'void f() { std::cout << "x"; }'),
    "fix-me": planted("src/deadman/base/error.cc", "// FIX" "ME later"),
    "machine path": planted("CMakeLists.txt", "# see /wo" "rk/main"),
    "package host": planted("CMakeLists.txt", "# https://de" "b.example.org/x"),
    "vague folder": lambda top: sources.write(top / "src/deadman/utils/internal/planted.h", "#pragma once\n"),
}

if __name__ == "__main__":
    sys.exit(sources.run(__doc__, check, FAULTS))
