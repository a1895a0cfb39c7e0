#!/usr/bin/env python3
"""Checks who includes whom: the DEPS that modules declare against the table below, and #include lines against the DEPS."""

import pathlib
import re
import sys
from collections.abc import Iterable

import sources

# module: what its DEPS may name. Whoever may name a module may include what that module includes.
ALLOWED = {
    "base": set(),
    "telemetry": {"base"},
    "platform": {"base"},
    "config": {"base"},
    "domain": {"base"},
    "store": {"domain", "base"},
    "store_memory": {"store", "domain", "base", "telemetry"},
    "store_sqlite": {"store", "domain", "base", "platform", "telemetry"},
    "store_postgres": {"store", "domain", "base", "platform", "telemetry"},
    "dispatch": {"domain", "base", "telemetry"},
    "dispatch_kafka": {"dispatch", "domain", "base", "telemetry"},
    "coordination": {"domain", "base", "telemetry"},
    "coordination_redis": {"coordination", "domain", "base", "telemetry"},
    "scheduler": {"store", "dispatch", "coordination", "domain", "base", "telemetry"},
    "worker": {"store", "dispatch", "coordination", "domain", "base", "platform", "telemetry"},
    "worker_handlers": {"worker", "store", "domain", "base", "config", "platform", "telemetry"},
    "json": {"store", "domain", "base"},
    "http": {"scheduler", "store", "json", "domain", "base", "telemetry", "config"},
    "wiring": {"store", "store_memory", "store_sqlite", "store_postgres", "domain", "base"},
    "embedded": {"wiring", "scheduler", "worker", "worker_handlers", "store", "domain", "base", "platform",
                 "telemetry"},
    "client": {"store", "domain", "base", "telemetry"},
}

# Third-party headers: never in a public header; some only in the module that wraps them.
THIRD_PARTY = re.compile(
    r"^(pqxx|libpq|drogon|trantor|hiredis|librdkafka|curl|spdlog|fmt|toml\+\+|prometheus|openssl|CLI|json|gtest|gmock)/"
    r"|^(sqlite3|libpq-fe|yyjson|rapidcheck)\.h$|^pqxx$"
)
ONLY_IN = {
    re.compile(r"^(drogon|trantor)/"): {"http"},
    re.compile(r"^pqxx(/|$)|^libpq"): {"store_postgres"},
    re.compile(r"^sqlite3\.h$"): {"store_sqlite"},
}
POSIX = re.compile(
    r"^(sys|arpa|netinet|net|linux)/"
    r"|^(unistd|fcntl|signal|poll|spawn|pthread|dirent|netdb|termios|dlfcn|pwd|grp|sched|syslog|ftw|glob|fnmatch"
    r"|semaphore|ifaddrs|wait|utime)\.h$"
)


class Modules:
    def __init__(self, top: pathlib.Path) -> None:
        self.top = top
        self.by_folder: dict[str, str] = {}
        self.deps: dict[str, list[str]] = {}
        self.where: dict[str, str] = {}
        for cmake in sorted((top / "src" / "deadman").rglob("CMakeLists.txt")):
            for function, name, arguments in sources.declarations(cmake):
                if function == "deadman_module":
                    folder = cmake.parent.relative_to(top / "src").as_posix()
                    self.by_folder[folder] = name
                    self.deps[name] = arguments.get("DEPS", [])
                    self.where[name] = cmake.relative_to(top).as_posix()

    def owner(self, path: str) -> str | None:
        """The module of a file or an include path relative to src/."""
        parts = path.split("/")[:-1]
        for length in range(len(parts), 0, -1):
            name = self.by_folder.get("/".join(parts[:length]))
            if name:
                return name
        return None

    def reachable(self, name: str) -> set[str]:
        seen, todo = set(), [name]
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                todo += self.deps.get(current, [])
        return seen


def check(top: pathlib.Path) -> Iterable[sources.Finding]:
    modules = Modules(top)
    yield from check_declared(modules)
    graph: dict[str, list[str]] = {}
    for file in sources.source_files(top):
        path = file.relative_to(top).as_posix()
        found = list(sources.includes(file.read_text(errors="replace")))
        graph[path] = [f"src/{name}" if name.startswith("deadman/") else name for _, quoted, name in found if quoted]
        for line, quoted, name in found:
            for message in check_include(modules, path, quoted, name):
                yield path, line, message
    yield from check_cycles(graph)


def check_declared(modules: Modules) -> Iterable[sources.Finding]:
    for name, deps in modules.deps.items():
        where = modules.where[name]
        if name not in ALLOWED:
            yield where, 0, f"module '{name}' is not in the table of tools/check_layers.py: add it, with what it may depend on"
            continue
        for dep in deps:
            if dep not in ALLOWED[name]:
                yield where, 0, f"module '{name}' may not depend on '{dep}' (allowed: {' '.join(sorted(ALLOWED[name])) or 'nothing'})"


