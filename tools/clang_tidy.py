#!/usr/bin/env python3
"""clang_tidy.py BUILD_DIR [--all | --since REV]: clang-tidy on what changed since REV (default: the merge base with the
upstream branch, or the last commit) and on the public headers of domain and store; with --all, on every file.

A file that passed is not read again until it, a header of ours that it includes, or .clang-tidy changes.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import sources

TOP = pathlib.Path(__file__).resolve().parent.parent
ALWAYS = ("src/deadman/domain/", "src/deadman/store/")  # headers that everything rests on: checked each time
PLANTED = "int BadName() {\n    return 0;\n}\n"


def git(*args: str) -> list[str]:
    done = subprocess.run(["git", *args], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


def changed_files(since: str | None) -> set[str]:
    if since is None:
        head = git("rev-parse", "HEAD")
        for branch in ("@{upstream}", "origin/main", "main"):
            base = git("merge-base", "HEAD", branch)
            if base and base != head:
                since = base[0]
                break
        else:
            since = "HEAD~1"
    return set(git("diff", "--name-only", since)) | set(git("ls-files", "--others", "--exclude-standard"))


def translation_units(build: pathlib.Path) -> dict[str, str]:
    """Source or header, relative to the top folder: the file by which the compilation database knows it."""
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        header = re.search(r"_verify_interface_header_sets/(.+\.h)\.cxx$", file)
        if header:
            for root in ("src", "."):
                if (TOP / root / header.group(1)).is_file():
                    units[os.path.normpath(f"{root}/{header.group(1)}")] = file
        elif file.startswith(f"{TOP}/") and not file.startswith(f"{build}/"):
            units[os.path.relpath(file, TOP)] = file
    return units


def closure(path: str) -> set[str]:
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current in seen or not (TOP / current).is_file():
            continue
        seen.add(current)
        for _, quoted, name in sources.includes((TOP / current).read_text(errors="replace")):
            if quoted:
                todo += [f"src/{name}", name]
    return seen


def digest(path: str) -> str:
    state = hashlib.sha256((TOP / ".clang-tidy").read_bytes())
    for file in sorted(closure(path)):
        state.update(file.encode() + b"\0" + (TOP / file).read_bytes())
    return state.hexdigest()


def tidy(build: pathlib.Path, file: str) -> tuple[bool, str]:
    done = subprocess.run(["clang-tidy", "--quiet", "-p", str(build), file],
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + (done.stderr if done.returncode and not done.stdout else "")


def self_test() -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "planted.cc"
        file.write_text(PLANTED)
        (pathlib.Path(folder) / ".clang-tidy").write_bytes((TOP / ".clang-tidy").read_bytes())
        done = subprocess.run(["clang-tidy", "--quiet", str(file), "--", "-std=c++20"],
                              capture_output=True, text=True, check=False)
    found = done.returncode != 0 and "BadName" in done.stdout
    print(f"clang_tidy.py: {int(found)} of 1 planted faults found")
    return 0 if found else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--since")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    build = options.build.resolve()
    units = translation_units(build)
    wanted = set(units)
    if not options.all:
        changed = changed_files(options.since)
        wanted = {path for path in units if path in changed or (path.endswith(".h") and path.startswith(ALWAYS))}

    passed = build / "clang-tidy-passed"
    passed.mkdir(exist_ok=True)
    todo = {path: passed / digest(path) for path in sorted(wanted)}
    todo = {path: stamp for path, stamp in todo.items() if not stamp.exists()}
    print(f"clang-tidy: {len(todo)} files to read, {len(wanted) - len(todo)} unchanged since they passed")
    failed = 0
    reported: set[str] = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = {pool.submit(tidy, build, units[path]): path for path in todo}
        for done in concurrent.futures.as_completed(results):
            ok, text = done.result()
            if ok:
                todo[results[done]].touch()
                continue
            failed += 1
            if text not in reported:
                reported.add(text)
                print(text, end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
