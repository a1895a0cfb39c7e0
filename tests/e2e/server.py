"""A real `deadman serve` on a free port with a data folder of its own, and requests whose answers are checked."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.parse

from api_contract import Contract
from leftovers import die_with_parent

BINARY = os.environ.get("DEADMAN_BINARY", "build/dev/bin/deadman")
PATIENCE_S = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(question, patience_s: float = PATIENCE_S, what: str = "it"):
    """Asks until the answer is true; returns it."""
    deadline = time.monotonic() + patience_s
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"{what} did not come true within {patience_s} s"
        time.sleep(0.02)


class Answer:
    def __init__(self, status: int, headers: dict, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of a problem."""
        return self.json["code"]

    def pointers(self) -> list[str]:
        return [error.get("pointer", error.get("parameter")) for error in self.json.get("errors", [])]


class Server:
    def __init__(self, folder: pathlib.Path, *arguments: str, config: str = "", store: str = "",
                 port: int = 0, contract: Contract | None = None, environment: dict | None = None) -> None:
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        self.contract = contract or Contract()
        self.arguments = list(arguments)
        self.config = self.folder / "deadman.toml"
        self.config.write_text(config)
        self.store = store
        self.environment = environment or {}
        self.process: subprocess.Popen | None = None
        self.log = self.folder / "serve.log"
        self.token = ""

    def command(self) -> list[str]:
        flags = ["--config", str(self.config), "--data-dir", str(self.folder / "data"),
                 "--listen", f"127.0.0.1:{self.port}"]
        if self.store:
            flags += ["--store", self.store]
        return [BINARY, "serve", *flags, *self.arguments]

    def start(self) -> "Server":
        return self.launch().wait_until_live()

    def launch(self) -> "Server":
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DEADMAN_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder,
                                            env={**clean, **self.environment}, preexec_fn=die_with_parent)
        return self

    def wait_until_live(self) -> "Server":
        try:
            eventually(self._is_live, what="the server's first answer")
        except BaseException:
            self.kill()
            raise
        return self

    def _is_live(self) -> bool:
        assert self.process.poll() is None, f"serve ended: {self.log.read_text(errors='replace')}"
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def stop(self, patience_s: float = 40.0) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience_s)

    def __enter__(self) -> "Server":
        is_running = self.process is not None and self.process.poll() is None
        return self if is_running else self.start()

    def __exit__(self, *_) -> None:
        if self.process and self.process.poll() is None:
            try:
                self.stop(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def request(self, method: str, target: str, body=None, headers: dict | None = None,
                checked: bool = True, timeout_s: float = 60.0) -> Answer:
        """`body`: bytes as they are, anything else as JSON."""
        given = {name.lower(): value for name, value in (headers or {}).items()}
        sent = {"content-type": "application/json"} if method != "GET" else {}
        if self.token:
            sent["authorization"] = f"Bearer {self.token}"
        sent |= given
        sent = {name: value for name, value in sent.items() if value is not None}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, target, body=body, headers=sent)
            reply = connection.getresponse()
            answer = Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()
        if checked and method != "HEAD":
            path = urllib.parse.urlsplit(target).path
            self.contract.check(method, path, answer.status, answer.headers, answer.body)
        return answer

    def get(self, target: str, **more) -> Answer:
        return self.request("GET", target, **more)

    def post(self, target: str, body=None, **more) -> Answer:
        return self.request("POST", target, {} if body is None else body, **more)

    def enqueue(self, kind: str = "noop", **fields) -> str:
        answer = self.post("/v1/jobs", {"kind": kind, **fields})
        assert answer.status == 201, answer.body
        return answer.json["id"]

    def job(self, job_id: str) -> dict:
        answer = self.get(f"/v1/jobs/{job_id}")
        assert answer.status == 200, answer.body
        return answer.json

    def wait_for_state(self, job_id: str, *states: str, patience_s: float = PATIENCE_S) -> dict:
        def look():
            job = self.job(job_id)
            return job if job["state"] in states else None

        return eventually(look, patience_s, f"job {job_id} in {states}")

    def raw(self, sent: bytes, timeout_s: float = 5.0) -> bytes:
        """What comes back until the server closes, or nothing more comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout_s) as connection:
            connection.sendall(sent)
            received = b""
            try:
                while chunk := connection.recv(65536):
                    received += chunk
            except (TimeoutError, ConnectionResetError):
                pass
            return received
