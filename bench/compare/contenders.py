"""Who is measured, and how each is asked: the protocol of README.md."""

import dataclasses
import json
import os
import pathlib
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable


class Failed(Exception):
    pass


@dataclasses.dataclass
class Contender:
    name: str
    command: list[str]  # before a command of the protocol
    environment: dict[str, str]
    done: Callable[[], bool]  # nothing waits or runs any more
    clean: Callable[[], None] = lambda: None  # before a reset
    settle: Callable[[], None] = lambda: None  # fresh statistics, before a drain
    kind: str = "postgres"  # or embedded
    records: bool = True  # keeps a record of what has ended

    def ask(self, *arguments: object, timeout: float = 900) -> str:
        ended = subprocess.run([*self.command, *map(str, arguments)], env=os.environ | self.environment, capture_output=True,
                               text=True, timeout=timeout, stdin=subprocess.DEVNULL, check=False)
        if ended.returncode != 0:
            raise Failed(f"{self.name} {arguments}: {(ended.stderr or ended.stdout)[-400:]}")
        return ended.stdout

    def rate_of(self, *arguments: object) -> float:
        for line in self.ask(*arguments).splitlines():
            if line.startswith("R "):
                answer = json.loads(line[2:])
                return answer["n"] / answer["secs"]
        raise Failed(f"{self.name} {arguments}: no rate")

    def reset(self) -> None:
        self.clean()
        self.ask("reset")

    def enqueue(self, producers: int, jobs: int) -> float:
        return self.rate_of("enqueue", producers, jobs)

    def bulk(self, jobs: int) -> float:
        return self.rate_of("bulk", jobs)

    def fill(self, jobs: int, effect: bool) -> None:
        self.bulk(jobs)

    def latency(self, rate: int, seconds: int) -> dict:
        worker = Worker(self, "work")
        try:
            worker.wait_until_ready()
            time.sleep(1.5)
            self.ask("rate", rate, seconds)
            time.sleep(1)
        finally:
            worker.stop()
        if not worker.end or not worker.end.get("n"):
            raise Failed(f"{self.name}: no latency")
        return {key: worker.end[key] for key in ("p50", "p95", "p99", "max")}

    def work_command(self, effect: bool) -> list[str]:
        return ["work-effect" if effect else "work"]


