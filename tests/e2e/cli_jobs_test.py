"""Goal: each verb about jobs, queues and workers does what it says, prints the API's shape, and exits as promised.
Method: the binary on a SQLite file; what one verb did is read back by another."""

import datetime
import json
import os
import pty
import re
import select
import signal
import subprocess

import pytest

from cli_support import CONFLICT, INTERRUPTED, JOB_FAILED, NOT_FOUND, OK, TIMED_OUT, UNAVAILABLE, USAGE
from leftovers import die_with_parent


def test_an_enqueued_job_is_listed_and_shown_with_its_bytes(cli):
    payload = '{ "id": 1970670598291982290, "d":0.1000000000000000055, "u":18446744073709551615,\t"t":"\\u00e9\\n" }'
    done = cli.on_store("job", "enqueue", "mail.send", payload, "--queue", "mail", "--priority", "3",
                        "--max-attempts", "7", "--retry", "fixed:10s", "--timeout", "90s", "--transactional",
                        "--unique-key", "k 1", "-o", "json")
    assert done.code == OK and done.json()["is_new"] is True, done
    shown = cli.on_store("job", "show", done.json()["id"], "-o", "json")
    assert payload in shown.out
    job = shown.json()
    assert (job["kind"], job["queue"], job["priority"], job["max_attempts"], job["timeout"], job["transactional"],
            job["unique_key"], job["state"], job["runs"]) == \
        ("mail.send", "mail", 3, 7, "90s", True, "k 1", "pending", [])
    assert job["retry"].startswith("fixed:10s")
    assert [job["id"]] == [one["id"] for one in cli.jobs()]


def test_a_payload_of_several_lines_stays_one_line_in_jsonl(cli):
    cli.enqueue("a.b", '{\n  "x": "1\\n2"\n}')
    assert cli.on_store("job", "list", "-o", "jsonl").out.count("\n") == 1
    assert cli.jobs()[0]["payload"] == {"x": "1\n2"}


def test_a_payload_comes_from_standard_input(cli):
    assert cli.on_store("job", "enqueue", "a.b", "-", stdin='{"from":"stdin"}').code == OK
    assert cli.jobs()[0]["payload"] == {"from": "stdin"}


def test_due_times_and_delays_schedule_a_job(cli):
    by_delay = cli.enqueue("a.b", "--delay", "2h")
    by_time = cli.enqueue("a.b", "--at", "2031-05-06T07:08:09Z")
    jobs = {job["id"]: job for job in cli.jobs()}
    assert jobs[by_time]["due"] == "2031-05-06T07:08:09.000000Z"
    assert {jobs[by_delay]["state"], jobs[by_time]["state"]} == {"scheduled"}
    due, created = (datetime.datetime.fromisoformat(jobs[by_delay][key]) for key in ("due", "created_at"))
    assert due - created == datetime.timedelta(hours=2)


def test_keys_that_are_taken_answer_with_the_first_job(cli):
    first = cli.enqueue("a.b", "--unique-key", "u")
    again = cli.on_store("job", "enqueue", "a.b", "--unique-key", "u", "-o", "json").json()
    assert again["id"] == first and again["is_new"] is False
    keyed = cli.enqueue("a.b", '{"n":1}', "--idempotency-key", "i")
    assert cli.enqueue("a.b", '{"n":1}', "--idempotency-key", "i") == keyed
    reused = cli.on_store("job", "enqueue", "a.b", '{"n":2}', "--idempotency-key", "i")
    assert reused.code == CONFLICT and "i" in reused.err
    assert len(cli.jobs()) == 2


def test_a_kind_that_no_live_worker_announces_is_warned_of(cli):
    done = cli.on_store("job", "enqueue", "no.such.kind")
    assert done.code == OK and "no live worker has a handler for 'no.such.kind'" in done.err
    assert "warning" not in done.out


def test_filters_find_what_they_name(cli):
    a = cli.enqueue("a.one", "--queue", "left")
    b = cli.enqueue("b.two", "--queue", "right")
    cli.on_store("job", "cancel", a)
    assert [job["id"] for job in cli.jobs("--state", "cancelled")] == [a]
    assert [job["id"] for job in cli.jobs("--kind", "b.two")] == [b]
    assert [job["id"] for job in cli.jobs("--queue", "left")] == [a]
    assert [job["id"] for job in cli.jobs("--state", "pending,cancelled")] == [b, a] or \
        {job["id"] for job in cli.jobs("--state", "pending,cancelled")} == {a, b}


