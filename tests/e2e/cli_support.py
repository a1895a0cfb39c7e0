"""The real binary, a real SQLite file, and nothing of the machine's own configuration."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile

from leftovers import die_with_parent

BINARY = os.environ.get("DEADMAN_BINARY", "build/dev/bin/deadman")

OK, ERROR, USAGE, NOT_FOUND, CONFLICT = 0, 1, 2, 3, 4
JOB_FAILED, TIMED_OUT, UNAVAILABLE, INTERRUPTED = 6, 7, 69, 130


class Cli:
    """Runs `deadman` in a folder of its own, on a store of its own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.store = f"sqlite:{folder / 'jobs.db'}"
        self.binary = str(pathlib.Path(BINARY).resolve())
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TZ": "UTC", "LANG": "C.UTF-8",
                            "TMPDIR": os.environ.get("TMPDIR", "/tmp")}

    def run(self, *arguments: str, stdin: bytes | str = b"", environment: dict[str, str] | None = None):
        """Without a terminal. The result has code, out and err; nothing may be killed by a signal."""
        done = subprocess.run(
            [self.binary, *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True, cwd=self.folder, env=self.environment | (environment or {}), timeout=60, check=False,
        )
        assert done.returncode >= 0, f"killed by signal {-done.returncode}: {done.stderr!r}"
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def on_store(self, *arguments: str, **options):
        return self.run(*arguments, "--store", self.store, **options)

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        return subprocess.Popen([self.binary, *arguments], cwd=self.folder, env=self.environment,
                                preexec_fn=die_with_parent, **options)

    def migrate(self) -> "Cli":
        assert self.on_store("migrate").code == OK
        return self

    def enqueue(self, *arguments: str) -> str:
        done = self.on_store("job", "enqueue", *arguments, "-o", "json")
        assert done.code == OK, done.err
        return done.json()["id"]

    def jobs(self, *arguments: str) -> list[dict]:
        done = self.on_store("job", "list", "--all", "-o", "jsonl", *arguments)
        assert done.code == OK, done.err
        return [json.loads(line) for line in done.out.splitlines()]


class Done:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self):
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class WorkerProcess:
    """A worker that is ready when the block begins, and has drained when it ends."""

    def __init__(self, cli: Cli, *arguments: str) -> None:
        # Into a file: a pipe that nobody reads stops its writer when it is full.
        self.log = tempfile.TemporaryFile(dir=cli.folder)
        self.process = cli.start("worker", "--store", cli.store, "--lease", "2s", *arguments,
                                 stdout=subprocess.PIPE, stderr=self.log)
        self.ready_line = ""

    def __enter__(self) -> "WorkerProcess":
        self.ready_line = self.process.stdout.readline().decode()
        return self

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def __exit__(self, *_) -> None:
        try:
            if self.process.poll() is None:
                self.terminate()
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.log.close()
