"""Declared SQL statements, and commands that end their run in a transaction of their own.
Goal: what the sample and the README show works as it stands there; a statement under way can be stopped, and what the store does to it
is not the handler's failure.
Method: the shipped texts, copied; a real worker; Postgres and SQLite read by others than Deadman."""

import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time
import uuid

import pytest
from cli_support import OK, USAGE, Cli, WorkerProcess
from postgres_server import PostgresServer, binaries
from server import eventually

TOP = pathlib.Path(__file__).resolve().parents[2]
FIELDS = '{"to":"ada@example.com","n":12345678901234567890}'

SLOW = """
[handlers."slow"]
type = "sql"
statement = "insert into effect select :job_id from pg_sleep(600)"

[handlers."spin"]
type = "sql"
statement = "insert into effect with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r where n < 0"

[handlers."gated"]
type = "sql"
statement = "insert into effect select :job_id from pg_sleep(case when exists (select from gate) then 0 else 600 end)"

[handlers."fast"]
type = "sql"
statement = "insert into effect values (:job_id)"
"""


class SqliteSide:
    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.path = cli.folder / "jobs.db"

    def run(self, sql: str) -> list[list[str]]:
        with contextlib.closing(sqlite3.connect(self.path, timeout=20)) as connection, connection:
            return [[str(value) for value in row] for row in connection.execute(sql)]


