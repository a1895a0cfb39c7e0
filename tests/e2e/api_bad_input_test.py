"""Bad input of each kind gets a clear refusal that names the place; nothing is lost and nothing crashes."""

import json

import pytest
from server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("api_bad_input"), "--no-worker") as running:
        yield running
        assert running.process.poll() is None, running.log.read_text(errors="replace")
        assert running.get("/v1/jobs").json["items"] == [], "something that was refused was stored"


def refusal(server, body, status=(400, 413, 422), pointer=None):
    answer = server.post("/v1/jobs", body)
    assert answer.status in ((status,) if isinstance(status, int) else status), (body[:100], answer.body)
    if pointer is not None:
        assert answer.pointers() == [pointer], answer.body
    return answer


@pytest.mark.parametrize("body", [
    b"", b" ", b"{", b"[]", b"null", b"1", b'"x"', b'{"kind":"a"', b'{"kind":"a"}x', b'{"kind" "a"}', b"{'kind':'a'}",
    b'\xef\xbb\xbf{"kind":"a"}', b'{"kind":"a",}', b"\x00", b"\xff\xfe", b"{" * 100_000, b"[" * 100_000,
    b'{"kind":"a","payload":{', b"<job/>", b"kind=a",
])
def test_broken_json(server, body):
    assert refusal(server, body, 400).code == "malformed_json"


@pytest.mark.parametrize("payload", [
    br'{"a":"\u0000"}', br'{"\u0000k":1}', br'{"a":"\ud800"}', br'{"a":"\udc00\ud800"}', b'{"a":"\x00"}',
    b'{"a":"\xc3\x28"}', b'{"a":"\xed\xa0\x80"}', b'{"a":1,"a":2}', b'{"x":{"dup":1,"dup":2}}', b'{"e":1e400}',
    b'{"n":18446744073709551616}', b'{"n":-9223372036854775809}', b'{"n":NaN}', b"Infinity", b"tru", b"01", b"1.",
    b"{a:1}", b'{"a":1 "b":2}', b"[1,2", b'{"a":[}]}', b"[" * 10_000 + b"]" * 10_000,
    b'{"a":' * 100 + b"1" + b"}" * 100, b'"\t"', b"// no\n1",
])
def test_c23_a_payload_that_could_not_be_carried_unchanged(server, payload):
    body = b'{"kind":"noop","payload":' + payload + b"}"
    answer = server.post("/v1/jobs", body)
    assert answer.status in (400, 422), answer.body
    if answer.status == 422:
        assert answer.pointers() == ["/payload"], answer.body
    batch = server.post("/v1/jobs:batch", b'{"jobs":[' + body + b"]}")
    assert batch.status in (400, 422)
    if batch.status == 422:
        assert batch.pointers() in (["/jobs/0/payload"], ["/jobs/0"], ["/jobs"])


@pytest.mark.parametrize("payload", [
    br'{"a":"\ud83d\ude00\u2028\u202e"}', '{"a":"\U0001f600\u2028\u202e"}'.encode(), b"null", b"[]", b'""', b"0", b"-0.0",
    b'{"n":18446744073709551615,"m":-9223372036854775808,"e":1e300}', b"[" * 64 + b"]" * 64,
])
def test_c23_a_payload_that_is_only_unusual_comes_out_byte_for_byte(server, payload):
    job_id = server.post("/v1/jobs", b'{"kind":"noop","payload":' + payload + b"}").json["id"]
    answer = server.get(f"/v1/jobs/{job_id}")
    assert b'"payload":' + payload + b"," in answer.body
    assert server.post(f"/v1/jobs/{job_id}:cancel").status == 200
    assert server.request("DELETE", f"/v1/jobs/{job_id}").status == 204


def test_a_payload_of_one_mebibyte_is_taken_and_one_byte_more_is_not(server):
    most = b'"' + b"x" * (2**20 - 2) + b'"'
    job_id = server.post("/v1/jobs", b'{"kind":"noop","payload":' + most + b"}").json["id"]
    assert len(server.job(job_id)["payload"]) == 2**20 - 2
    server.post(f"/v1/jobs/{job_id}:cancel")
    server.request("DELETE", f"/v1/jobs/{job_id}")
    refused = server.post("/v1/jobs", b'{"kind":"noop","payload":"x' + most[1:] + b"}")
    assert refused.status == 413 and refused.pointers() == ["/payload"] and refused.code == "too_large"
    assert server.post("/v1/jobs", b'{"kind":"noop","payload":"' + b"x" * 2_000_000 + b'"}').status == 413
    assert server.post("/v1/jobs:batch", b'{"jobs":[{"kind":"noop","payload":"' + b"x" * 2_000_000 + b'"}]}').status == 413
    assert server.post("/v1/jobs/1:cancel", b'{"x":"' + b"x" * 10_000 + b'"}').status == 413


