"""The server's life: what it says when it starts, how it leaves, and that kill -9 loses nothing that was accepted."""

import concurrent.futures
import signal
import sqlite3
import subprocess
import time

from leftovers import die_with_parent
from server import BINARY, Server, eventually

HANDLERS = """
[worker]
slots = 4

[handlers.ok]
type = "exec"
command = ["cat"]

[handlers.nap]
type = "exec"
command = ["sleep", "3"]

[handlers.slow]
type = "exec"
command = ["sleep", "60"]
"""


def test_it_says_where_it_listens_where_the_data_is_and_how_to_try_it(tmp_path):
    with Server(tmp_path) as running:
        eventually(lambda: "try" in running.log.read_text())
        said = running.log.read_text()
        assert f"http://127.0.0.1:{running.port}" in said and "deadman.db" in said and "curl" in said
        assert (tmp_path / "data" / "deadman.db").exists()
        assert running.stop() == 0


def test_on_port_zero_it_takes_a_free_one_and_says_which(tmp_path):
    process = subprocess.Popen([BINARY, "serve", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:0"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path,
                               preexec_fn=die_with_parent)
    try:
        first = process.stdout.readline()
        assert "http://127.0.0.1:" in first and not first.rstrip().endswith(":0")
    finally:
        process.terminate()
        assert process.wait(20) == 0


def test_a_drain_lets_runs_end_and_says_so_before_the_port_closes(tmp_path):
    running = Server(tmp_path, config=HANDLERS).start()
    with running:
        nap = running.enqueue("nap")
        running.wait_for_state(nap, "running")
        waiting = running.enqueue("ok", delay="1h")
        running.process.send_signal(signal.SIGTERM)
        not_ready = eventually(lambda: (answer := running.get("/readyz?verbose")).status == 503 and answer, 2)
        assert b"FAIL draining" in not_ready.body
        # It still serves while it drains.
        assert running.get("/livez").status == 200
        assert running.job(waiting)["state"] == "scheduled"
        late = running.enqueue("ok")
        assert running.process.wait(20) == 0
    with Server(tmp_path, "--no-worker", config=HANDLERS, port=running.port) as again:
        assert again.job(nap)["state"] == "succeeded"
        assert again.job(late)["state"] == "pending"


def test_the_drain_is_announced_also_where_nothing_runs(tmp_path):
    running = Server(tmp_path, "--no-worker").start()
    with running:
        running.process.send_signal(signal.SIGTERM)
        eventually(lambda: running.get("/readyz").status == 503, 1)
        assert running.process.wait(5) == 0


def test_a_second_signal_forces_and_the_job_is_claimable_again(tmp_path):
    running = Server(tmp_path, config=HANDLERS).start()
    with running:
        slow = running.enqueue("slow")
        running.wait_for_state(slow, "running")
        running.process.send_signal(signal.SIGTERM)
        eventually(lambda: running.get("/readyz").status == 503, 2)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(10) == 0
    with Server(tmp_path, "--no-worker", port=running.port) as again:
        job = again.job(slow)
        assert job["state"] == "pending" and job["attempts"] == 0 and job["runs"][-1]["outcome"] == "release"


def test_told_to_leave_it_leaves_also_where_the_store_does_not_answer(tmp_path):
    """Another process holds the file's write lock and never lets go: no end of a run or a session can be written."""
    running = Server(tmp_path, config='[worker]\ndrain_grace = "1s"\n[handlers.slow]\ntype = "exec"\ncommand = ["sleep", "60"]\n')
    with running:
        slow = running.enqueue("slow")
        running.wait_for_state(slow, "running")
        blocker = sqlite3.connect(tmp_path / "data" / "deadman.db", isolation_level=None)
        blocker.execute("begin immediate")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(20) == 70
        assert b"ending at once" in running.log.read_bytes()
        blocker.execute("rollback")
        blocker.close()
    with Server(tmp_path, "--no-worker", port=running.port) as again:
        again.wait_for_state(slow, "pending")


def test_kill_9_in_the_middle_of_enqueues_loses_none_that_was_accepted(tmp_path):
    running = Server(tmp_path, "--no-worker").start()
    accepted: dict[str, str] = {}

    def client(number: int) -> None:
        for i in range(1_000):
            key = f"{number}-{i}"
            try:
                answer = running.post("/v1/jobs", {"kind": "ok", "payload": key}, headers={"Idempotency-Key": key},
                                      checked=False, timeout_s=5)
            except OSError:
                return
            except Exception as error:  # a cut answer, whatever the library makes of it
                assert "HTTP" in repr(error) or "Incomplete" in repr(error) or "Remote" in repr(error), error
                return
            if answer.status in (200, 201):
                accepted[key] = answer.json["id"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        clients = [pool.submit(client, number) for number in range(8)]
        eventually(lambda: len(accepted) > 200)
        running.kill()
        for done in clients:
            done.result()
    assert len(accepted) > 200
    with Server(tmp_path, "--no-worker", port=running.port) as again:
        for key, job_id in accepted.items():
            assert again.job(job_id)["payload"] == key
        # What was under way: repeated under its key, it is there once.
        for key, job_id in list(accepted.items())[-20:]:
            repeated = again.post("/v1/jobs", {"kind": "ok", "payload": key}, headers={"Idempotency-Key": key})
            assert repeated.status == 200 and repeated.json["id"] == job_id


def test_kill_9_in_mid_job_and_the_job_still_runs(tmp_path):
    running = Server(tmp_path, config=HANDLERS).start()
    with running:
        jobs = [running.enqueue("nap") for _ in range(4)]
        for job_id in jobs:
            running.wait_for_state(job_id, "running")
        running.kill()
    with Server(tmp_path, config=HANDLERS, port=running.port) as again:
        for job_id in jobs:
            job = again.wait_for_state(job_id, "succeeded", patience_s=40)
            assert job["attempts"] == 1 and [run["outcome"] for run in job["runs"]] == ["lapse", "succeeded"]


def test_a_cursor_of_before_the_restart_is_still_good(tmp_path):
    running = Server(tmp_path, "--no-worker").start()
    with running:
        running.post("/v1/jobs:batch", {"jobs": [{"kind": "noop"}] * 5})
        cursor = running.get("/v1/jobs?limit=2").json["next_cursor"]
        running.kill()
    with Server(tmp_path, "--no-worker", port=running.port) as again:
        assert len(again.get(f"/v1/jobs?limit=10&cursor={cursor}").json["items"]) == 3


def test_no_event_loop_waits_for_the_store(tmp_path):
    """The file's write lock is held by somebody else: writes wait for it, health and reads do not."""
    with Server(tmp_path, "--no-worker") as running:
        running.enqueue("noop")
        blocker = sqlite3.connect(tmp_path / "data" / "deadman.db", isolation_level=None)
        blocker.execute("begin immediate")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            writes = [pool.submit(running.post, "/v1/jobs", {"kind": "noop"}) for _ in range(4)]
            for _ in range(10):
                began = time.monotonic()
                assert running.get("/livez").status == 200
                assert len(running.get("/v1/jobs").json["items"]) == 1
                assert time.monotonic() - began < 1
            assert not any(write.done() for write in writes)
            blocker.execute("rollback")
            assert [write.result().status for write in writes] == [201] * 4
        blocker.close()
        assert running.get("/readyz").status == 200


def test_a_store_that_is_no_store(tmp_path):
    def run(store: str) -> subprocess.CompletedProcess:
        return subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path), "--store", store],
                              capture_output=True, text=True, timeout=60, cwd=tmp_path)

    (tmp_path / "text.db").write_text("this is no database\n" * 1000)
    for store in ("mongodb://x", "nonsense", f"sqlite:{tmp_path}/text.db", f"sqlite:{tmp_path}/no/such/folder/x.db"):
        done = run(store)
        assert done.returncode in (1, 2), (store, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1, (store, done.stderr)


def test_the_server_has_every_route_of_its_description(tmp_path):
    """The other way round is checked with each answer: a path that is not described may only be a 404."""
    with Server(tmp_path, "--no-worker") as running:
        for path, operations in running.contract.document["paths"].items():
            for method in operations:
                target = path.replace("{id}", "1").replace("{name}", "default")
                answer = running.request(method.upper(), target)
                nothing = answer.status == 404 and "nothing at this path" in answer.json["detail"]
                assert not nothing and answer.status != 405, f"{method} {path}: {answer.body}"
