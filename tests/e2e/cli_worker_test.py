"""Goal: `deadman worker` runs jobs by the configuration's handlers, leaves as asked, and everything about it can be looked at.
Method: real worker processes on a SQLite file; commands are small scripts."""

import os
import pathlib
import signal
import subprocess
import tempfile

from cli_support import ERROR, INTERRUPTED, JOB_FAILED, OK, USAGE, WorkerProcess
from server import eventually

CONFIG = """
[handlers."copy"]
type = "exec"
command = ["/bin/sh", "-c", "cat > out.json"]

[handlers."fail"]
type = "exec"
command = ["/bin/sh", "-c", "printf 'went \\\\033[31mwrong' >&2; exit 65"]

[handlers."sleep"]
type = "exec"
command = ["/bin/sh", "-c", "echo > started; exec sleep 60"]
"""


def with_handlers(cli):
    (cli.folder / "deadman.toml").write_text(CONFIG)
    return cli


def test_a_worker_runs_jobs_and_leaves_with_zero(cli):
    with_handlers(cli)
    job, bad, unknown = (cli.enqueue(kind, '{"n":1}', "--max-attempts", "1") for kind in ("copy", "fail", "who.knows"))
    with WorkerProcess(cli, "--name", "w-1", "--slots", "2") as worker:
        assert "w-1 is ready" in worker.ready_line and "2 slots" in worker.ready_line
        assert cli.on_store("job", "wait", job, "--timeout", "20s").code == OK
        assert (cli.folder / "out.json").read_text() == '{"n":1}'
        assert cli.on_store("job", "wait", bad, "--timeout", "20s").code == JOB_FAILED
        assert cli.on_store("job", "wait", unknown, "--timeout", "20s").code == JOB_FAILED
        [session] = cli.on_store("worker", "list", "-o", "json").json()["items"]
        assert (session["name"], session["pid"], session["slots"], session["ended_at"]) == ("w-1", worker.process.pid, 2, None)
        assert session["kinds"] == ["copy", "fail", "sleep"]
        assert "live" in cli.on_store("worker", "list").out
        assert "warning" not in cli.on_store("job", "enqueue", "copy").err
        assert worker.terminate() == OK
    shown = cli.on_store("job", "show", bad)
    assert "failed" in shown.out and "wrong" in shown.out and "\x1b" not in shown.out
    assert cli.on_store("job", "show", unknown, "-o", "json").json()["reason"] == "unknown_kind"
    assert "live" not in cli.on_store("worker", "list").out


def test_a_second_signal_forces_and_the_job_goes_back(cli):
    with_handlers(cli)
    job = cli.enqueue("sleep")
    with WorkerProcess(cli, "--drain-grace", "1h") as worker:
        while not (cli.folder / "started").exists():
            assert worker.process.poll() is None
            cli.on_store("job", "show", job)
        running = cli.on_store("job", "show", job)
        assert "has held it for" in running.out, running
        worker.process.send_signal(signal.SIGTERM)
        while cli.on_store("worker", "list", "-o", "json").json()["items"][0]["ended_at"] is None and worker.process.poll() is None:
            worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(timeout=30) == OK
    assert cli.on_store("job", "show", job, "-o", "json").json()["state"] == "pending"
    assert cli.on_store("job", "show", job, "-o", "json").json()["attempts"] == 0


def test_a_cancelled_running_job_stops(cli):
    with_handlers(cli)
    job = cli.enqueue("sleep")
    with WorkerProcess(cli):
        while not (cli.folder / "started").exists():
            cli.on_store("job", "show", job)
        assert "asked to stop" in cli.on_store("job", "cancel", job).out
        assert cli.on_store("job", "wait", job, "--timeout", "20s").code == JOB_FAILED
    assert cli.on_store("job", "show", job, "-o", "json").json()["state"] == "cancelled"


def test_doctor_finds_a_sound_store_sound(cli):
    done = cli.on_store("doctor", "-o", "json")
    assert done.code == OK, done
    findings = {item["name"]: item for item in done.json()["items"]}
    assert "versions" in findings and "sqlite" in findings["versions"]["message"].lower()
    assert all(item["severity"] != "problem" for item in findings.values())
    missing = cli.run("doctor", "--store", "sqlite:nowhere.db")
    assert missing.code == ERROR and "nowhere.db" in missing.out


