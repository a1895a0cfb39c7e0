"""The API's job routes, used as they are meant to be: every answer is checked against docs/openapi.json."""

import concurrent.futures
import hashlib
import json
import sqlite3

import pytest
from server import Server, eventually

# An integer past 2^53, the ends of 64 bits, a decimal that no double holds, spacing and escapes of its own.
EXACT = ('{"id":1970670598291982290, "neg":-9223372036854775808,"u":18446744073709551615 ,'
         '"d":0.1000000000000000055,"e":1.50E+2, "t":"\\ud83d\\ude00\\u2028\\/", "raw":"\U0001f600\u2028\u202e" }').encode()

HANDLERS = """
[worker]
slots = 4

[handlers.digest]
type = "exec"
command = ["sha256sum"]

[handlers.ok]
type = "exec"
command = ["cat"]

[handlers.refuse]
type = "exec"
command = ["false"]

[handlers.slow]
type = "exec"
command = ["sleep", "60"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("api_jobs"), config=HANDLERS) as running:
        eventually(lambda: running.get("/v1/workers").json["items"], what="a live worker")
        yield running


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """Without a worker: jobs stay where they are."""
    with Server(tmp_path_factory.mktemp("api_idle"), "--no-worker") as running:
        yield running


def raw_payload(answer) -> bytes:
    """The bytes of the member `payload`, as they stand in the answer."""
    start = answer.body.index(b'"payload":') + len(b'"payload":')
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(answer.body[start:].decode())
    return answer.body[start:].decode()[:end].encode()


def test_a_job_is_enqueued_and_read_back(idle):
    answer = idle.post("/v1/jobs", {"kind": "mail.send", "payload": {"to": "a"}, "queue": "mail", "priority": 2,
                                    "delay": "1h30m", "max_attempts": 3, "retry": "fixed:5s", "timeout": "90s",
                                    "transactional": True, "unique_key": "order 7 \u2713"})
    assert answer.status == 201
    assert answer.json["is_new"] and not answer.json["replayed"]
    assert answer.headers["location"] == f"/v1/jobs/{answer.json['id']}"
    assert isinstance(answer.json["id"], str)
    job = idle.get(answer.headers["location"]).json
    assert job["state"] == "scheduled" and job["queue"] == "mail" and job["priority"] == 2
    assert job["max_attempts"] == 3 and job["retry"].startswith("fixed:5s") and job["transactional"]
    assert job["unique_key"] == "order 7 \u2713" and job["payload"] == {"to": "a"}
    assert job["attempts"] == 0 and job["runs"] == [] and job["finished_at"] is None


def test_the_defaults_are_those_of_the_documentation(idle):
    job = idle.job(idle.enqueue("noop"))
    assert (job["queue"], job["priority"], job["max_attempts"], job["payload"]) == ("default", 5, 20, {})
    assert job["retry"] == "exponential:1s:1h:0.25" and job["timeout"] in ("5m", "300s")


def test_a_null_member_is_as_if_it_were_not_there(idle):
    job = idle.job(idle.enqueue("noop", due=None, delay=None, unique_key=None, priority=None, payload=None))
    assert job["priority"] == 5 and job["payload"] is None and job["unique_key"] is None


def test_a_kind_that_nobody_announces_is_accepted_with_a_warning(server):
    answer = server.post("/v1/jobs", {"kind": "unheard.of", "delay": "1h"})
    assert answer.status == 201
    assert [(w["code"], w["kind"]) for w in answer.json["warnings"]] == [("kind_not_announced", "unheard.of")]
    assert server.post("/v1/jobs", {"kind": "ok"}).json["warnings"] == []


def test_c58_the_payload_is_the_same_bytes_at_every_place(server):
    body = b'{"kind":"digest","payload":' + EXACT + b"}"
    job_id = server.post("/v1/jobs", body).json["id"]
    finished = server.wait_for_state(job_id, "succeeded", "failed")
    assert finished["state"] == "succeeded", finished
    wanted = hashlib.sha256(EXACT).hexdigest()
    # 1: the handler saw it on its standard input.
    assert wanted in json.dumps(finished["result"]), finished
    # 2 and 3: one job, and the list.
    shown = server.get(f"/v1/jobs/{job_id}")
    assert hashlib.sha256(raw_payload(shown)).hexdigest() == wanted
    listed = server.get("/v1/jobs?kind=digest&limit=1")
    assert hashlib.sha256(raw_payload(listed)).hexdigest() == wanted
    # 4: the store.
    with sqlite3.connect(server.folder / "data" / "deadman.db") as database:
        stored = database.execute("select payload from deadman_job where id = ?", [int(job_id)]).fetchone()[0]
    stored = stored if isinstance(stored, bytes) else stored.encode()
    assert hashlib.sha256(stored).hexdigest() == wanted


def test_c58_in_a_batch_too(idle):
    body = b'{"jobs":[{"kind":"digest","payload":' + EXACT + b'}, {"payload":[ 1 ,2],"kind":"digest"}]}'
    items = idle.post("/v1/jobs:batch", body).json["items"]
    assert raw_payload(idle.get(f"/v1/jobs/{items[0]['id']}")) == EXACT
    assert raw_payload(idle.get(f"/v1/jobs/{items[1]['id']}")) == b"[ 1 ,2]"


def test_a_batch_is_all_or_none_and_answers_per_item(idle):
    answer = idle.post("/v1/jobs:batch", {"jobs": [{"kind": "noop", "queue": "batch"}] * 10})
    assert answer.status == 201 and len({item["id"] for item in answer.json["items"]}) == 10
    refused = idle.post("/v1/jobs:batch", {"jobs": [{"kind": "noop", "queue": "batch2"}, {"kind": "no spaces"}, {}]})
    assert refused.status == 422
    assert refused.pointers() == ["/jobs/1/kind", "/jobs/2/kind"]
    assert idle.get("/v1/jobs?queue=batch2").json["items"] == []


def test_a_batch_of_ten_thousand_into_one_queue(idle):
    answer = idle.post("/v1/jobs:batch", {"jobs": [{"kind": "noop", "queue": "ten.thousand"}] * 10_000})
    assert answer.status == 201 and len(answer.json["items"]) == 10_000
    queues = {queue["name"]: queue for queue in idle.get("/v1/queues").json["items"]}
    assert queues["ten.thousand"]["pending"] == 10_000
    assert idle.post("/v1/jobs:batch", {"jobs": [{"kind": "noop"}] * 10_001}).status == 422


# --- idempotency (C46) -----------------------------------------------------------------------------------------------


def test_c46_fifty_parallel_posts_with_one_key_make_one_job(idle):
    def post(_):
        return idle.post("/v1/jobs", {"kind": "noop", "queue": "c46"}, headers={"Idempotency-Key": "fifty"})

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(post, range(50)))
    assert {answer.json["id"] for answer in answers} == {answers[0].json["id"]}
    assert sorted(answer.status for answer in answers) == [200] * 49 + [201]
    replayed = [answer for answer in answers if answer.status == 200]
    assert all(answer.headers["idempotency-replayed"] == "true" and answer.json["replayed"] for answer in replayed)
    assert len(idle.get("/v1/jobs?queue=c46").json["items"]) == 1


def test_c46_another_request_under_the_same_key_is_refused(idle):
    headers = {"Idempotency-Key": '"quoted"'}
    first = idle.post("/v1/jobs", {"kind": "noop", "payload": {"a": 1}}, headers=headers)
    assert first.status == 201
    refused = idle.post("/v1/jobs", {"kind": "noop", "payload": {"a": 2}}, headers=headers)
    assert refused.status == 422 and refused.code == "idempotency_key_reused"
    # Bare and quoted are the same key; the order of members is no other request.
    again = idle.post("/v1/jobs", b'{"payload":{"a": 1},"kind":"noop"}', headers={"Idempotency-Key": "quoted"})
    assert again.status == 200 and again.json["id"] == first.json["id"]


def test_c46_a_batch_replays_as_a_whole_and_is_bound_as_a_whole(idle):
    headers = {"Idempotency-Key": "the batch"}
    jobs = [{"kind": "noop", "queue": "c46b", "payload": i % 90} for i in range(100)]
    first = idle.post("/v1/jobs:batch", {"jobs": jobs}, headers=headers)
    again = idle.post("/v1/jobs:batch", {"jobs": jobs}, headers=headers)
    assert first.status == 201 and again.status == 200
    assert [item["id"] for item in first.json["items"]] == [item["id"] for item in again.json["items"]]
    assert again.headers["idempotency-replayed"] == "true"
    for other in (jobs[:99], jobs + [jobs[-1]], jobs[::-1]):
        refused = idle.post("/v1/jobs:batch", {"jobs": other}, headers=headers)
        assert refused.status == 422 and refused.code == "idempotency_key_reused"
    assert sum(queue["pending"] for queue in idle.get("/v1/queues").json["items"] if queue["name"] == "c46b") == 100


def test_c46_keys_inside_a_batch_tell_per_item_what_happened(idle):
    jobs = [{"kind": "noop", "queue": "c46c", "idempotency_key": f"item {i % 90}", "payload": i % 90} for i in range(100)]
    items = idle.post("/v1/jobs:batch", {"jobs": jobs}).json["items"]
    assert [item["is_new"] for item in items] == [True] * 90 + [False] * 10
    assert [item["id"] for item in items[90:]] == [item["id"] for item in items[:10]]


def test_c46_a_key_outlives_the_end_and_the_removal_of_its_job(server):
    headers = {"Idempotency-Key": "outlives"}
    first = server.post("/v1/jobs", {"kind": "ok"}, headers=headers)
    server.wait_for_state(first.json["id"], "succeeded")
    assert server.post("/v1/jobs", {"kind": "ok"}, headers=headers).json["id"] == first.json["id"]
    assert server.request("DELETE", f"/v1/jobs/{first.json['id']}").status == 204
    again = server.post("/v1/jobs", {"kind": "ok"}, headers=headers)
    assert again.status == 200 and again.json["id"] == first.json["id"]


def test_a_unique_key_answers_with_the_job_that_has_it(idle):
    first = idle.post("/v1/jobs", {"kind": "noop", "unique_key": "only one"})
    second = idle.post("/v1/jobs", {"kind": "noop", "unique_key": "only one", "payload": 2})
    assert (first.status, second.status) == (201, 200)
    assert second.json["id"] == first.json["id"] and not second.json["is_new"] and not second.json["replayed"]


# --- cancel, retry, delete -------------------------------------------------------------------------------------------


def test_cancel_of_a_job_that_waits(idle):
    job_id = idle.enqueue("noop")
    answer = idle.post(f"/v1/jobs/{job_id}:cancel")
    assert answer.status == 200 and answer.json == {"id": job_id, "outcome": "cancelled"}
    assert idle.job(job_id)["state"] == "cancelled"
    again = idle.post(f"/v1/jobs/{job_id}:cancel")
    assert again.status == 409 and again.code == "already_finished"


def test_cancel_of_a_running_job_ends_it_as_cancelled(server):
    job_id = server.enqueue("slow")
    server.wait_for_state(job_id, "running")
    answer = server.post(f"/v1/jobs/{job_id}:cancel")
    assert answer.status == 202 and answer.json["outcome"] == "requested"
    job = server.wait_for_state(job_id, "cancelled")
    assert job["runs"][-1]["outcome"] == "cancelled"


def test_retry_begins_anew_and_delete_forgets(server):
    job_id = server.enqueue("refuse", max_attempts=1)
    failed = server.wait_for_state(job_id, "failed")
    assert failed["attempts"] == 1 and failed["finished_at"] and failed["reason"]
    assert server.post(f"/v1/jobs/{job_id}:retry").json == {"id": job_id, "outcome": "pending"}
    eventually(lambda: len(server.job(job_id)["runs"]) == 2 and server.job(job_id)["state"] == "failed")
    assert server.request("DELETE", f"/v1/jobs/{job_id}").status == 204
    assert server.get(f"/v1/jobs/{job_id}").status == 404
    assert server.request("DELETE", f"/v1/jobs/{job_id}").status == 404


def test_what_the_state_does_not_allow_is_a_conflict(idle):
    job_id = idle.enqueue("noop")
    assert idle.post(f"/v1/jobs/{job_id}:retry").status == 409
    assert idle.request("DELETE", f"/v1/jobs/{job_id}").status == 409
    assert idle.request("DELETE", f"/v1/jobs/{job_id}", headers={"content-type": None}).status == 409


@pytest.mark.parametrize("action", [":cancel", ":retry"])
def test_a_job_that_there_is_not(idle, action):
    for missing in ("999999999", "9223372036854775807", "9223372036854775808", "99999999999999999999999"):
        assert idle.post(f"/v1/jobs/{missing}{action}").status == 404
        assert idle.get(f"/v1/jobs/{missing}").status == 404
    for no_id in ("abc", "-1", "1.0", "0x10", "%201", "1%00"):
        assert idle.get(f"/v1/jobs/{no_id}").status in (400, 404)


# --- lists -----------------------------------------------------------------------------------------------------------


def pages(server, query: str, limit: int = 7) -> list[str]:
    ids, cursor = [], ""
    while True:
        page = server.get(f"/v1/jobs?{query}&limit={limit}{cursor}").json
        ids += [job["id"] for job in page["items"]]
        assert page["has_more"] == (page["next_cursor"] is not None)
        if not page["has_more"]:
            return ids
        cursor = "&cursor=" + page["next_cursor"]


def test_pages_neither_skip_nor_repeat_while_jobs_come(idle):
    jobs = idle.post("/v1/jobs:batch", {"jobs": [{"kind": "paged", "queue": "pages"}] * 50}).json["items"]
    first = idle.get("/v1/jobs?kind=paged&limit=7").json
    idle.post("/v1/jobs:batch", {"jobs": [{"kind": "paged", "queue": "pages"}] * 5})
    ids = [job["id"] for job in first["items"]]
    cursor = first["next_cursor"]
    while cursor:
        page = idle.get(f"/v1/jobs?kind=paged&limit=7&cursor={cursor}").json
        ids += [job["id"] for job in page["items"]]
        cursor = page["next_cursor"]
    assert ids == [item["id"] for item in reversed(jobs)]


def test_finished_jobs_are_paged_by_their_end_and_all_have_one(server):
    jobs = server.post("/v1/jobs:batch", {"jobs": [{"kind": "ok", "queue": "default"}] * 20}).json["items"]
    for item in jobs:
        server.wait_for_state(item["id"], "succeeded")
    ids = pages(server, "state=succeeded&kind=ok&finished=-1h", limit=6)
    assert set(ids) >= {item["id"] for item in jobs} and len(ids) == len(set(ids))
    ends = [server.job(job_id)["finished_at"] for job_id in ids]
    assert ends == sorted(ends, reverse=True)


def test_filters(idle):
    mine = idle.enqueue("filtered.kind", queue="filtered/queue")
    later = idle.enqueue("filtered.kind", queue="filtered/queue", delay="1h")

    def ids(query):
        return [job["id"] for job in idle.get("/v1/jobs?" + query).json["items"]]

    assert ids("kind=filtered.kind") == [later, mine]
    assert ids("queue=filtered%2Fqueue&state=pending") == [mine]
    assert ids("kind=filtered.kind&state=scheduled,pending") == [later, mine]
    assert ids("kind=filtered.kind&state=scheduled&state=pending") == [later, mine]
    assert ids("kind=filtered.kind&created=today..tomorrow&utc_offset=%2B00:00") == [later, mine]
    assert ids("kind=filtered.kind&created=-5m") == [later, mine]
    assert ids("kind=filtered.kind&created=..-5m") == []
    assert ids("kind=filtered.kind&created=2001-01-01..2002-01-01") == []
    assert ids("kind=filtered.kind&finished=tuesday") == []


def test_a_cursor_is_for_its_own_filter_and_not_to_be_changed(idle):
    idle.post("/v1/jobs:batch", {"jobs": [{"kind": "cursored"}] * 3})
    cursor = idle.get("/v1/jobs?kind=cursored&limit=1").json["next_cursor"]
    assert idle.get(f"/v1/jobs?kind=cursored&limit=2&cursor={cursor}").status == 200
    for target in (f"/v1/jobs?kind=other&cursor={cursor}", f"/v1/jobs?cursor={cursor}",
                   f"/v1/jobs?kind=cursored&state=failed&cursor={cursor}",
                   f"/v1/jobs?kind=cursored&cursor={cursor[:-1]}", "/v1/jobs?cursor=", "/v1/jobs?cursor=!!",
                   f"/v1/jobs?kind=cursored&cursor={('B' if cursor[0] == 'A' else 'A') + cursor[1:]}"):
        answer = idle.get(target)
        assert answer.status == 400 and answer.code == "invalid_cursor", target


# --- queues, workers, the rest ---------------------------------------------------------------------------------------


def test_a_paused_queue_hands_nothing_out_until_it_is_resumed(server):
    assert server.post("/v1/queues/default:pause").json == {"name": "default", "paused": True}
    assert server.post("/v1/queues/default:pause").status == 200
    job_id = server.enqueue("ok")
    queues = {queue["name"]: queue for queue in server.get("/v1/queues").json["items"]}
    assert queues["default"]["paused"] and queues["default"]["pending"] >= 1
    assert server.post("/v1/queues/default:resume").json["paused"] is False
    server.wait_for_state(job_id, "succeeded")


def test_queue_names_with_slashes_and_colons(idle):
    idle.enqueue("noop", queue="eu/mail:fast")
    assert idle.post("/v1/queues/eu%2Fmail:fast:pause").json == {"name": "eu/mail:fast", "paused": True}
    assert idle.post("/v1/queues/eu%2Fmail%3Afast:resume").json == {"name": "eu/mail:fast", "paused": False}
    assert idle.post("/v1/queues/no%20such:pause").status == 400


def test_workers(server, idle):
    (worker,) = server.get("/v1/workers").json["items"]
    assert worker["kinds"] == ["digest", "ok", "refuse", "slow"] and worker["slots"] == 4
    assert worker["ended_at"] is None and worker["pid"] == server.process.pid
    assert idle.get("/v1/workers").json["items"] == []
    assert idle.get("/v1/workers?all=true").status == 200
    assert idle.get("/v1/workers?all=yes").status == 400


def test_system_routes(idle):
    assert idle.get("/livez").body == b"ok\n"
    assert idle.get("/readyz").status == 200
    verbose = idle.get("/readyz?verbose").body.decode()
    assert "ok   store" in verbose and verbose.endswith("ready\n")
    version = idle.get("/v1/version").json
    assert version["api"] == "v1" and version["store"] == "sqlite"
    assert idle.get("/openapi.json").json == idle.contract.document
    metrics = idle.get("/metrics").body.decode()
    assert "deadman_build_info{" in metrics and 'deadman_jobs{queue="default",state="pending"}' in metrics
    assert 'deadman_http_requests_total{route="/v1/jobs",status="201"}' in metrics


def test_runs_are_counted(server):
    job_id = server.enqueue("ok")
    server.wait_for_state(job_id, "succeeded")
    wanted = ('deadman_job_attempts_total{outcome="succeeded"}', 'deadman_job_run_seconds_count{kind="ok"}',
              'deadman_jobs_enqueued_total{queue="default"}', "deadman_leader 1")
    eventually(lambda: all(name in server.get("/metrics").body.decode() for name in wanted), what="the counts")


def test_head_is_get_without_a_body(idle):
    answer = idle.request("HEAD", "/v1/version")
    assert answer.status == 200 and answer.body == b""


def test_request_ids_are_echoed_or_made(idle):
    assert idle.get("/livez", headers={"X-Request-Id": "abc-1.2_3"}).headers["x-request-id"] == "abc-1.2_3"
    made = idle.get("/livez", headers={"X-Request-Id": "bad id\twith\x01"}).headers["x-request-id"]
    assert made != "bad id" and len(made) == 16
    problem = idle.get("/v1/jobs/1000000", headers={"X-Request-Id": "find-me"})
    assert problem.json["instance"] == "urn:deadman:request:find-me"


# --- ids past 32 and 53 bits (C41) -----------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [2**31 - 8, 2**53 + 10])
def test_c41_ids_are_exact_past_31_and_53_bits(tmp_path, start):
    running = Server(tmp_path, config=HANDLERS)
    with running:
        pass
    with sqlite3.connect(tmp_path / "data" / "deadman.db") as database:
        database.execute("update deadman_sequence set value = ?", [start])
        if database.execute("select 1 from sqlite_master where name = 'sqlite_sequence'").fetchone():
            database.execute("update sqlite_sequence set seq = ?", [start])
    with running:
        items = running.post("/v1/jobs:batch", {"jobs": [{"kind": "ok"}] * 50 + [
            {"kind": "refuse", "max_attempts": 1}] * 50}).json["items"]
        ids = [int(item["id"]) for item in items]
        assert min(ids) > start and len(set(ids)) == 100
        for item in items:
            running.wait_for_state(item["id"], "succeeded", "failed", patience_s=60)
        assert sorted(int(job_id) for job_id in pages(running, "state=failed,succeeded", limit=13)) == sorted(ids)
        job = running.job(items[-1]["id"])
        assert int(job["fence"]) > start and int(job["runs"][-1]["session_id"]) > start
        assert running.post(f"/v1/jobs/{items[-1]['id']}:retry").status == 200
        delayed = running.enqueue("ok", delay="1h")
        assert int(delayed) > start
        assert running.post(f"/v1/jobs/{delayed}:cancel").status == 200
        assert running.request("DELETE", f"/v1/jobs/{delayed}").status == 204
        assert running.stop() == 0
