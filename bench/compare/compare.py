#!/usr/bin/env python3
"""Deadman beside other job systems: one machine, one set of server settings, the same workloads, runs in turn.

See README.md for what is measured and BENCHMARKS.md for the last figures.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import install
import table
from contenders import Contender, Deadman, Failed, drain, sqlite_says
from servers import Postgres, Redis, Sql

TOP = pathlib.Path(__file__).resolve().parents[2]
RECORDING = ("river", "pg-boss", "pgqueuer")  # rivals on Postgres that keep what has ended
RIVALS = ("river", "graphile-worker", "pg-boss", "pgqueuer", "asynq", "bullmq", "river-sqlite")
QUICK = ("river", "graphile-worker", "asynq", "river-sqlite")
SCHEMAS = ("public", "graphile_worker", "pgboss", "deadman", "bare")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench compare", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 jobs, once, and only River, graphile-worker and Asynq")
    parser.add_argument("--json", metavar="FILE", help="write everything measured there")
    parser.add_argument("--jobs", type=int, help="in a drain (100000)")
    parser.add_argument("--repetitions", type=int, help="of everything (3)")
    parser.add_argument("--rivals", help="only these, separated by commas")
    parser.add_argument("--prefetch", type=int, default=-1, help="of Deadman's workers in a drain; -1: they find it themselves (%(default)s)")
    parser.add_argument("--binary", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    for name in chosen.rivals.split(",") if chosen.rivals else []:
        if name not in RIVALS:
            parser.error(f"--rivals: there is no '{name}' among {', '.join(RIVALS)}")
    chosen.jobs = chosen.jobs or (20_000 if chosen.quick else 100_000)
    chosen.repetitions = chosen.repetitions or (1 if chosen.quick else 3)
    return chosen


class Stage:
    """The servers, and everybody who is to be measured."""

    def __init__(self, options: argparse.Namespace, cache: pathlib.Path, folder: pathlib.Path) -> None:
        self.options, self.folder = options, folder
        self.inside = [str(TOP / "dev"), "sh"]
        self.binary = [*self.inside, options.binary]
        self.skipped: dict[str, str] = {}
        self.redis: Redis | None = None
        self.postgres = Postgres(self.binary)
        self.sql = Sql([*self.inside, "psql"], self.postgres.url)
        self.contenders = self.deadmen() + self.rivals(cache)

    def stop(self) -> None:
        self.sql.stop()
        self.postgres.stop()
        if self.redis:
            self.redis.stop()

    def clean(self) -> None:
        drops = ";".join(f"drop schema if exists {schema} cascade" for schema in SCHEMAS)
        self.sql.run(f"set client_min_messages = warning; {drops}; create schema public; checkpoint")

    def settle(self) -> None:
        self.sql.run("analyze; checkpoint")

    def deadmen(self) -> list[Contender]:
        file = self.folder / "deadman.db"

        def clean() -> None:
            for suffix in ("", "-wal", "-shm"):
                pathlib.Path(f"{file}{suffix}").unlink(missing_ok=True)

        def effects() -> None:
            self.clean()
            self.sql.run("create table bench_effect(job bigint not null)")

        nothing_left = "not exists (select from deadman.ready) and not exists (select from deadman.lease)"
        on_file = "select not exists (select 1 from deadman_ready) and not exists (select 1 from deadman_lease)"
        return [
            Deadman("deadman", self.binary, self.postgres.url, self.options.prefetch, clean=effects, settle=self.settle,
                    done=lambda: self.sql.holds(f"select {nothing_left}")),
            Deadman("deadman-sqlite", self.binary, f"sqlite:{file}", self.options.prefetch, clean=clean, kind="embedded",
                    done=sqlite_says(file, on_file)),
        ]

    def rivals(self, cache: pathlib.Path) -> list[Contender]:
        chosen = self.options.rivals.split(",") if self.options.rivals else list(QUICK) if self.options.quick else None
        found: list[Contender] = []

        def consider(name: str, obstacles: list[Callable[[], str | None]], make: Callable[[], Contender]) -> None:
            if chosen is not None and name not in chosen:
                return
            why = next((text for obstacle in obstacles if (text := obstacle())), None)
            if why is None:
                found.append(make())
                return
            install.say(f"{name} is left out: {why}")
            self.skipped[name] = why

        go, node = [str(cache / "rivals")], [str(cache / "node/node_modules/.bin/node"), str(install.HERE / "node/rivals.mjs")]
        python = [str(cache / "python/bin/python"), str(install.HERE / "python/rivals.py")]
        has_go, has_node = lambda: install.go_rivals(cache), lambda: install.node_rivals(cache)
        has_python = lambda: install.python_rivals(cache)
        postgres = {"BENCH_POSTGRES": self.postgres.url, "BENCH_NODE_MODULES": str(cache / "node")}
        on_postgres = {"environment": postgres, "clean": self.clean, "settle": self.settle}
        river_file = self.folder / "river.db"
        river_done = "select not exists (select 1 from river_job where state <> 'completed')"

        consider("river", [has_go], lambda: Contender(
            "river", [*go, "river"], done=lambda: self.sql.holds(river_done), **on_postgres))
        consider("graphile-worker", [has_node], lambda: Contender(
            "graphile-worker", [*node, "graphile"], records=False, **on_postgres,
            done=lambda: self.sql.holds("select not exists (select from graphile_worker._private_jobs)")))
        consider("pg-boss", [has_node], lambda: Contender(
            "pg-boss", [*node, "pgboss"], **on_postgres,
            done=lambda: self.sql.holds("select not exists (select from pgboss.job where state < 'completed')")))
        consider("pgqueuer", [has_python], lambda: Contender(
            "pgqueuer", [*python, "pgqueuer"], **on_postgres, done=lambda: self.sql.holds("select not exists (select from pgqueuer)")))
        consider("asynq", [has_go, install.redis_server], lambda: Contender(
            "asynq", [*go, "asynq"], self.on_redis(), kind="embedded",
            done=lambda: self.redis.count("asynq:{default}:pending", "asynq:{default}:active") == 0))
        consider("bullmq", [has_node, install.redis_server], lambda: Contender(
            "bullmq", [*node, "bullmq"], self.on_redis() | postgres, kind="embedded",
            done=lambda: self.redis.count("bull:bench:wait", "bull:bench:active") == 0))
        consider("river-sqlite", [has_go], lambda: Contender(
            "river-sqlite", [*go, "river-sqlite"], {"BENCH_SQLITE": str(river_file)}, kind="embedded",
            done=sqlite_says(river_file, river_done)))
        return found

    def on_redis(self) -> dict[str, str]:
        self.redis = self.redis or Redis()
        return {"BENCH_REDIS": self.redis.address}


class Results:
    def __init__(self) -> None:
        self.values: dict[str, dict[str, list[float]]] = {}
        self.failures: list[str] = []

    def add(self, name: str, measure: str, value: float) -> None:
        self.values.setdefault(name, {}).setdefault(measure, []).append(value)
        install.say(f"{name:16} {measure:20} {value:,.2f}")

    def median(self, name: str, measure: str) -> float | None:
        values = self.values.get(name, {}).get(measure)
        return statistics.median(values) if values else None

    def best(self, names: list[str], measure: str, pick=max) -> float | None:
        values = [value for name in names if (value := self.median(name, measure)) is not None]
        return pick(values) if values else None


def workloads(contender: Contender, stage: Stage, results: Results) -> list[tuple[str, Callable[[], None]]]:
    """What is asked of one contender, each on an empty store."""
    jobs, quick = stage.options.jobs, stage.options.quick
    singles = 8_000 if quick else 20_000
    slow = 2_000 if quick else 8_000
    name = contender.name
    is_deadman = isinstance(contender, Deadman)

    def drained(workers: int) -> None:
        measured = drain(contender, jobs, workers)
        results.add(name, f"drain{workers}", measured["rate"])
        if workers == 1:
            results.add(name, "worker_mb", measured["peak_mb"])

    def latency() -> None:
        for key, value in contender.latency(200, 10 if quick else 20).items():
            results.add(name, key, value)

    def with_effects() -> None:
        results.add(name, "drain_transactional", drain(contender, max(jobs // 5, 5_000), 1, effect=True)["rate"])

    todo: list[tuple[str, Callable[[], None]]] = [
        ("enqueue1", lambda: results.add(name, "enqueue1", contender.enqueue(1, slow // 2))),
        ("enqueue16", lambda: results.add(name, "enqueue16", contender.enqueue(16, singles if is_deadman else slow))),
        ("bulk", lambda: results.add(name, "bulk", contender.bulk(jobs))),
        ("drain1", lambda: drained(1)),
        ("drain2", lambda: drained(2)),
        ("latency", latency),
    ]
    if contender.kind == "postgres" and name in ("deadman", "river"):
        todo.append(("drain_transactional", with_effects))
    if name == "deadman":
        todo += [
            ("enqueue16p", lambda: results.add(name, "enqueue16p", contender.enqueue_from_processes(16, singles))),
            ("http16", lambda: results.add(name, "http16", contender.enqueue_by_http(16, singles))),
            ("http_batch", lambda: results.add(name, "http_batch", contender.enqueue_by_http(4, jobs, 1_000))),
        ]
    return todo


def bare(stage: Stage, results: Results) -> None:
    stage.clean()
    program = pathlib.Path(stage.options.binary).with_name("bare_layout")
    ended = subprocess.run([*stage.inside, str(program), stage.postgres.url, str(stage.options.jobs), "1000", "2"],
                           capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if ended.returncode != 0:
        raise Failed(f"bare layout: {ended.stderr[-400:]}")
    answer = json.loads(ended.stdout)
    results.add("bare", "drain1", answer["drained_per_s"])
    results.add("bare", "bulk", answer["enqueued_per_s"])


def guarded(results: Results, what: str, run: Callable[[], None]) -> None:
    try:
        run()
    except (Failed, OSError, subprocess.SubprocessError, ValueError) as failure:
        results.failures.append(f"{what}: {failure}")
        install.say(f"{what} FAILED: {failure}")


def measure(stage: Stage, results: Results) -> None:
    """Everybody in turn at each workload, so that what else the machine does falls on all alike."""
    for _ in range(stage.options.repetitions):
        guarded(results, "bare", lambda: bare(stage, results))
        lists = [(contender, workloads(contender, stage, results)) for contender in stage.contenders]
        for position in range(max(len(todo) for _, todo in lists)):
            for contender, todo in lists:
                if position >= len(todo):
                    continue
                what, run = todo[position]

                def on_empty_store(contender=contender, run=run) -> None:
                    contender.reset()
                    run()

                guarded(results, f"{contender.name} {what}", on_empty_store)


def ratios(results: Results, contenders: list[Contender]) -> dict[str, float | None]:
    postgres = [c.name for c in contenders if c.kind == "postgres" and c.name != "deadman"]
    recording = [name for name in postgres if name in RECORDING]
    embedded = [c.name for c in contenders if c.kind == "embedded" and c.name != "deadman-sqlite"]

    def ratio(ours: float | None, theirs: float | None) -> float | None:
        return round(ours / theirs, 3) if ours and theirs else None

    mine = lambda measure: results.median("deadman", measure)
    return {
        "drain_vs_best_recording": ratio(mine("drain1"), results.best(recording, "drain1")),
        "drain_vs_graphile": ratio(mine("drain1"), results.median("graphile-worker", "drain1")),
        "drain_vs_bare": ratio(mine("drain1"), results.median("bare", "drain1")),
        "drain2_vs_drain1": ratio(mine("drain2"), mine("drain1")),
        "transactional_vs_river": ratio(mine("drain_transactional"), results.median("river", "drain_transactional")),
        "enqueue16_vs_best_postgres": ratio(mine("enqueue16"), results.best(postgres, "enqueue16")),
        "enqueue16p_vs_best_postgres": ratio(mine("enqueue16p"), results.best(postgres, "enqueue16")),
        "http16_vs_best_postgres": ratio(mine("http16"), results.best(postgres, "enqueue16")),
        "bulk_vs_best_postgres": ratio(mine("bulk"), results.best(postgres, "bulk")),
        "http_batch_vs_bulk": ratio(mine("http_batch"), mine("bulk")),
        "p50_vs_best_postgres": ratio(mine("p50"), results.best(postgres, "p50", min)),
        "sqlite_drain_vs_best_embedded": ratio(results.median("deadman-sqlite", "drain1"), results.best(embedded, "drain1")),
    }


def machine() -> dict:
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 1024 / 1024
    return {"cores": os.cpu_count(), "cpu": model, "memory_gib": round(memory), "kernel": platform.release()}


def main() -> int:
    options = arguments()
    cache = pathlib.Path(os.environ.get("DEADMAN_CACHE") or
                         pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "deadman") / "compare"
    cache.mkdir(parents=True, exist_ok=True)
    results = Results()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="deadman-compare-") as folder:
        stage = Stage(options, cache, pathlib.Path(folder))
        try:
            version = stage.sql.run("show server_version")
            try:
                measure(stage, results)
            except KeyboardInterrupt:
                results.failures.append("interrupted: what had been measured until then")
            found = ratios(results, stage.contenders)
        finally:
            stage.stop()
    report = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "jobs": options.jobs,
        "repetitions": options.repetitions,
        "prefetch": options.prefetch,
        "machine": machine(),
        "postgres": version,
        "load": {"before": load_before, "after": os.getloadavg()[0]},
        "skipped": stage.skipped,
        "failures": results.failures,
        "ratios": found,
        "medians": {name: {key: round(statistics.median(values), 3) for key, values in measures.items()}
                    for name, measures in results.values.items()},
        "runs": results.values,
    }
    print(table.markdown(report))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
