"""What the checks share: the source files, the targets that CMakeLists.txt files declare, and how a check is run."""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable

SOURCE_ROOTS = ("src", "apps", "tests", "bench", "include", "examples")
CHECKED_ROOTS = SOURCE_ROOTS + ("cmake", "tools", "docs", "dashboard")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
KEYWORDS = frozenset(
    "SOURCES HEADERS DEPS PUBLIC_DEPS PRIVATE_DEPS TESTS TEST_DEPS LABEL TIMEOUT ENABLED INCLUDE_ROOT COMMAND NEEDS".split()
)

# A check yields (path, line, message); line 0 means the file as a whole.
Finding = tuple[str, int, str]


def source_files(top: pathlib.Path) -> list[pathlib.Path]:
    return sorted(
        file for root in SOURCE_ROOTS for file in (top / root).rglob("*") if file.suffix in (".h", ".cc") and file.is_file()
    )


def includes(text: str) -> Iterable[tuple[int, bool, str]]:
    """(line, quoted?, path) of each #include."""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1) == '"', match.group(2)


def declarations(cmake: pathlib.Path) -> Iterable[tuple[str, str, dict[str, list[str]]]]:
    """(function, target name, arguments by keyword) of each deadman_*() call."""
    text = re.sub(r"#[^\n]*", "", cmake.read_text())
    for match in re.finditer(r"\b(deadman_\w+)\s*\(([^()]*)\)", text):
        words = re.findall(r'"[^"]*"|\S+', match.group(2))
        if not words:
            continue
        arguments: dict[str, list[str]] = {}
        current = arguments.setdefault("", [])
        for word in words[1:]:
            if word in KEYWORDS:
                current = arguments.setdefault(word, [])
            else:
                current.append(word.strip('"'))
        yield match.group(1), words[0], arguments


def run(
    description: str,
    check: Callable[[pathlib.Path], Iterable[Finding]],
    faults: dict[str, Callable[[pathlib.Path], None]],
) -> int:
    """Runs the check on this checkout; with --self-test, on copies of it with one fault planted in each."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--self-test", action="store_true", help="plant faults in a copy and see each one found")
    options = parser.parse_args()
    top = pathlib.Path(__file__).resolve().parent.parent
    if options.self_test:
        return self_test(top, check, faults)
    found = sorted(set(check(top)))
    for path, line, message in found:
        print(f"{path}:{line}: {message}" if line else f"{path}: {message}")
    return 1 if any(not message.startswith("warning: ") for _, _, message in found) else 0


def self_test(top: pathlib.Path, check: Callable, faults: dict[str, Callable[[pathlib.Path], None]]) -> int:
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        clean = pathlib.Path(folder) / "clean"
        copy_tree(top, clean)
        before = set(check(clean))
        for name, plant in faults.items():
            copy = pathlib.Path(folder) / "planted"
            shutil.copytree(clean, copy)
            plant(copy)
            if not set(check(copy)) - before:
                missed.append(name)
            shutil.rmtree(copy)
    for name in missed:
        print(f"self-test: the planted fault '{name}' was not found", file=sys.stderr)
    print(f"{pathlib.Path(sys.argv[0]).name}: {len(faults) - len(missed)} of {len(faults)} planted faults found")
    return 1 if missed else 0


def copy_tree(top: pathlib.Path, copy: pathlib.Path) -> None:
    copy.mkdir()
    for root in CHECKED_ROOTS:
        if (top / root).is_dir():
            shutil.copytree(top / root, copy / root, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    for file in top.iterdir():
        if file.is_file():
            shutil.copy(file, copy)


def write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def append(path: pathlib.Path, text: str) -> None:
    path.write_text(path.read_text() + text)
