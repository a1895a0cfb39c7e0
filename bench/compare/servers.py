"""The servers that everybody is measured on: a Postgres with one set of settings and a Redis, each on a free loopback port with
a data folder of its own, ended by their process."""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import time


class Postgres:
    """`deadman bench-part server`: it leaves when its input is closed."""

    def __init__(self, deadman: list[str]) -> None:
        self.process = subprocess.Popen([*deadman, "bench-part", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the Postgres server did not start")

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)


class Redis:
    """Append-only file, flushed every second: up to a second of work may be lost, which is what its users run."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deadman-compare-redis-"))
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), "--save", "",
             "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"],
            stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while True:
            try:
                self.ask("PING")
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, command: str) -> str:
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.makefile().readline().strip()

    def count(self, *keys: str) -> int:
        return sum(int(self.ask(f"LLEN {key}").lstrip(":")) for key in keys)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


class Sql:
    """A psql that stays."""

    END = "-- end of answer --"

    def __init__(self, psql: list[str], url: str) -> None:
        self.process = subprocess.Popen([*psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, sql: str) -> str:
        self.process.stdin.write(f"{sql};\n\\echo {self.END}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.strip() == self.END:
                return "\n".join(lines)
            lines.append(line.rstrip("\n"))
        raise RuntimeError(f"psql ended at: {sql}")

    def holds(self, sql: str) -> bool:
        return self.run(sql) == "t"

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
