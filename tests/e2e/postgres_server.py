"""A private Postgres server on a free loopback port, with a data folder of its own."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import leftovers
from server import eventually, free_port


def binaries() -> pathlib.Path:
    named = os.environ.get("DEADMAN_POSTGRES_BIN")
    if named:
        return pathlib.Path(named)
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    assert found, "no Postgres server is installed (DEADMAN_POSTGRES_BIN names its folder)"
    return found[-1].parent


class PostgresServer:
    def __init__(self) -> None:
        self.bin = binaries()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deadman-e2e-pg-"))
        self.port = free_port()
        # The server refuses to run as root.
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "deadman", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.process: subprocess.Popen | None = None
        self.start()

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run([self.bin / name, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self.user)

    @property
    def url(self) -> str:
        return f"postgresql://deadman@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
             "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off", "-c", "max_connections=200"],
            stdout=subprocess.DEVNULL, stderr=(self.folder / "log").open("ab"), cwd=self.folder, start_new_session=True,
            preexec_fn=leftovers.die_with_parent,
            **self.user)
        leftovers.of_the_module.add(self.process.pid)
        eventually(self.is_up, what="the Postgres server's first answer")

    def is_up(self) -> bool:
        return subprocess.run([self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0

    def stop_at_once(self) -> None:
        """As a crash, but for shared memory, which is given back."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def _everybody(self) -> list[int]:
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *(int(pid) for pid in children)]

    def freeze(self) -> None:
        """Connections stay, and nobody answers."""
        for pid in self._everybody():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._everybody():
            os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.stop_at_once()
        shutil.rmtree(self.folder, ignore_errors=True)
