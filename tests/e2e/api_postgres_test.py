"""The API over Postgres: three servers on one store, and a store that goes away and comes back."""

import concurrent.futures
import subprocess
import time

import pytest
from postgres_server import PostgresServer
from server import BINARY, Contract, Server, eventually, free_port

HANDLERS = """
[worker]
slots = 4

[lease]
lease = "2s"
heartbeat = "500ms"
sweep = "250ms"
hint_heartbeat = "125ms"
hint_grace = "625ms"

[handlers.ok]
type = "exec"
command = ["cat"]

[handlers.nap]
type = "exec"
command = ["sleep", "1"]
"""


@pytest.fixture(scope="module")
def postgres():
    running = PostgresServer()
    yield running
    running.close()


@pytest.fixture(scope="module")
def hopeless(tmp_path_factory):
    """Started where no store will ever be; it takes its time to give up, so it begins before all others."""
    folder = tmp_path_factory.mktemp("hopeless")
    began = time.monotonic()
    process = subprocess.Popen(
        [BINARY, "serve", "--listen", f"127.0.0.1:{free_port()}", "--data-dir", str(folder), "--store",
         f"postgresql://deadman:s3cretpassword@127.0.0.1:{free_port()}/postgres"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    yield process, began
    process.kill()


@pytest.fixture(scope="module")
def servers(hopeless, postgres, tmp_path_factory):
    contract = Contract()
    with Server(tmp_path_factory.mktemp("one"), store=postgres.url, config=HANDLERS, contract=contract) as one, \
            Server(tmp_path_factory.mktemp("two"), "--no-worker", store=postgres.url, contract=contract, config=HANDLERS) as two, \
            Server(tmp_path_factory.mktemp("three"), "--no-worker", store=postgres.url, contract=contract, config=HANDLERS) as three:
        eventually(lambda: one.get("/v1/workers").json["items"], what="a live worker")
        yield [one, two, three]


def test_a_job_runs_and_every_server_shows_it(servers):
    assert servers[0].get("/v1/version").json["store"] == "postgres"
    body = b'{"kind":"ok","payload":{"id":18446744073709551615, "d" : 1.50E+2}}'
    answer = servers[1].post("/v1/jobs", body)
    assert answer.status == 201 and answer.json["warnings"] == []
    job = servers[2].wait_for_state(answer.json["id"], "succeeded")
    assert [run["outcome"] for run in job["runs"]] == ["succeeded"]
    assert b'"payload":{"id":18446744073709551615, "d" : 1.50E+2},' in servers[2].get(f"/v1/jobs/{answer.json['id']}").body
    assert len(servers[1].get("/v1/workers").json["items"]) == 1
    verbose = servers[1].get("/readyz?verbose").body.decode()
    assert "ok   schema" in verbose and "ok   partitions_ahead" in verbose


def test_c46_fifty_parallel_posts_on_three_servers_make_one_job(servers):
    def post(i):
        return servers[i % 3].post("/v1/jobs", {"kind": "ok", "delay": "1h", "queue": "c46"},
                                   headers={"Idempotency-Key": "fifty"})

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(post, range(50)))
    assert {answer.json["id"] for answer in answers} == {answers[0].json["id"]}
    assert sorted(answer.status for answer in answers) == [200] * 49 + [201]
    changed = servers[1].post("/v1/jobs", {"kind": "ok", "delay": "2h", "queue": "c46"}, headers={"Idempotency-Key": "fifty"})
    assert changed.status == 422 and changed.code == "idempotency_key_reused"
    jobs = [{"kind": "ok", "delay": "1h"}] * 20
    first = servers[0].post("/v1/jobs:batch", {"jobs": jobs}, headers={"Idempotency-Key": "batch"})
    again = servers[2].post("/v1/jobs:batch", {"jobs": jobs}, headers={"Idempotency-Key": "batch"})
    assert (first.status, again.status) == (201, 200) and first.json["items"][7]["id"] == again.json["items"][7]["id"]
    assert servers[1].post("/v1/jobs:batch", {"jobs": jobs[1:]}, headers={"Idempotency-Key": "batch"}).status == 422


def test_a_cursor_of_one_server_goes_on_at_another(servers):
    servers[0].post("/v1/jobs:batch", {"jobs": [{"kind": "paged", "delay": "1h"}] * 30})
    ids, cursor, turn = [], "", 0
    while True:
        page = servers[turn % 3].get(f"/v1/jobs?kind=paged&limit=7{cursor}").json
        ids += [job["id"] for job in page["items"]]
        if not page["has_more"]:
            break
        cursor, turn = "&cursor=" + page["next_cursor"], turn + 1
    assert len(ids) == 30 and ids == sorted(ids, key=int, reverse=True)


def test_operations(servers):
    one, two, _ = servers
    delayed = one.enqueue("ok", delay="1h")
    assert two.post(f"/v1/jobs/{delayed}:cancel").json["outcome"] == "cancelled"
    assert two.post(f"/v1/jobs/{delayed}:cancel").status == 409
    assert two.post(f"/v1/jobs/{delayed}:retry").status == 200
    one.wait_for_state(delayed, "succeeded")
    assert two.request("DELETE", f"/v1/jobs/{delayed}").status == 204 and one.get(f"/v1/jobs/{delayed}").status == 404
    assert two.post("/v1/queues/default:pause").status == 200
    waiting = two.enqueue("ok")
    assert [q["paused"] for q in one.get("/v1/queues").json["items"] if q["name"] == "default"] == [True]
    assert one.job(waiting)["state"] == "pending"
    assert one.post("/v1/queues/default:resume").status == 200
    one.wait_for_state(waiting, "succeeded")


def answered_within(server, seconds: float, method: str, target: str, body=None):
    began = time.monotonic()
    answer = server.request(method, target, body)
    took = time.monotonic() - began
    assert took < seconds, f"{method} {target} took {took:.1f} s"
    return answer


def while_away(servers) -> None:
    for server in servers:
        eventually(lambda server=server: server.get("/readyz").status == 503, 5)
        for method, target, body in (("GET", "/v1/jobs", None), ("GET", "/v1/queues", None), ("POST", "/v1/jobs", {"kind": "ok"}),
                                     ("POST", "/v1/jobs/1:cancel", {}), ("DELETE", "/v1/jobs/1", None)):
            answer = answered_within(server, 2, method, target, body)
            assert answer.status == 503 and answer.headers["retry-after"] and answer.code == "unavailable"
        assert answered_within(server, 1, "GET", "/livez").status == 200
        assert answered_within(server, 1, "GET", "/metrics").status == 200
        assert b"FAIL store" in server.get("/readyz?verbose").body
        assert server.process.poll() is None


def test_the_store_goes_away_and_comes_back(servers, postgres):
    naps = [servers[1].enqueue("nap") for _ in range(4)]
    accepted = [servers[i % 3].enqueue("ok") for i in range(20)]
    postgres.stop_at_once()
    try:
        while_away(servers)
    finally:
        postgres.start()
    for server in servers:
        eventually(lambda server=server: server.get("/readyz").status == 200, 15)
    for job_id in naps + accepted:
        servers[0].wait_for_state(job_id, "succeeded", patience_s=40)
    assert servers[1].post("/v1/jobs", {"kind": "ok"}).status == 201


def test_the_store_hangs_and_wakes(servers, postgres):
    """Connections stay and nobody answers: what was under way is said to have an unknown outcome."""
    postgres.freeze()
    try:
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            began = time.monotonic()
            writes = [pool.submit(servers[1].post, "/v1/jobs", {"kind": "ok", "payload": i},
                                  headers={"Idempotency-Key": f"hang {i}"}) for i in range(10)]
            answers = [write.result() for write in writes]
            assert time.monotonic() - began < 3, "the first ones wait until it is known that the store is away"
        assert {answer.status for answer in answers} == {503}
        assert {answer.code for answer in answers} <= {"outcome_unknown", "unavailable"}
        while_away(servers)
    finally:
        postgres.thaw()
    for server in servers:
        eventually(lambda server=server: server.get("/readyz").status == 200, 15)
    # Sent again with its key, each is there once.
    for i in range(10):
        answer = servers[2].post("/v1/jobs", {"kind": "ok", "payload": i}, headers={"Idempotency-Key": f"hang {i}"})
        assert answer.status in (200, 201)
        servers[0].wait_for_state(answer.json["id"], "succeeded", patience_s=40)
    mine = [job for job in servers[1].get("/v1/jobs?kind=ok&limit=200").json["items"] if isinstance(job["payload"], int)]
    assert sorted(job["payload"] for job in mine) == list(range(10))


def test_a_store_that_is_late_is_waited_for(postgres, tmp_path):
    postgres.stop_at_once()
    late = Server(tmp_path, "--no-worker", store=postgres.url).launch()
    with late:
        eventually(lambda: "store_not_reachable_yet" in late.log.read_text())
        postgres.start()
        late.wait_until_live()
        eventually(lambda: late.get("/readyz").status == 200)


def test_a_store_that_never_comes_ends_it_with_one_clear_line(hopeless):
    process, began = hopeless
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and time.monotonic() - began > 25
    last = output.strip().splitlines()[-1]
    assert "127.0.0.1" in last or "connect" in last.lower(), output
    assert "s3cretpassword" not in output
