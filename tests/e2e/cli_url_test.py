"""Goal: the same verbs, through a server: same output, same exit codes, and the API's own JSON.
Method: a server without a worker on a SQLite file; each verb by --url, compared with --store and with the API's answer."""

import json
import re
import subprocess
import urllib.request

import pytest

from cli_support import CONFLICT, JOB_FAILED, NOT_FOUND, OK, TIMED_OUT, UNAVAILABLE, USAGE, Cli

UNAUTHORISED = 5


class Served:
    def __init__(self, cli: Cli, *arguments: str) -> None:
        self.cli = cli
        self.log = (cli.folder / "serve.log").open("wb")
        self.process = cli.start("serve", "--store", cli.store, "--listen", "127.0.0.1:0", "--no-worker", *arguments,
                                 stdout=subprocess.PIPE, stderr=self.log)
        found = re.search(rb"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if not found:
            self.stop()
        assert found, "the server did not say where it listens: " + (cli.folder / "serve.log").read_text()
        self.url = found.group(0).decode()

    def run(self, *arguments: str, **options):
        return self.cli.run(*arguments, "--url", self.url, **options)

    def get(self, path: str):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.loads(answer.read())

    def stop(self) -> None:
        try:
            self.process.terminate()
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.log.close()


@pytest.fixture
def served(cli):
    server = Served(cli)
    yield server
    server.stop()


def test_verbs_through_a_server_say_what_they_say_of_a_store(served):
    payload = '{ "big": 18446744073709551615,  "d": 0.1000000000000000055 }'
    done = served.run("job", "enqueue", "a.b", payload, "--queue", "q", "--delay", "1h", "-o", "json")
    assert done.code == OK and "no live worker" in done.err, done
    job = done.json()["id"]
    by_url = served.run("job", "show", job, "-o", "json")
    by_store = served.cli.on_store("job", "show", job, "-o", "json")
    assert payload in by_url.out and by_url.out == by_store.out
    assert served.run("job", "show", job).out == served.cli.on_store("job", "show", job).out
    assert list(by_store.json().items()) == list(served.get(f"/v1/jobs/{job}").items())
    assert served.run("queue", "list", "-o", "json").json() == served.cli.on_store("queue", "list", "-o", "json").json() == served.get("/v1/queues")
    assert served.run("worker", "list", "-o", "json").json() == served.get("/v1/workers")
    listed = served.run("job", "list", "-o", "json").json()
    assert listed == served.get("/v1/jobs") == served.cli.on_store("job", "list", "-o", "json").json()


def test_exit_codes_are_the_same(served):
    job = served.run("job", "enqueue", "a.b", "-o", "json").json()["id"]
    assert served.run("job", "wait", job, "--timeout", "100ms").code == TIMED_OUT
    assert served.run("job", "retry", job).code == CONFLICT
    assert served.run("job", "delete", job).code == CONFLICT
    done = served.run("job", "cancel", job, "99999", "-o", "json")
    assert done.code == NOT_FOUND and [item["outcome"] for item in done.json()["items"]] == ["cancelled", None]
    assert served.run("job", "cancel", job).code == CONFLICT
    assert served.run("job", "wait", job).code == JOB_FAILED
    assert served.run("job", "show", "99999").code == NOT_FOUND
    assert served.run("job", "enqueue", "a b").code == USAGE
    assert served.run("job", "enqueue", "a.b", "{").code == USAGE
    assert served.run("queue", "pause", "q").code == OK
    assert served.run("job", "delete", job).code == OK
    assert served.run("job", "list", "-o", "jsonl").out == ""


def test_bulk_and_pages_go_through_a_server(served):
    lines = "".join(f'{{"kind":"a.b","payload":{n}}}\n' for n in range(2_500))
    for enqueued in (2_500, 0):
        done = served.run("job", "enqueue", "--bulk", "-", "--idempotency-prefix", "p", "-o", "json", stdin=lines)
        assert done.code == OK and done.json()["enqueued"] == enqueued, done
    listed = served.run("job", "list", "--all", "--created", "-1h", "-o", "jsonl").out.splitlines()
    assert sorted(json.loads(line)["payload"] for line in listed) == list(range(2_500))
    bad = served.run("job", "enqueue", "--bulk", "-", stdin='{"kind":"a.b"}\n{"kind":"a.b","payload":{}, "due":"x"}\n')
    assert bad.code == USAGE and "line 2:" in bad.err


def test_a_cursor_keeps_the_window_that_its_list_began_with(served):
    lines = "".join('{"kind":"a.b"}\n' for _ in range(5))
    served.run("job", "enqueue", "--bulk", "-", stdin=lines)
    for run in (served.run, served.cli.on_store):
        seen, cursor = [], []
        while True:
            page = run("job", "list", "--created", "-1h", "--limit", "2", "-o", "json", *cursor)
            assert page.code == OK, page
            seen += [job["id"] for job in page.json()["items"]]
            if not page.json()["has_more"]:
                break
            cursor = ["--cursor", page.json()["next_cursor"]]
        assert len(seen) == len(set(seen)) == 5


def test_without_the_token_it_is_5(cli):
    (cli.folder / "token").write_text("dm_correct-horse-battery-staple-0123456789\n")
    (cli.folder / "other").write_text("dm_wrong-horse-battery-staple-01234567890\n")
    server = Served(cli, "--token-file", "token")
    try:
        for verb in (["job", "list"], ["job", "enqueue", "a.b"], ["job", "cancel", "1"], ["queue", "list"]):
            assert server.run(*verb).code == UNAUTHORISED, verb
            assert server.run(*verb, "--token-file", "other").code == UNAUTHORISED, verb
        done = server.run("job", "list", "--token-file", "token")
        assert done.code == OK, done
        assert server.run("job", "list", environment={"DEADMAN_TOKEN_FILE": "token"}).code == OK
        assert server.run("job", "list", "--token-file", "nowhere").code == USAGE
    finally:
        server.stop()


def test_a_server_that_has_left_is_69(served):
    served.stop()
    done = served.run("job", "list")
    assert done.code == UNAVAILABLE and "deadman serve" in done.err, done


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "nonsense", "", "http://"])
def test_a_url_that_is_none_is_refused(cli, url):
    assert cli.run("job", "list", "--url", url).code == USAGE