def test_the_words_of_the_example_find_what_finished_then(cli):
    job = cli.enqueue("a.b")
    cli.on_store("job", "cancel", job)
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%A").lower()
    for words in (today, "today", "-2h", datetime.date.today().isoformat(), f"yesterday..{today}"):
        assert [one["id"] for one in cli.jobs("--state", "cancelled", "--finished", words)] == [job], words
    assert cli.jobs("--finished", "yesterday") == []
    assert cli.jobs("--state", "failed", "--finished", today) == []


def test_pages_follow_each_other_without_gap_or_repeat(cli):
    lines = "".join(f'{{"kind":"a.b","payload":{n}}}\n' for n in range(25))
    assert cli.on_store("job", "enqueue", "--bulk", "-", stdin=lines).code == OK
    seen, cursor = [], []
    while True:
        page = cli.on_store("job", "list", "--limit", "10", "-o", "json", *cursor).json()
        seen += [job["payload"] for job in page["items"]]
        assert page["has_more"] is (page["next_cursor"] is not None)
        if not page["has_more"]:
            break
        cursor = ["--cursor", page["next_cursor"]]
    assert seen == list(range(24, -1, -1))
    assert [job["payload"] for job in cli.jobs()] == seen
    other = cli.on_store("job", "list", "--state", "failed", *cursor)
    assert other.code == USAGE and "cursor" in other.err


def test_changes_take_several_ids_and_one_failure_does_not_stop_the_others(cli):
    a, b = cli.enqueue("a.b"), cli.enqueue("a.b")
    done = cli.on_store("job", "cancel", a, "99999", b, "-o", "json")
    assert done.code == NOT_FOUND and "99999" in done.err
    items = {item["id"]: item["outcome"] for item in done.json()["items"]}
    assert items == {a: "cancelled", "99999": None, b: "cancelled"}
    assert cli.on_store("job", "cancel", a).code == CONFLICT
    assert cli.on_store("job", "retry", a).code == OK
    assert cli.on_store("job", "retry", a).code == CONFLICT
    assert cli.on_store("job", "delete", a).code == CONFLICT
    assert cli.on_store("job", "delete", b).code == OK
    assert cli.on_store("job", "show", b).code == NOT_FOUND
    assert [job["state"] for job in cli.jobs()] == ["pending"]


def test_wait_tells_by_its_exit_code(cli):
    job = cli.enqueue("a.b")
    late = cli.on_store("job", "wait", job, "--timeout", "200ms")
    assert late.code == TIMED_OUT and "pending" in late.err
    cli.on_store("job", "cancel", job)
    assert cli.on_store("job", "wait", job).code == JOB_FAILED
    assert cli.on_store("job", "wait", "99999").code == NOT_FOUND