class PostgresSide:
    """A database of its own, read with psql."""

    def __init__(self, cli: Cli, server: PostgresServer) -> None:
        self.cli = cli
        name = f"d{uuid.uuid4().hex}"
        self.url = server.url
        self.run(f"create database {name}")
        self.url = server.url.removesuffix("/postgres") + f"/{name}"
        cli.store = self.url

    def run(self, sql: str) -> list[list[str]]:
        done = subprocess.run([binaries() / "psql", self.url, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return [line.split("|") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module", autouse=True)  # before what ends each test's processes
def server():
    running = PostgresServer()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", "postgres"])
def side(request, empty):
    made = SqliteSide(empty) if request.param == "sqlite" else PostgresSide(empty, request.getfixturevalue("server"))
    empty.migrate()
    return made


@pytest.fixture
def postgres(empty, server):
    made = PostgresSide(empty, server)
    empty.migrate()
    made.run("create table effect(job bigint)")
    made.run("create table gate(open int)")
    (empty.folder / "deadman.toml").write_text(SLOW)
    return made


def shown(cli: Cli, job: str) -> dict:
    done = cli.on_store("job", "show", job, "-o", "json")
    assert done.code == OK, done.err
    return done.json()


def state(cli: Cli, job: str) -> str:
    return shown(cli, job)["state"]


def runs_of(cli: Cli, job: str) -> list[tuple[str, str]]:
    return [(run["outcome"], run.get("reason") or "") for run in shown(cli, job)["runs"]]


def worker(cli: Cli, *arguments: str) -> WorkerProcess:
    return WorkerProcess(cli, "--slots", "1", "--heartbeat", "200ms", "--sweep", "200ms", "--hint-heartbeat", "100ms",
                         "--hint-grace", "500ms", *arguments)


def sample_handler(kind: str) -> str:
    """As the shipped sample declares it, switched on."""
    text = (TOP / "docs/deadman.sample.toml").read_text()
    section = re.search(rf'^#\[handlers\."{re.escape(kind)}"\]\n(?:#.*\n)*', text, re.MULTILINE)
    assert section, f"the sample has no handler {kind}"
    return re.sub(r"^#(?=\[|[a-z_]+ =)", "", section.group(), flags=re.MULTILINE)


def test_the_statement_of_the_sample_gets_the_payload_and_the_id(side):
    side.run("create table mail(job bigint, body text)")
    (side.cli.folder / "deadman.toml").write_text(sample_handler("mail.archive"))
    job = side.cli.enqueue("mail.archive", FIELDS)
    with worker(side.cli):
        eventually(lambda: state(side.cli, job) == "succeeded", what="the job's success")
    assert side.run("select job, body from mail") == [[job, FIELDS]]


@pytest.mark.parametrize("parameter", ["$1", "?1", "?", "@payload", ":body"])
def test_a_parameter_that_nothing_is_bound_to_is_refused_before_the_first_job(side, parameter):
    (side.cli.folder / "deadman.toml").write_text(
        f'[handlers."mail"]\ntype = "sql"\nstatement = "insert into mail values ({parameter})"\n')
    done = side.cli.on_store("worker")
    assert done.code not in (0, None), done
    assert "[handlers.mail]" in done.err and parameter in done.err, done.err
    assert ":payload, :job_id, :fence, :attempt" in done.err, done.err


@pytest.mark.parametrize("kind", ["slow", "spin"])
def test_f5_a_statement_past_its_timeout_is_stopped_and_its_slot_is_free(postgres, kind):
    cli = postgres.cli
    job = cli.enqueue(kind, "--timeout", "1s", "--max-attempts", "1")
    next_one = cli.enqueue("fast")
    with worker(cli):
        eventually(lambda: state(cli, next_one) == "succeeded", what="the next job on the only slot")
        assert (state(cli, job), shown(cli, job)["reason"]) == ("failed", "timeout")
    assert postgres.run("select job from effect") == [[next_one]]


def test_f5_a_cancel_reaches_a_run_in_its_transaction(postgres):
    cli = postgres.cli
    job = cli.enqueue("slow")
    with worker(cli):
        wait_for_statement(postgres)
        told = cli.on_store("job", "cancel", job)
        assert "asked to stop" in told.err, told
        eventually(lambda: state(cli, job) == "cancelled", 10, "the cancelled state")
    assert postgres.run("select * from effect") == []


def test_f5_a_drain_ends_a_statement_that_goes_on(postgres):
    cli = postgres.cli
    job = cli.enqueue("slow")
    with worker(cli, "--drain-grace", "500ms") as running:
        wait_for_statement(postgres)
        began = time.monotonic()
        assert running.terminate() == 0
        assert time.monotonic() - began < 8
    assert state(cli, job) == "pending"
    assert shown(cli, job)["attempts"] == 0


def wait_for_statement(side: PostgresSide) -> str:
    """The process of the server that is in the handler's statement."""
    return eventually(lambda: side.run(
        "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"), what="the statement")[0][0]


def test_f6_a_server_that_drops_the_connection_spends_no_attempt(postgres):
    cli = postgres.cli
    job = cli.enqueue("gated", "--max-attempts", "1")
    with worker(cli):
        pid = wait_for_statement(postgres)
        postgres.run("insert into gate values (1)")
        postgres.run(f"select pg_terminate_backend({pid})")
        eventually(lambda: state(cli, job) == "succeeded", what="the job's success")
    assert runs_of(cli, job)[0] == ("release", "store_trouble")
    assert postgres.run("select job from effect") == [[job]]


def readme_example() -> tuple[str, str]:
    """The README's declaration and its script, as they stand there."""
    text = (TOP / "README.md").read_text()
    declaration = re.search(r"```toml\n(\[handlers\.charge\].*?)```", text, re.DOTALL).group(1)
    script = re.search(r"```sh\n(#!/bin/sh\n.*?)```", text, re.DOTALL).group(1)
    return declaration, script


@pytest.fixture
def charge(postgres):
    """The README's script, which a wrapper may keep from ending once it has committed."""
    cli = postgres.cli
    postgres.run("create table charges(order_id bigint)")
    declaration, script = readme_example()
    program = cli.folder / "charge"
    program.write_text(script)
    program.chmod(0o755)
    wrapper = cli.folder / "wrapper"
    wrapper.write_text(f'#!/bin/sh\n"{program}" || exit\n[ -e stay ] || exit 0\ntouch committed\nexec sleep 600\n')
    wrapper.chmod(0o755)
    (cli.folder / "deadman.toml").write_text(
        declaration.replace("/usr/local/bin/charge", str(wrapper)).replace("postgresql://localhost/app", postgres.url))
    cli.environment |= {"PATH": f"{binaries()}:{os.environ['PATH']}"}
    return postgres


def enqueue_charge(side: PostgresSide) -> str:
    return side.run("""select deadman.enqueue('charge', '{"order":17}', transactional => true)""")[0][0]


def test_f2_the_readmes_script_commits_its_effect_with_the_end_of_the_run(charge):
    with worker(charge.cli) as running:
        job = enqueue_charge(charge)
        eventually(lambda: state(charge.cli, job) == "succeeded", what="the job's success")
        running.terminate()
        assert troubles(running) == []
    assert charge.run("select order_id from charges") == [["17"]]


@pytest.mark.parametrize("victim", ["command", "worker"])
def test_f2_a_kill_between_the_commit_and_the_exit_changes_nothing(charge, victim):
    cli = charge.cli
    (cli.folder / "stay").touch()
    job = enqueue_charge(charge)
    with worker(cli) as running:
        eventually((cli.folder / "committed").exists, what="the commit")
        assert state(cli, job) == "succeeded"
        if victim == "worker":
            running.process.kill()
            running.process.wait(10)
        else:
            os.kill(command_of(running.process.pid), signal.SIGKILL)
            eventually(lambda: not commands_of(running.process.pid), what="the command's end")
            running.terminate()
            assert troubles(running) == []
    with worker(cli):
        probe = cli.on_store("job", "list", "--state", "pending,running,scheduled", "-o", "jsonl")
        assert probe.out == ""
    assert runs_of(cli, job) == [("succeeded", "")]
    assert charge.run("select order_id from charges") == [["17"]]


def troubles(running: WorkerProcess) -> list[str]:
    """What it logged above info, but for the grace that the first leader of a store gives."""
    running.log.seek(0)
    lines = running.log.read().decode().splitlines()
    return [line for line in lines if "Z info" not in line and "lease_grace_begins" not in line]


def commands_of(pid: int) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"deadman-guardian" not in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


def command_of(pid: int) -> int:
    (one,) = commands_of(pid)
    return one


def test_f2_a_job_that_is_not_transactional_is_told_so(charge):
    cli = charge.cli
    job = cli.enqueue("charge", '{"order":17}', "--max-attempts", "1")
    with worker(cli):
        eventually(lambda: state(cli, job) == "failed", what="the job's end")
    assert "was not enqueued as transactional" in shown(cli, job)["message"]
    assert charge.run("select order_id from charges") == []
