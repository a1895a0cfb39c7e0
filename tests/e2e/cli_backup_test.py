"""Goal: one file is the store: a clean end leaves it so, `deadman backup` makes such a one of a store in use, and a file that is not
where it should be is named.
Method: the real binary on a SQLite file, with a worker on it where it matters."""

import shutil
import stat

from cli_support import CONFLICT, ERROR, NOT_FOUND, OK, USAGE, WorkerProcess
from server import eventually

CONFIG = """
[handlers."copy"]
type = "exec"
command = ["/bin/sh", "-c", "cat > out.json"]
"""


def files(cli, prefix):
    return sorted(path.name for path in cli.folder.iterdir() if path.is_file() and path.name.startswith(prefix))


def severity(cli, name):
    findings = cli.on_store("doctor", "-o", "json").json()
    findings = findings["items"] if isinstance(findings, dict) else findings
    return next((finding["severity"] for finding in findings if finding["name"] == name), None)


def test_a_verb_that_was_alone_leaves_all_in_the_one_file(cli):
    assert cli.on_store("migrate").code == OK
    assert "jobs.db-wal" not in files(cli, "jobs.db")
    job = cli.enqueue("copy", '{"n":1}')
    assert "jobs.db-wal" not in files(cli, "jobs.db")
    shutil.copy(cli.folder / "jobs.db", cli.folder / "copied.db")
    shown = cli.run("job", "show", job, "--store", f"sqlite:{cli.folder / 'copied.db'}", "-o", "json")
    assert shown.code == OK and shown.json()["state"] == "pending"


def test_a_backup_of_a_store_in_use_is_a_store(cli):
    (cli.folder / "deadman.toml").write_text(CONFIG)
    target = cli.folder / "copy.db"
    with WorkerProcess(cli, "--queue", "other"):
        jobs = {cli.enqueue("copy", f'{{"n":{n}}}') for n in range(3)}
        done = cli.on_store("backup", str(target), "-o", "json")
        assert done.code == OK, done.err
        assert done.json()["bytes"] == target.stat().st_size
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert files(cli, "copy.db") == ["copy.db"]
        again = cli.on_store("backup", str(target))
        assert again.code == CONFLICT and "overwrites nothing" in again.err
    cli.store = f"sqlite:{target}"
    assert {job["id"] for job in cli.jobs()} == jobs
    with WorkerProcess(cli):
        for job in jobs:
            assert cli.on_store("job", "wait", job, "--timeout", "20s").code == OK


def test_a_backup_says_what_it_does_not_copy(cli):
    target = str(cli.folder / "copy.db")
    nothing = cli.run("backup", "--store", f"sqlite:{cli.folder / 'nothing.db'}", target)
    assert nothing.code == NOT_FOUND and not files(cli, "nothing") and not files(cli, "copy")
    postgres = cli.run("backup", "--store", "postgresql://u:secret@127.0.0.1:1/x", target)
    assert postgres.code == USAGE and "pg_dump" in postgres.err and "secret" not in postgres.err
    assert cli.run("backup", "--store", "memory:", target).code == USAGE
    assert cli.on_store("backup").code == USAGE
    help_text = cli.run("backup", "--help")
    assert help_text.code == OK and "TARGET" in help_text.out


def test_a_file_that_was_moved_is_named_and_nothing_is_lost(cli):
    (cli.folder / "deadman.toml").write_text(CONFIG)
    job = cli.enqueue("copy", '{"n":1}', "--queue", "other")
    with WorkerProcess(cli):
        (cli.folder / "jobs.db").rename(cli.folder / "away.db")
        doctor = cli.on_store("doctor")
        assert doctor.code == ERROR and "its log is there" in doctor.out + doctor.err
        assert cli.on_store("job", "enqueue", "copy", "{}").code == CONFLICT
        assert cli.on_store("migrate").code == CONFLICT
        assert "jobs.db" not in files(cli, "jobs.db")
        (cli.folder / "away.db").rename(cli.folder / "jobs.db")
        mine = cli.enqueue("copy", '{"n":2}')
        eventually(lambda: cli.on_store("job", "wait", mine, "--timeout", "20s").code == OK)
    assert cli.on_store("job", "show", job).code == OK


def test_doctor_finds_a_process_on_another_file_of_the_same_name(cli):
    with WorkerProcess(cli):
        assert severity(cli, "file_in_place") == "ok"
        for suffix in ("-wal", "-shm", ""):
            (cli.folder / f"jobs.db{suffix}").rename(cli.folder / f"away.db{suffix}")
        cli.migrate()
        assert severity(cli, "file_moved") == "problem"
        for path in cli.folder.glob("jobs.db*"):
            if path.is_file():
                path.unlink()
        for suffix in ("-wal", "-shm", ""):
            (cli.folder / f"away.db{suffix}").rename(cli.folder / f"jobs.db{suffix}")
    assert severity(cli, "file_in_place") == "ok"