def check_include(modules: Modules, path: str, quoted: bool, name: str) -> Iterable[str]:
    is_test = path.startswith(("tests/", "bench/")) or path.endswith("_test.cc")
    inside = path.startswith("src/") or path.startswith("include/")
    public_header = inside and path.endswith(".h") and "/internal/" not in path
    module = modules.owner(path.removeprefix("src/")) if path.startswith("src/") else None

    if quoted:
        if not (modules.top / "src" / name).is_file() and not (modules.top / name).is_file() \
                and not (modules.top / "include" / name).is_file():
            yield f'"{name}" is no file below src/ or the top folder: write the path from there ("deadman/base/result.h")'
        target = modules.owner(name) if name.startswith("deadman/") else None
        if module and not name.startswith("deadman/") and not is_test:
            yield f'a module may not include "{name}"'
        if target and "/internal/" in name and target != module and not path.startswith("tests/"):
            yield f'"{name}" is private to module \'{target}\''
        if module and target and not is_test and target not in modules.reachable(module):
            yield f"module '{module}' includes '{target}' and does not declare it in DEPS"
        return

    if POSIX.match(name) and not (
        module == "platform" or is_test or re.match(r"apps/deadman/.*_posix\.(cc|h)$", path) or path.startswith("examples/")
    ):
        yield f"<{name}> is POSIX only: allowed in src/deadman/platform, apps/deadman/*_posix.cc and tests; use deadman/platform"
    if THIRD_PARTY.match(name):
        if public_header and not is_test:
            yield f"<{name}> in a public header: move it into a .cc file or internal/"
        for pattern, owners in ONLY_IN.items():
            if pattern.match(name) and path.startswith("src/") and module not in owners:
                yield f"<{name}> belongs to module {' '.join(owners)} only"


def check_cycles(graph: dict[str, list[str]]) -> Iterable[sources.Finding]:
    done: set[str] = set()

    def visit(path: str, trail: list[str]) -> Iterable[sources.Finding]:
        if path in trail:
            yield path, 0, "header cycle: " + " -> ".join(trail[trail.index(path):] + [path])
            return
        if path in done:
            return
        for target in graph.get(path, []):
            yield from visit(target, trail + [path])
        done.add(path)

    for path in sorted(graph):
        yield from visit(path, [])


def plant_dep(module: str, dep: str):
    def plant(top: pathlib.Path) -> None:
        cmake = top / "src/deadman" / module / "CMakeLists.txt"
        text = cmake.read_text()
        if re.search(r"^\s+DEPS\b", text, re.MULTILINE):
            text = re.sub(r"^(\s+)DEPS\b", rf"\1DEPS {dep}", text, count=1, flags=re.MULTILINE)
        else:
            text = re.sub(r"\)\s*$", f" DEPS {dep})\n", text)
        cmake.write_text(text)

    return plant


def plant_file(path: str, text: str):
    return lambda top: sources.write(top / path, text)


FAULTS = {
    "base depends on domain": plant_dep("base", "domain"),
    "scheduler depends on an adapter": plant_dep("scheduler", "store_sqlite"),
    "domain includes telemetry": lambda top: (
        sources.write(top / "src/deadman/telemetry/planted.h", "#pragma once\n"),
        sources.write(top / "src/deadman/domain/planted.h", '#pragma once\n#include "deadman/telemetry/planted.h"\n'),
    ),
    "another module's internal header": lambda top: (
        sources.write(top / "src/deadman/store/internal/planted.h", "#pragma once\n"),
        sources.write(top / "src/deadman/worker/planted.cc", '#include "deadman/store/internal/planted.h"\n'),
    ),
    "third-party header in a public header": plant_file("src/deadman/store/postgres/planted.h", "#include <pqxx/pqxx>\n"),
    "Drogon outside http": plant_file("src/deadman/worker/planted.cc", "#include <drogon/drogon.h>\n"),
    "POSIX outside platform": plant_file("src/deadman/worker/planted.cc", "#include <unistd.h>\n"),
    "POSIX in apps": plant_file("apps/deadman/planted.cc", "#include <sys/wait.h>\n"),
    "include of no file": plant_file("src/deadman/worker/planted.cc", '#include "planted_nowhere.h"\n'),
    "header cycle": lambda top: (
        sources.write(top / "src/deadman/domain/planted_a.h", '#include "deadman/domain/planted_b.h"\n'),
        sources.write(top / "src/deadman/domain/planted_b.h", '#include "deadman/domain/planted_a.h"\n'),
    ),
    "a module that the table does not know": plant_file("src/deadman/planted/CMakeLists.txt", "deadman_module(planted)\n"),
}

if __name__ == "__main__":
    sys.exit(sources.run(__doc__, check, FAULTS))