class Worker:
    """One worker process; it leaves when its input is closed."""

    def __init__(self, contender: Contender, *arguments: str) -> None:
        self.name = contender.name
        self.count, self.first_us, self.end = 0, 0, {}
        self.ready = threading.Event()
        self.process = subprocess.Popen([*contender.command, *arguments], env=os.environ | contender.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors: list[str] = []
        self.threads = [threading.Thread(target=self.read, daemon=True), threading.Thread(target=self.read_errors, daemon=True)]
        for thread in self.threads:
            thread.start()

    def read(self) -> None:
        for line in self.process.stdout:
            what, _, rest = line.strip().partition(" ")
            if what == "READY":
                self.ready.set()
            elif what == "F":
                self.first_us = min(self.first_us or int(rest), int(rest))
            elif what == "H":
                self.count = int(rest.split()[0])
            elif what == "L":
                self.end = json.loads(rest)

    def read_errors(self) -> None:
        for line in self.process.stderr:
            self.errors = [*self.errors[-20:], line]

    def wait_until_ready(self) -> None:
        if not self.ready.wait(60):
            raise Failed(f"{self.name}: the worker is not ready: {''.join(self.errors)[-400:]}")

    def peak_mb(self) -> float:
        """Of the process and its children, while it runs."""
        total = 0
        todo = [self.process.pid]
        while todo:
            pid = todo.pop()
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                total += int(status.split("VmHWM:")[1].split()[0])
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    todo += map(int, (task / "children").read_text().split())
            except (OSError, IndexError):
                continue
        return total / 1024

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for thread in self.threads:
            thread.join(5)


def drain(contender: Contender, jobs: int, workers: int, effect: bool = False, limit: float = 600) -> dict:
    """From the first handler's call until the store says that nothing is left."""
    contender.fill(jobs, effect)
    contender.settle()
    running = [Worker(contender, *contender.work_command(effect)) for _ in range(workers)]
    try:
        deadline = time.monotonic() + limit
        while sum(worker.count for worker in running) < jobs or not contender.done():
            time.sleep(0.005)
            dead = [worker for worker in running if worker.process.poll() is not None]
            if dead or time.monotonic() > deadline:
                errors = "".join(dead[0].errors)[-400:] if dead else ""
                raise Failed(f"{contender.name}: {sum(w.count for w in running)} of {jobs} jobs drained {errors}")
        ended_us = time.time_ns() // 1000
        peak = max(worker.peak_mb() for worker in running)
    finally:
        for worker in running:
            worker.stop()
    first_us = min(worker.first_us for worker in running if worker.first_us)
    return {"rate": jobs * 1e6 / (ended_us - first_us), "peak_mb": peak}


class Deadman(Contender):
    """Asked by its own commands. `store`: as --store."""

    def __init__(self, name: str, binary: list[str], store: str, prefetch: int, **more) -> None:
        super().__init__(name=name, command=[*binary, "bench-part"], environment={}, **more)
        self.binary, self.store, self.prefetch = binary, store, prefetch

    def reset(self) -> None:
        self.clean()
        self.call("migrate", "--store", self.store)

    def call(self, *arguments: object) -> str:
        ended = subprocess.run([*self.binary, *map(str, arguments)], capture_output=True, text=True, timeout=900,
                               stdin=subprocess.DEVNULL, check=False)
        if ended.returncode != 0:
            raise Failed(f"deadman {arguments}: {ended.stderr[-400:]}")
        return ended.stdout

    def bench(self, *arguments: object) -> dict:
        return json.loads(self.call("bench", *arguments, "--store", self.store, "--json"))

    def enqueue(self, producers: int, jobs: int) -> float:
        return self.bench("enqueue", "--threads", producers, "--jobs", jobs)["jobs_per_s"]

    def enqueue_from_processes(self, processes: int, jobs: int) -> float:
        return self.bench("enqueue", "--processes", processes, "--jobs", jobs)["jobs_per_s"]

    def enqueue_by_http(self, connections: int, jobs: int, batch: int = 1) -> float:
        return self.bench("enqueue", "--http", "--connections", connections, "--jobs", jobs, "--batch", batch)["jobs_per_s"]

    def bulk(self, jobs: int) -> float:
        return self.rate_of("enqueue", "--store", self.store, "--queue", "bench", "--jobs", jobs, "--threads", 1, "--batch", 10000)

    def fill(self, jobs: int, effect: bool) -> None:
        kind = ["--kind", "bench.effect", "--transactional"] if effect else []
        self.rate_of("enqueue", "--store", self.store, "--queue", "bench", "--jobs", jobs, "--threads", 1, "--batch", 1000, *kind)

    def latency(self, rate: int, seconds: int) -> dict:
        measured = self.bench("latency", "--rate", rate, "--seconds", seconds)
        spread = measured["enqueue_to_start"]
        return {key: spread[f"{key}_ms"] for key in ("p50", "p95", "p99", "max")} | {
            "commit_p50": measured["commit"]["p50_ms"], "commit_p99": measured["commit"]["p99_ms"]}

    def work_command(self, effect: bool) -> list[str]:
        slots = ["--slots", "24"] if effect else []  # each waits for its commit: as many as River has connections
        return ["work", "--store", self.store, "--queues", "bench", "--prefetch", str(self.prefetch), *slots]


def sqlite_says(file: pathlib.Path, sql: str) -> Callable[[], bool]:
    def ask() -> bool:
        connection = sqlite3.connect(file, timeout=20)
        try:
            return bool(connection.execute(sql).fetchone()[0])
        finally:
            connection.close()

    return ask