@pytest.mark.parametrize(("member", "value"), [
    ("kind", ""), ("kind", "no spaces"), ("kind", "-x"), ("kind", "x" * 201), ("kind", "\u00e9"), ("kind", "a\u0000"),
    ("kind", 1), ("kind", None), ("kind", ["a"]), ("kind", {"a": 1}), ("queue", ""), ("queue", "<script>"),
    ("queue", "a\nb"), ("priority", -1), ("priority", 10), ("priority", 1.5), ("priority", "5"), ("priority", 2**40),
    ("priority", True), ("max_attempts", 0), ("max_attempts", -1), ("max_attempts", 40_000), ("max_attempts", 1e30),
    ("delay", "-5s"), ("delay", -5), ("delay", 1.5), ("delay", "NaN"), ("delay", "soon"), ("delay", "1.0000001s"),
    ("delay", "99999999999999999999d"), ("delay", "4000000d"), ("delay", ""), ("delay", "5"),
    ("due", "10000-01-01T00:00:00Z"), ("due", "9999-12-31T23:59:59-01:00"), ("due", "tomorrow"), ("due", "2026-02-30T00:00:00Z"),
    ("due", "2026-01-01"), ("due", "2026-01-01T00:00:00"), ("due", 1700000000), ("due", "1969-12-31T23:59:59Z"),
    ("timeout", "-1s"), ("timeout", 30), ("timeout", "5000000d"), ("retry", "sometimes"), ("retry", {"kind": "fixed"}),
    ("retry", "exponential:1s:1h:2"), ("transactional", 1), ("transactional", "true"), ("unique_key", "x" * 201),
    ("unique_key", "tab\there"), ("unique_key", 7), ("idempotency_key", "\u0000"), ("unheard_of", 1), ("Kind", "x"),
    ("", 1),
])
def test_a_member_that_is_wrong_is_named(server, member, value):
    answer = refusal(server, json.dumps({"kind": "noop", member: value}).encode(), 422, "/" + member)
    assert answer.json["errors"][0]["message"]


@pytest.mark.parametrize("literal", [b"NaN", b"-Infinity", b"1e400", b"-", b"0x10", b"tru", b"nul", b'"\\ud800"', b'"\\q"'])
def test_a_literal_that_is_no_json_is_named_by_its_member(server, literal):
    refusal(server, b'{"kind":"noop","delay":' + literal + b"}", 422, "/delay")


def test_what_is_missing_repeated_or_contradictory(server):
    refusal(server, b"{}", 422, "/kind")
    refusal(server, b'{"kind":"a","kind":"a"}', 422, "/kind")
    refusal(server, b'{"kind":"a","payload":1,"payload":2}', 422, "/payload")
    refusal(server, b'{"kind":"a","delay":"1s","due":"2030-01-01T00:00:00Z"}', 422, "/due")
    answer = server.post("/v1/jobs", {"kind": "a", "idempotency_key": "one"}, headers={"Idempotency-Key": "other"})
    assert answer.status == 422 and answer.pointers() == ["/idempotency_key"]
    many = server.post("/v1/jobs", {"kind": 1, "queue": 2, "priority": "x", "what": 4})
    assert set(many.pointers()) == {"/kind", "/queue", "/priority", "/what"}


@pytest.mark.parametrize(("body", "pointer"), [
    (b'{"jobs":[]}', "/jobs"), (b"{}", "/jobs"), (b'{"jobs":{}}', "/jobs"), (b'{"jobs":null}', "/jobs"),
    (b'{"jobs":[1]}', "/jobs/0"), (b'{"jobs":[{"kind":"a"},[]]}', "/jobs/1"), (b'{"job":[]}', "/job"),
    (b'{"jobs":[{"kind":"a"}],"atomic":true}', "/atomic"), (b'{"jobs":[{"kind":"a","delay":-1}]}', "/jobs/0/delay"),
    (b'{"jobs":[],"jobs":[{"kind":"a"}]}', "/jobs"),
])
def test_batches_that_are_none(server, body, pointer):
    answer = server.post("/v1/jobs:batch", body)
    assert answer.status == 422 and answer.pointers() == [pointer], answer.body


