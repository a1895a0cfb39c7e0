"""Who may drive the API: no page of another site, nobody without the token; and no bytes that bring it down."""

import socket
import subprocess
import threading
import time

import pytest
from leftovers import die_with_parent
from server import BINARY, Server, eventually, free_port

TOKEN = "dm_0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("api_safety"), "--no-worker") as running:
        yield running
        assert running.get("/livez").status == 200


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api_token")
    (folder / "token").write_text(TOKEN + "\n")
    with Server(folder, "--no-worker", "--token-file", str(folder / "token")) as running:
        yield running


# --- pages of other sites --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7350", "localhost.evil.example", "127.0.0.1.evil.example",
                                  "[::2]:7350", "169.254.169.254", "localhost@evil.example", "evil.example#localhost"])
def test_a_foreign_host_is_refused_everywhere(server, host):
    for method, target in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/livez"), ("GET", "/nothing")):
        answer = server.request(method, target, headers={"Host": host})
        assert answer.status == 421 and answer.code == "foreign_host"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:99", "[::1]:7350", "localhost."])
def test_loopback_by_any_of_its_names_is_answered(server, host):
    assert server.get("/v1/jobs", headers={"Host": host}).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:1", "null", "http://127.0.0.1", "file://", "x",
                                    "http://evil.example:7350"])
def test_a_cross_site_origin_is_refused(server, origin):
    for method, target in (("POST", "/v1/jobs"), ("POST", "/v1/jobs/1:cancel"), ("DELETE", "/v1/jobs/1"), ("GET", "/v1/jobs")):
        answer = server.request(method, target, b'{"kind":"noop"}' if method == "POST" else None, headers={"Origin": origin})
        assert answer.status == 403 and answer.code == "cross_site"
    assert server.get("/v1/jobs").json["items"] == []


def test_the_servers_own_origin_is_fine(server):
    own = f"http://127.0.0.1:{server.port}"
    assert server.get("/v1/jobs", headers={"Origin": own}).status == 200
    assert server.post("/v1/queues/default:resume", headers={"Origin": own}).status == 200
    assert server.post("/v1/queues/default:resume", headers={"Sec-Fetch-Site": "same-origin"}).status == 200
    assert server.post("/v1/queues/default:resume", headers={"Sec-Fetch-Site": "cross-site"}).status == 403


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                                          "text/json", "application/jsonp", "application/json-seq", "", "text/plain;application/json"])
def test_content_types_that_a_form_can_send_are_refused(server, content_type):
    for target in ("/v1/jobs", "/v1/jobs:batch", "/v1/jobs/1:cancel", "/v1/jobs/1:retry", "/v1/queues/default:pause"):
        answer = server.request("POST", target, b'{"kind":"noop"}', headers={"Content-Type": content_type})
        assert answer.status == 415 and answer.code == "unsupported_media_type"
    assert server.get("/v1/jobs").json["items"] == []


def test_names_that_the_configuration_lists_are_answered(tmp_path):
    with Server(tmp_path, "--no-worker", config='hosts = ["jobs.example.com"]\n') as running:
        own = {"Host": "jobs.example.com", "Origin": "https://jobs.example.com"}
        assert running.post("/v1/queues/default:resume", headers=own).status == 200
        assert running.get("/v1/jobs", headers={"Host": "other.example.com"}).status == 421