def test_config_show_tells_where_each_value_comes_from(cli):
    (cli.folder / "deadman.toml").write_text("[worker]\nslots = 3\nprefetch = 5\n")
    done = cli.run("config", "show", "--origin", "--slots", "9", "-o", "json", environment={"DEADMAN_LEASE": "16s"})
    values = {item["key"]: (item["value"], item["origin"], item["where"]) for item in done.json()["items"]}
    assert values["worker.slots"] == ("9", "flag", "--slots")
    assert values["worker.prefetch"][:2] == ("5", "file") and values["worker.prefetch"][2].endswith("deadman.toml:3")
    assert values["lease.lease"] == ('"16s"', "environment", "DEADMAN_LEASE")
    assert values["log_level"][1] == "default"
    text = cli.run("config", "show", "--origin").out
    assert "slots = 3  # file deadman.toml:2" in text
    secret = cli.run("config", "show", "--store", "postgresql://u:hunter2@h/d")
    assert "hunter2" not in secret.out and secret.code == OK


def test_the_sample_is_a_configuration_that_changes_nothing(cli):
    before = cli.run("config", "show").out
    (cli.folder / "deadman.toml").write_text(cli.run("config", "sample").out)
    assert cli.run("config", "show").out == before


def test_the_reference_is_the_one_in_the_documents(cli):
    document = pathlib.Path(__file__).resolve().parents[2] / "docs" / "CONFIGURATION.md"
    assert cli.run("config", "reference").out == document.read_text()


def test_a_configuration_with_several_mistakes_names_each(cli):
    (cli.folder / "deadman.toml").write_text('log_level = "loud"\n[worker]\nslot = 3\n')
    done = cli.run("config", "show")
    first, second = done.err.splitlines()
    assert done.code == USAGE and first.startswith("deadman: ") and "deadman.toml:1: log_level must be" in first
    assert second.startswith("deadman: ") and "deadman.toml:3: unknown key 'slot' in [worker]; did you mean 'slots'?" in second


def test_migrate_may_be_repeated(empty):
    first = empty.on_store("migrate", "-o", "json").json()
    assert first["from_version"] == 0 and first["to_version"] > 0
    again = empty.on_store("migrate", "-o", "json").json()
    assert again["from_version"] == again["to_version"] == first["to_version"]


def test_migrate_without_a_store_makes_the_default_one(empty):
    assert empty.run("migrate").code == OK
    assert (empty.folder / ".local/share/deadman/deadman.db").exists()


def test_version_names_the_libraries(cli):
    versions = cli.run("version", "-o", "json").json()
    assert versions["version"] and versions["commit"] and versions["sqlite"].startswith("3.")
    assert cli.run("version").out.startswith("deadman " + versions["version"])
    assert cli.run("--version").out.strip() == "deadman " + versions["version"]


def test_bench_counts_every_job_of_each_measurement(cli):
    done = cli.run("bench", "--jobs", "2000", "--batch", "300", "--store", "memory:", "--store", "sqlite:auto", "-o", "json",
                   environment={"TMPDIR": str(cli.folder)})
    assert done.code == OK, done
    results = done.json()["results"]
    assert [result["store"] for result in results] == ["memory:", "sqlite:auto"]
    assert all(result[key] > 0 for result in results for key in result if key != "store")
    assert not [name for name in os.listdir(cli.folder) if name.startswith("deadman-store")]
    assert cli.run("bench", "--jobs", "0").code == USAGE


def test_an_interrupted_chaos_run_leaves_nothing_behind(cli):
    scratch = tempfile.mkdtemp()  # where a Postgres server of another user finds its folder
    os.chmod(scratch, 0o711)
    cli.environment["TMPDIR"] = scratch
    for store, moment in (("postgres:auto", "deadman-postgres"), ("sqlite:auto", "deadman-chaos")):
        process = cli.start("chaos", "run", "--store", store, "--jobs", "100000", stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
        eventually(lambda: [name for name in os.listdir(scratch) if name.startswith(moment)], what=moment)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == INTERRUPTED
        assert os.listdir(scratch) == [], moment
    os.rmdir(scratch)
