"""pgqueuer under the protocol of ../README.md: rivals.py pgqueuer COMMAND ARGS..."""

import asyncio
import json
import os
import sys
import threading
import time
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

POSTGRES = os.environ["BENCH_POSTGRES"]
PAD = "x" * 80
CHUNK = 5000
BATCH = 500


def micros() -> int:
    return time.time_ns() // 1000


def tell(line: str) -> None:
    print(line, flush=True)


def print_rate(jobs: int, began: int) -> None:
    tell("R " + json.dumps({"n": jobs, "secs": (micros() - began) / 1e6}))


def payload(sent: int = 0) -> bytes:
    return json.dumps({"t": sent, "pad": PAD}).encode()


class Tally:
    def __init__(self) -> None:
        self.ended = 0
        self.started = False
        self.delays: list[float] = []

    def handle(self, job: dict) -> None:
        if job["t"]:
            self.delays.append((micros() - job["t"]) / 1000)
        if not self.started:
            self.started = True
            tell(f"F {micros()}")
        self.ended += 1

    def watch(self) -> None:
        told = 0
        while True:
            if self.ended != told:
                told = self.ended
                tell(f"H {told} {micros()}")
            time.sleep(0.02)

    def print_end(self) -> None:
        tell(f"H {self.ended} {micros()}")
        end: dict = {"n": len(self.delays)}
        if self.delays:
            self.delays.sort()
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1)):
                end[name] = self.delays[int(share * (len(self.delays) - 1))]
        tell("L " + json.dumps(end))


async def enqueue(queries: Queries, producers: int, jobs: int) -> None:
    await queries.enqueue("bench", payload())  # the connection is there
    each = jobs // producers

    async def produce() -> None:
        for _ in range(each):
            await queries.enqueue("bench", payload())

    began = micros()
    await asyncio.gather(*[produce() for _ in range(producers)])
    print_rate(each * producers, began)


async def bulk(queries: Queries, jobs: int) -> None:
    began = micros()
    for first in range(0, jobs, CHUNK):
        count = min(CHUNK, jobs - first)
        await queries.enqueue(["bench"] * count, [payload() for _ in range(count)], [0] * count)
    print_rate(jobs, began)


async def rate(queries: Queries, per_second: int, seconds: int) -> None:
    began = micros()
    under_way = []
    for number in range(per_second * seconds):
        ahead = began / 1e6 + number / per_second - time.time()
        if ahead > 0:
            await asyncio.sleep(ahead)
        under_way.append(asyncio.create_task(queries.enqueue("bench", payload(micros()))))
    await asyncio.gather(*under_way)
    print_rate(per_second * seconds, began)


async def work(queries: Queries) -> None:
    tally = Tally()
    manager = QueueManager(queries)

    @manager.entrypoint("bench")
    async def bench(job) -> None:
        tally.handle(json.loads(job.payload))

    threading.Thread(target=tally.watch, daemon=True).start()
    running = asyncio.create_task(manager.run(batch_size=BATCH, dequeue_timeout=timedelta(seconds=1)))
    tell("READY")
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    tally.print_end()
    running.cancel()


async def main() -> None:
    command, *rest = sys.argv[2:]
    pool = await asyncpg.create_pool(POSTGRES, min_size=2, max_size=20)
    queries = Queries(AsyncpgPoolDriver(pool))
    if command == "reset":
        await queries.install()
    else:
        await {"enqueue": enqueue, "bulk": bulk, "rate": rate, "work": work}[command](queries, *map(int, rest))
    os._exit(0)  # whatever still runs


uvloop.run(main())