@pytest.mark.parametrize("key", ['""', '"open', '"a"b', "x" * 201, "tab\tin", '"a\\'])
def test_idempotency_keys_that_are_none(server, key):
    answer = server.post("/v1/jobs", {"kind": "a"}, headers={"Idempotency-Key": key})
    assert answer.status == 400 and answer.pointers() == ["Idempotency-Key"]


@pytest.mark.parametrize("query", [
    "state=done", "state=", "state=failed,", "status=failed", "limit=0", "limit=1001", "limit=-1", "limit=ten", "limit=",
    "limit=1e2", "limit=5&limit=6", "kind=", "kind=a%20b", "kind=%00", "queue=%ff", "kind=%zz", "kind=%2", "finished=someday",
    "finished=", "finished=today..yesterday", "created=2026-02-30", "created=99999-01-01", "utc_offset=CET",
    "utc_offset=%2B19:00", "x", "=", "offset=10", "kind=" + "x" * 300,
])
def test_queries_that_are_wrong_are_named(server, query):
    answer = server.get("/v1/jobs?" + query)
    assert answer.status == 400 and answer.code == "invalid_parameter", answer.body
    assert answer.json["errors"][0]["parameter"]


@pytest.mark.parametrize("target", ["/v1/jobs/1?x=1", "/v1/queues?x=1", "/v1/version?x=1"])
def test_parameters_where_none_are_known(server, target):
    assert server.get(target).status == 400


@pytest.mark.parametrize(("method", "target", "allow"), [
    ("PUT", "/v1/jobs", {"POST", "GET"}), ("DELETE", "/v1/jobs", {"POST", "GET"}), ("GET", "/v1/jobs:batch", {"POST"}),
    ("GET", "/v1/jobs/1:cancel", {"POST"}), ("GET", "/v1/jobs/1:retry", {"POST"}), ("POST", "/v1/jobs/1", {"GET", "DELETE"}),
    ("PATCH", "/v1/jobs/1", {"GET", "DELETE"}), ("GET", "/v1/queues/default:pause", {"POST"}), ("POST", "/livez", {"GET"}),
    ("OPTIONS", "/v1/jobs", {"POST", "GET"}), ("DELETE", "/metrics", {"GET"}),
])
def test_methods_that_a_path_does_not_have(server, method, target, allow):
    answer = server.request(method, target)
    assert answer.status == 405 and answer.code == "method_not_allowed"
    assert {name.strip() for name in answer.headers["allow"].split(",")} == allow


@pytest.mark.parametrize("target", [
    "/", "/v1", "/v1/", "/v1/jobs/", "/v1/job", "/v2/jobs", "/v1/jobs/1/runs", "/v1/jobs/1:start", "/favicon.ico",
    "/v1/queues/default", "/v1/queues/:pause", "/../etc/passwd", "/v1/../v1/jobs", "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc/passwd", "/static/../../etc/passwd", "//v1/jobs", "/v1/jobs;x=1", "/V1/JOBS", "/v1/jobs%00",
])
def test_c59_paths_that_there_are_not(server, target):
    answer = server.get(target)
    assert answer.status == 404 and answer.code == "not_found"
    assert b"root:" not in answer.body


def test_c59_text_that_would_be_a_script_is_only_text(server):
    for text in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script>", "\x1b[2J\x1b]0;x\x07"):
        answer = server.post("/v1/jobs", {"kind": "noop", "queue": text})
        assert answer.status == 422 and answer.headers["content-type"].startswith("application/problem+json")
        assert answer.headers["x-content-type-options"] == "nosniff"
        job_id = server.post("/v1/jobs", {"kind": "noop", "payload": text}).json["id"]
        shown = server.get(f"/v1/jobs/{job_id}")
        assert shown.json["payload"] == text and shown.headers["content-type"] == "application/json"
        server.post(f"/v1/jobs/{job_id}:cancel")
        server.request("DELETE", f"/v1/jobs/{job_id}")