def test_on_loopback_of_ipv6(tmp_path):
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            port = probe.getsockname()[1]
    except OSError:
        pytest.skip("no IPv6 here")
    process = subprocess.Popen([BINARY, "serve", "--no-worker", "--data-dir", str(tmp_path), "--listen", f"[::1]:{port}"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
                               preexec_fn=die_with_parent)

    def look():
        try:
            with socket.create_connection(("::1", port), timeout=5) as connection:
                connection.sendall(b"GET /livez HTTP/1.1\r\nHost: [::1]:7350\r\nConnection: close\r\n\r\n")
                return connection.recv(4096).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    try:
        eventually(look)
    finally:
        process.terminate()
        assert process.wait(20) == 0


def test_a_charset_does_not_matter(server):
    answer = server.request("POST", "/v1/queues/default:resume", headers={"Content-Type": "Application/JSON; charset=utf-8"})
    assert answer.status == 200


def test_no_preflight_succeeds(server):
    answer = server.request("OPTIONS", "/v1/jobs", headers={"Origin": f"http://127.0.0.1:{server.port}",
                                                           "Access-Control-Request-Method": "POST"})
    assert answer.status == 405 and not any(name.startswith("access-control") for name in answer.headers)


# --- the token -------------------------------------------------------------------------------------------------------


def test_without_the_token_only_health_and_the_description_are_answered(guarded):
    for target in ("/livez", "/readyz", "/openapi.json"):
        assert guarded.get(target).status == 200
    for method, target in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/v1/version"), ("GET", "/metrics"),
                           ("DELETE", "/v1/jobs/1"), ("GET", "/v1/workers"), ("POST", "/v1/queues/a:pause")):
        answer = guarded.request(method, target, b'{"kind":"noop"}' if method == "POST" else None)
        assert answer.status == 401 and answer.code == "unauthorised"
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("given", [TOKEN, "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x",
                                   f"Bearer {TOKEN.upper()}", "Bearer x", f"Bearer{TOKEN}"])
def test_a_wrong_token_is_refused(guarded, given):
    assert guarded.get("/v1/jobs", headers={"Authorization": given}).status == 401


def test_the_token_is_enough(guarded):
    assert guarded.get("/v1/jobs", headers={"Authorization": f"Bearer {TOKEN}"}).status == 200
    assert guarded.get("/v1/jobs", headers={"Authorization": f"bearer  {TOKEN} "}).status == 200
    assert TOKEN not in guarded.log.read_text()


# --- how it may be started -------------------------------------------------------------------------------------------


