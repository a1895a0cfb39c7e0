"""Goal: bad input of each kind gets one clear sentence and the promised exit code; nothing is stored, nothing crashes.
Method: each kind through the command line and through a line of a bulk file, on a SQLite file."""

import json
import sqlite3
import subprocess

import pytest

from cli_support import CONFLICT, ERROR, NOT_FOUND, OK, USAGE, Cli

DEEP = "[" * 10_000 + "]" * 10_000
LARGE = json.dumps("x" * (2 << 20))

# name: payload, what the message must say
PAYLOADS = {
    "broken": (b'{"x":1', "JSON"),
    "empty": (b"", "empty"),
    "trailing": (b'{} {}', "JSON"),
    "nul": (b'{"x":"a\x00b"}', "NUL"),
    "escaped nul": (b'{"x":"\\u0000"}', "NUL"),
    "lone surrogate": (b'{"x":"\\ud800"}', "JSON"),
    "surrogate as bytes": (b'{"x":"\xed\xa0\x80"}', "UTF-8"),
    "not utf-8": (b'{"x":"\xff\xfe"}', "UTF-8"),
    "deep": (DEEP.encode(), "deep"),
    "2 MB": (LARGE.encode(), "bytes"),
    "huge number": (b'{"e":1e400}', "number"),
    "twice": (b'{"dup":1,"dup":2}', "twice"),
    "nan": (b"NaN", "JSON"),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_bad_payload_is_refused(cli, name):
    payload, word = PAYLOADS[name]
    done = cli.on_store("job", "enqueue", "a.b", "-", stdin=payload)
    assert done.code == USAGE and word.lower() in done.err.lower(), done
    assert len(done.err) < 500
    assert cli.jobs() == []


@pytest.mark.parametrize("name", [name for name in PAYLOADS if name not in ("trailing", "empty")])
def test_a_bad_payload_in_a_bulk_line_is_refused_by_its_number(cli, name):
    payload, _ = PAYLOADS[name]
    done = cli.on_store("job", "enqueue", "--bulk", "-", stdin=b'{"kind":"a.b"}\n{"kind":"a.b","payload":' + payload + b"}\n")
    assert done.code == USAGE and "line 2:" in done.err, done
    assert len(cli.jobs()) == 1


@pytest.mark.parametrize("kind", ["", " ", "-a", "a b", "a/../\n", "é", "x" * 201, "<script>", "a\x1b[2J"])
def test_a_malformed_kind_is_refused(cli, kind):
    done = cli.run("job", "enqueue", "--store", cli.store, "--", kind)
    assert done.code == USAGE and "kind" in done.err and "\x1b" not in done.err, done
    assert cli.jobs() == []


@pytest.mark.parametrize("flags", [
    ["--delay", "-5s"], ["--delay", "NaN"], ["--delay", "nan s"], ["--delay", "inf"], ["--delay", "1e9d"], ["--delay", "9000000d"],
    ["--delay", "10"], ["--delay", ""], ["--delay", "1s2h"], ["--at", "the day after"], ["--at", "10000-01-01T00:00:00Z"],
    ["--at", "2026-02-30T00:00:00Z"], ["--delay", "1s", "--at", "tomorrow"], ["--timeout", "-1s"], ["--retry", "sometimes"],
    ["--retry", "fixed:-1s"], ["--retry", "exponential:1s:1h:nan"], ["--priority", "10"], ["--priority", "-1"], ["--priority", "high"],
    ["--max-attempts", "0"], ["--max-attempts", "99999999999999999999"], ["--queue", "a b"], ["--queue", ""],
    ["--unique-key", "x" * 201], ["--idempotency-key", "a\nb"], ["--idempotency-prefix", "p"],
])
def test_a_value_out_of_its_bounds_is_refused(cli, flags):
    done = cli.on_store("job", "enqueue", "a.b", "{}", *flags)
    assert done.code == USAGE and done.err.startswith("deadman: "), done
    assert cli.jobs() == []


@pytest.mark.parametrize("line, word", [
    ('["kind"]', "object"), ('"a.b"', "object"), ("{}", "kind"), ('{"kind":1}', "kind"), ('{"kind":"a.b","pritority":1}', "priority"),
    ('{"kind":"a.b","priority":1.5}', "priority"), ('{"kind":"a.b","priority":18446744073709551615}', "priority"),
    ('{"kind":"a.b","delay":5}', "delay"), ('{"kind":"a.b","delay":"-5s"}', "delay"), ('{"kind":"a.b","due":"tuesday"}', "due"),
    ('{"kind":"a.b","due":"12026-01-01T00:00:00Z"}', "due"), ('{"kind":"a.b","transactional":"yes"}', "transactional"),
    ('{"kind":"a.b","due":"2031-01-01T00:00:00Z","delay":"1s"}', "due"), ('{"kind":"a.b","kind":"c.d"}', "twice"), ("nonsense", "JSON"),
])
def test_a_bad_bulk_line_is_refused(cli, line, word):
    done = cli.on_store("job", "enqueue", "--bulk", "-", stdin=line)
    assert done.code == USAGE and "line 1:" in done.err and word in done.err, done
    assert cli.jobs() == []


def test_a_bulk_file_that_is_not_there_is_said(cli):
    assert cli.on_store("job", "enqueue", "--bulk", "nowhere.ndjson").code == NOT_FOUND
    assert cli.on_store("job", "enqueue").code == USAGE
    assert cli.on_store("job", "enqueue", "a.b", "--bulk", "-").code == USAGE


@pytest.mark.parametrize("url", ["", "jobs.db", "sqlite:", "mysql://h/d", "postgres:/typo:secret@h/d", "memory:", "sqlite:auto",
                                 "http://127.0.0.1:7350"])
def test_a_wrong_store_url_is_refused(empty: Cli, url):
    done = empty.run("job", "list", "--store", url)
    assert done.code == USAGE and "store" in done.err and "secret" not in done.err, done


def test_a_store_that_is_not_there_is_not_made_by_looking_at_it(empty: Cli):
    for verb in (["job", "list"], ["job", "enqueue", "a.b"], ["queue", "list"]):
        done = empty.on_store(*verb)
        assert done.code == NOT_FOUND and "deadman migrate" in done.err, done
    assert not (empty.folder / "jobs.db").exists()


def test_a_file_that_is_no_store_is_refused(empty: Cli):
    (empty.folder / "jobs.db").write_bytes(b"This is a text about something else. " * 200)
    for verb in (["migrate"], ["job", "list"], ["job", "enqueue", "a.b"]):
        done = empty.on_store(*verb)
        assert done.code in (USAGE, ERROR, CONFLICT) and done.err, done
    assert (empty.folder / "jobs.db").read_bytes().startswith(b"This is a text")
    assert empty.on_store("doctor").code == ERROR


@pytest.mark.parametrize("words", ["tuseday", "-2x", "2026-13-01", "monday..", "..", "", "2026-03-02..2026-03-01"])
def test_words_that_are_no_time_are_refused(cli, words):
    done = cli.on_store("job", "list", "--finished", words)
    if words in ("", "monday.."):
        assert done.code == OK  # no bound; from monday on
    else:
        assert done.code == USAGE and "--finished" in done.err, done


@pytest.mark.parametrize("arguments", [["--state", "faild"], ["--limit", "0"], ["--limit", "1001"], ["--limit", "x"], ["--cursor", "x"],
                                       ["--cursor", "1.2.3"], ["-o", "yaml"]])
def test_a_wrong_filter_is_refused(cli, arguments):
    assert cli.on_store("job", "list", *arguments).code == USAGE


@pytest.mark.parametrize("job", ["x", "-1", "0", "1.5", "99999999999999999999", "1; drop table job", ""])
def test_an_id_that_is_none_is_refused(cli, job):
    for verb in ("show", "cancel", "wait"):
        assert cli.run("job", verb, "--store", cli.store, "--", job).code == USAGE


@pytest.mark.parametrize("text, words", [
    ("solts = 4\n", ["deadman.toml:1", "solts"]),
    ("[worker]\nsolts = 4\n", ["deadman.toml:2", "solts", "did you mean 'slots'"]),
    ("[worker]\nslots = 0\n", ["deadman.toml:2", "slots", "1"]),
    ("[workr]\nslots = 4\n", ["deadman.toml:1", "workr", "worker"]),
    ("[worker\n", ["deadman.toml"]),
    ('[handlers."a.b"]\ntype = "exce"\n', ["a.b", "exec"]),
])
def test_a_configuration_with_a_typo_is_refused_where_it_counts(cli, text, words):
    (cli.folder / "deadman.toml").write_text(text)
    for verb in (["worker", "--store", cli.store], ["config", "show", "--origin"], ["migrate", "--store", cli.store]):
        done = cli.run(*verb)
        assert done.code == USAGE and all(word in done.err for word in words), (verb, done)
    assert cli.on_store("job", "list").code == OK  # needs no configuration
    doctor = cli.on_store("doctor")
    assert doctor.code == ERROR and words[0] in doctor.out, doctor


def test_a_wrong_variable_or_flag_is_named(cli):
    by_variable = cli.run("config", "show", environment={"DEADMAN_SLOTS": "many"})
    assert by_variable.code == USAGE and "DEADMAN_SLOTS" in by_variable.err
    by_flag = cli.on_store("worker", "--slots", "0")
    assert by_flag.code == USAGE and "--slots" in by_flag.err
    unsafe = cli.on_store("worker", "--lease", "2s", "--sweep", "2s")
    assert unsafe.code == USAGE, unsafe
    assert cli.run("worker", "--config", "nowhere.toml").code == NOT_FOUND


@pytest.mark.parametrize("verb", [["job", "list"], ["job", "enqueue", "a.b"], ["version"], ["config", "sample"], ["doctor"], ["queue", "list"]])
def test_output_that_cannot_be_written_is_an_error(cli, verb):
    where = [] if verb[0] in ("version", "config") else ["--store", cli.store]
    cli.enqueue("a.b")
    command = " ".join([cli.binary, *verb, *where])
    for redirection, why in ((">/dev/full", "No space left"), (">&-", "")):
        done = subprocess.run(["sh", "-c", f"{command} {redirection}"], env=cli.environment, cwd=cli.folder,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == ERROR and "could not be written" in done.stderr and why in done.stderr, (redirection, done)
    # A reader that has seen enough is no error.
    piped = subprocess.run(["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"], env=cli.environment, cwd=cli.folder,
                           capture_output=True, text=True, timeout=60)
    assert piped.returncode in (OK, 141) and "written" not in piped.stderr, piped


def test_with_all_streams_closed_nothing_is_written_into_the_store(cli):
    for _ in range(3):
        subprocess.run(["sh", "-c", f"{cli.binary} job enqueue a.b --store {cli.store} <&- >&- 2>&-"], env=cli.environment,
                       cwd=cli.folder, timeout=60)
    assert len(cli.jobs()) == 3
    assert cli.on_store("doctor").code == OK


@pytest.mark.parametrize("name", ["a b", "", "<script>", "x" * 201])
def test_a_queue_by_no_such_name_is_refused(cli, name):
    assert cli.on_store("queue", "pause", name).code == USAGE
    assert cli.on_store("queue", "resume", name).code == USAGE
    assert cli.on_store("queue", "list", "-o", "jsonl").out == ""


@pytest.mark.parametrize("verb", [["job", "list"], ["job", "enqueue", "a.b"], ["queue", "pause", "default"], ["migrate"], ["worker"]])
def test_a_store_of_a_newer_version_is_left_alone(cli, verb):
    with sqlite3.connect(cli.store.removeprefix("sqlite:")) as store:
        store.execute("insert into deadman_migration(version, name, applied_at) values (99, 'of_the_future', 0)")
    store.close()
    done = cli.on_store(*verb)
    assert done.code == CONFLICT and "newer build" in done.err, done