def test_wait_ends_with_130_when_interrupted(cli):
    process = cli.start("job", "wait", cli.enqueue("a.b"), "--store", cli.store, stderr=subprocess.PIPE)
    wait_until_it_handles(process, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == INTERRUPTED
    process.stderr.close()


def wait_until_it_handles(process, number: int) -> None:
    """Until the signal is blocked by every thread, so that the one that waits for it gets it."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            blocked = int(re.search(r"^SigBlk:\s*(\w+)", status.read(), re.MULTILINE).group(1), 16)
        if blocked >> (number - 1) & 1:
            return
        select.select([], [], [], 0.01)


def test_a_paused_queue_says_so_and_resumes(cli):
    job = cli.enqueue("a.b", "--queue", "q")
    assert cli.on_store("queue", "pause", "q").code == OK
    [queue] = cli.on_store("queue", "list", "-o", "json").json()["items"]
    assert (queue["name"], queue["paused"], queue["pending"]) == ("q", True, 1)
    assert "paused" in cli.on_store("job", "show", job).out
    assert cli.on_store("queue", "resume", "q").code == OK
    assert cli.on_store("queue", "list", "-o", "json").json()["items"][0]["paused"] is False


def test_show_says_that_effects_may_repeat(cli):
    (cli.folder / "deadman.toml").write_text(
        '[handlers."run.it"]\ntype = "exec"\ncommand = ["/bin/true"]\n'
        '[handlers."call.it"]\ntype = "http"\nurl = "https://example.com/"\n')
    by_exec = cli.on_store("job", "show", cli.enqueue("run.it")).out
    assert "may repeat" in by_exec and "DEADMAN_FENCE" in by_exec and "DEADMAN_JOB_ID" in by_exec
    by_http = cli.on_store("job", "show", cli.enqueue("call.it")).out
    assert "may repeat" in by_http and "Idempotency-Key" in by_http and "fence" in by_http
    assert "may repeat" in cli.on_store("job", "show", cli.enqueue("who.knows")).out


def test_bulk_stops_at_the_first_wrong_line_and_names_it(cli):
    lines = "".join(f'{{"kind":"a.b","payload":{n}}}\n' for n in range(1500)) + '{"kind":"a.b","payload":tru}\n{"kind":"z"}\n'
    done = cli.on_store("job", "enqueue", "--bulk", "-", stdin=lines)
    assert done.code == USAGE and "line 1501:" in done.err, done
    assert len(cli.jobs()) == 1500


def test_bulk_names_the_line_that_the_store_refuses(cli):
    cli.enqueue("a.b", '{"n":1}', "--idempotency-key", "taken")
    lines = '{"kind":"a.b"}\n\n{"kind":"a.b","payload":{"n":2},"idempotency_key":"taken"}\n{"kind":"a.b"}\n'
    done = cli.on_store("job", "enqueue", "--bulk", "-", stdin=lines)
    assert done.code == CONFLICT and "line 3:" in done.err, done
    assert len(cli.jobs()) == 2


def test_bulk_takes_every_field(cli):
    line = {"kind": "a.b", "payload": [1, 2], "queue": "q", "priority": 9, "due": "2031-01-02T03:04:05Z",
            "max_attempts": 2, "retry": "linear:5s:1m:0", "timeout": "7s", "transactional": True,
            "unique_key": "u", "idempotency_key": "i"}
    file = cli.folder / "jobs.ndjson"
    file.write_text(json.dumps(line) + "\n")
    done = cli.on_store("job", "enqueue", "--bulk", str(file), "-o", "json")
    assert done.code == OK and done.json() == {"enqueued": 1, "existing": 0, "lines": 1}, done
    [job] = cli.jobs()
    assert (job["payload"], job["queue"], job["priority"], job["due"], job["max_attempts"], job["timeout"],
            job["transactional"], job["unique_key"]) == \
        ([1, 2], "q", 9, "2031-01-02T03:04:05.000000Z", 2, "7s", True, "u")


def test_bulk_given_again_with_its_prefix_enqueues_nothing_twice(cli):
    file = cli.folder / "jobs.ndjson"
    file.write_text("".join(f'{{"kind":"a.b","payload":{n}}}\n' for n in range(20_000)))
    arguments = ["job", "enqueue", "--bulk", str(file), "--store", cli.store, "--idempotency-prefix", "load-1"]
    process = cli.start(*arguments, "-o", "jsonl", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.readline()  # the first batch is in
    process.kill()
    process.wait()
    process.stdout.close()
    assert cli.run(*arguments).code == OK
    assert sorted(job["payload"] for job in cli.jobs()) == list(range(20_000))


def test_bulk_waiting_for_input_can_be_interrupted(cli):
    process = cli.start("job", "enqueue", "--bulk", "-", "--store", cli.store,
                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until_it_handles(process, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == INTERRUPTED
    assert b"interrupted" in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


def on_terminal(cli, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What a terminal would be sent."""
    master, slave = pty.openpty()
    process = cli.start(*arguments, stdin=slave, stdout=slave, stderr=slave) if environment is None else \
        subprocess.Popen([cli.binary, *arguments], cwd=cli.folder, env=cli.environment | environment,
                         stdin=slave, stdout=slave, stderr=slave, preexec_fn=die_with_parent)
    os.close(slave)
    sent = b""
    try:
        while block := os.read(master, 65536):
            sent += block
    except OSError:
        pass  # the other end is closed
    process.wait(timeout=30)
    os.close(master)
    return sent.decode()


def test_a_terminal_shows_local_times_and_a_pipe_utc(cli):
    job = cli.enqueue("a.b", "--at", "2031-05-06T07:08:09Z")
    text = on_terminal(cli, "job", "show", job, "--store", cli.store, environment={"TZ": "Asia/Tokyo"})
    assert "2031-05-06 16:08:09" in text
    assert "2031-05-06T07:08:09" in cli.on_store("job", "show", job, environment={"TZ": "Asia/Tokyo"}).out


def test_times_without_a_zone_are_local(cli):
    job = cli.on_store("job", "enqueue", "a.b", "--at", "2031-05-06T07:08", "-o", "json", environment={"TZ": "Asia/Tokyo"}).json()["id"]
    assert cli.on_store("job", "show", job, "-o", "json").json()["due"] == "2031-05-05T22:08:00.000000Z"


def test_bulk_shows_its_progress_on_a_terminal(cli):
    file = cli.folder / "jobs.ndjson"
    file.write_text("".join('{"kind":"a.b"}\n' for _ in range(5000)))
    assert "%" in on_terminal(cli, "job", "enqueue", "--bulk", str(file), "--store", cli.store)


HOSTILE = "\x1b]0;title\x07\x1b[31m\u009b2J\u202e<script>\u2028"


def test_a_table_obeys_nothing_that_a_job_says(cli):
    job = cli.enqueue("a.b", json.dumps({"t": HOSTILE}, ensure_ascii=False).replace("\x1b", "\\u001b"))
    for text in (cli.on_store("job", "show", job).out, on_terminal(cli, "job", "show", job, "--store", cli.store),
                 on_terminal(cli, "job", "show", job, "--store", cli.store, "-o", "json")):
        assert not set(text) & set("\x1b\x07\u009b\u202e\u2028"), repr(text)
    assert "\u009b2J" in cli.on_store("job", "show", job, "-o", "json").out  # a pipe gets the bytes


def test_nobody_there_is_69_and_says_how_to_start_one(cli):
    for arguments in (["job", "list"], ["job", "enqueue", "a.b"], ["queue", "list"], ["worker", "list"],
                      ["job", "wait", "1"], ["job", "cancel", "1"]):
        done = cli.run(*arguments, "--url", "http://127.0.0.1:1")
        assert done.code == UNAVAILABLE and "deadman serve" in done.err, (arguments, done)
        assert cli.run(*arguments, environment={"DEADMAN_URL": "http://127.0.0.1:1"}).code == UNAVAILABLE


@pytest.mark.parametrize("verb, meant", [(["jb"], "job"), (["job", "lsit"], "list"), (["queue", "puase"], "pause"),
                                         (["job", "list", "--sate", "failed"], "--state"),
                                         (["job", "enqueue", "a.b", "--dealy", "1s"], "--delay")])
def test_a_slip_of_the_fingers_gets_a_hint(cli, verb, meant):
    done = cli.run(*verb)
    assert done.code == USAGE and meant in done.err and "--help" in done.err, done


def test_help_is_no_error(cli):
    for verb in ([], ["job"], ["job", "enqueue"], ["worker"], ["bench"]):
        done = cli.run(*verb, "--help")
        assert done.code == OK and "Usage" in done.out or "OPTIONS" in done.out.upper(), (verb, done)


def test_the_configurations_limit_of_payloads_holds_for_a_store_as_well(cli):
    payload = json.dumps("x" * 2**20)
    assert cli.on_store("job", "enqueue", "a.b", "-", stdin=payload).code == USAGE
    (cli.folder / "deadman.toml").write_text('[limits]\nmax_payload = "2MiB"\n')
    assert cli.on_store("job", "enqueue", "a.b", "-", stdin=payload).code == OK
    assert cli.on_store("job", "enqueue", "--bulk", "-", stdin=f'{{"kind":"a.b","payload":{payload}}}\n').code == OK
    done = cli.on_store("job", "enqueue", "a.b", '"0123456789"', environment={"DEADMAN_MAX_PAYLOAD": "10B"})
    assert done.code == USAGE and "at most 10" in done.err, done