def run(*arguments: str, folder) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, "serve", "--data-dir", str(folder / "data"), *arguments], capture_output=True, text=True,
                          timeout=60, cwd=folder)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_off_loopback_without_a_token_it_does_not_start(tmp_path, listen):
    if listen.startswith("[") and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    done = run("--listen", listen, folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "--token-file" in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_off_loopback_with_a_token_it_answers_to_addresses_and_not_to_names(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    port = free_port()
    running = Server(tmp_path, "--no-worker", "--token-file", str(tmp_path / "token"), port=port)
    running.command = lambda: [BINARY, "serve", "--data-dir", str(tmp_path / "data"), "--listen", f"0.0.0.0:{port}",
                               "--no-worker", "--token-file", str(tmp_path / "token")]
    with running:
        for host, status in (("192.0.2.7:80", 401), ("[2001:db8::1]", 401), ("rebound.example", 421)):
            assert running.get("/v1/jobs", headers={"Host": host}).status == status


@pytest.mark.parametrize("text", ["", "\n", "short", "two words of a token here"])
def test_a_token_file_that_holds_no_token(tmp_path, text):
    (tmp_path / "token").write_text(text)
    done = run("--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "token"), folder=tmp_path)
    assert done.returncode == 2 and "token" in done.stderr and (not text.strip() or text not in done.stderr)
    missing = run("--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "none"), folder=tmp_path)
    assert missing.returncode == 2 and "token" in missing.stderr


@pytest.mark.parametrize(("listen", "code", "word"), [
    ("192.0.2.1:7350", 1, "192.0.2.1"), ("nonsense", 2, "listen"), ("127.0.0.1:70000", 2, "listen"),
    ("no.such.name.invalid:7350", 1, "no.such.name.invalid"), ("https://127.0.0.1:7350", 2, "listen"),
])
def test_addresses_that_cannot_be_listened_on(tmp_path, listen, code, word):
    done = run("--listen", listen, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert word in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_config_that_asks_for_tls_is_refused(tmp_path):
    (tmp_path / "deadman.toml").write_text('tls_cert = "/etc/cert.pem"\n')
    done = run("--config", "deadman.toml", folder=tmp_path)
    assert done.returncode == 2 and "tls_cert" in done.stderr


def test_a_port_that_is_taken(server, tmp_path):
    done = run("--listen", f"127.0.0.1:{server.port}", folder=tmp_path)
    assert done.returncode == 1 and "taken" in done.stderr and str(server.port) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert server.get("/livez").status == 200


# --- bytes that are not HTTP -----------------------------------------------------------------------------------------


def status_of(reply: bytes) -> int:
    assert reply.startswith(b"HTTP/1.1 "), reply[:100]
    return int(reply.split(b" ", 2)[1])


@pytest.mark.parametrize("sent", [
    b"\r\n\r\n", b"hello\r\n\r\n", b"GET\r\n\r\n", b"GET /livez\r\n\r\n", b"GET /livez HTTP/2.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" * 4,
    b"GET /livez HTTP/1.1\r\nHost localhost\r\n\r\n", b"get /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"BREW /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes(range(256)) * 8,
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 200_000 + b"\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n{}",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n{}",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n{}",
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nExpect: a miracle\r\nContent-Length: 2\r\n\r\n{}",
])
def test_broken_http_is_refused_or_cut_off_and_the_server_lives(server, sent):
    reply = server.raw(sent, timeout_s=2)
    assert not reply or 400 <= status_of(reply) < 600, reply[:200]
    assert server.get("/livez").status == 200


def test_a_missing_host_is_refused(server):
    assert status_of(server.raw(b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n")) == 400


def test_a_body_beyond_all_limits_is_refused_without_reading_it(server):
    head = (b"POST /v1/jobs:batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000000000\r\n\r\n")
    assert status_of(server.raw(head + b"x" * 1000)) == 413


def test_a_request_in_small_pieces_is_understood(server):
    body = b'{"kind":"noop","payload":[]}'
    request = (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
               b"Content-Length: %d\r\n\r\n" % len(body)) + body
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(0, len(request), 7):
            connection.sendall(request[i:i + 7])
            time.sleep(0.001)  # the pieces are to arrive one by one
        reply = b""
        while chunk := connection.recv(4096):
            reply += chunk
    assert status_of(reply) == 201


def test_pipelined_requests_are_answered_in_order(server):
    one = b"GET /v1/jobs/%d HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r%d\r\n\r\n"
    last = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: end\r\nConnection: close\r\n\r\n"
    reply = server.raw(b"".join(one % (10_000 + i, i) for i in range(8)) + last)
    places = [reply.find(b"urn:deadman:request:r%d\"" % i) for i in range(8)]
    assert -1 not in places and places == sorted(places), reply[:500]


def test_many_idle_and_half_open_connections_do_not_starve_the_others(server):
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    try:
        for i, connection in enumerate(held):
            if i % 2:
                connection.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        began = time.monotonic()
        assert server.get("/v1/jobs").status == 200
        assert time.monotonic() - began < 2
    finally:
        for connection in held:
            connection.close()


def test_a_client_that_leaves_before_the_answer_harms_nobody(server):
    for _ in range(50):
        connection = socket.create_connection(("127.0.0.1", server.port))
        connection.sendall(b"GET /v1/jobs?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    assert server.get("/livez").status == 200


def test_a_storm_of_requests_is_answered_or_refused_with_retry_after(server):
    statuses: list[int] = []

    def storm():
        for _ in range(20):
            answer = server.get("/v1/jobs?limit=1")
            assert answer.status == 200 or answer.headers["retry-after"]
            statuses.append(answer.status)

    threads = [threading.Thread(target=storm) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(statuses) == 320 and 200 in statuses
    eventually(lambda: server.get("/readyz").status == 200)
