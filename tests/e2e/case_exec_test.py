"""Cases C07, C22, C23 and C43 with real workers and real commands.
Goal: a pill is quarantined and its neighbours are not blamed; no output keeps a run from ending; process 1 of a container buries
what its jobs leave behind."""

import os
import shutil
import signal
import subprocess

import pytest
from cli_support import OK, WorkerProcess
from leftovers import die_with_parent
from server import eventually

CONFIG = r"""
[handlers."pill"]
type = "exec"
command = ["/bin/sh", "-c", "sleep 1; kill -9 $PPID"]

[handlers."noop"]
type = "exec"
command = ["/bin/true"]

[handlers."bytes"]
type = "exec"
command = ["/bin/sh", "-c", "printf 'a\\000b\\303(\\a\\377'; printf '\\000x\\200' >&2; exit $(cat)"]

[handlers."missing"]
type = "exec"
command = ["/no/such/command"]

[handlers."lost"]
type = "exec"
command = ["/bin/true"]
working_directory = "/no/such/folder"

[handlers."orphan"]
type = "exec"
command = ["/bin/sh", "-c", "setsid sleep 0.2 >/dev/null 2>&1 &"]
"""


@pytest.fixture(name="cases")
def with_handlers(cli):
    (cli.folder / "deadman.toml").write_text(CONFIG)
    return cli.migrate()


def state_of(cli, job: str) -> str:
    return cli.on_store("job", "show", job, "-o", "json").json()["state"]


def test_c07_a_pill_is_quarantined_and_its_neighbours_are_not_blamed(cases):
    pill = cases.enqueue("pill")
    harmless = [cases.enqueue("noop") for _ in range(20)]
    deaths = 0
    while state_of(cases, pill) != "failed":
        with WorkerProcess(cases, "--slots", "2", "--heartbeat", "200ms", "--sweep", "200ms") as worker:
            while worker.process.poll() is None and state_of(cases, pill) != "failed":
                pass
            deaths += worker.process.poll() == -9
    # Three alone; before that two where a heartbeat had named it as started, six where the machine was too busy for one.
    assert 3 <= deaths <= 9
    assert cases.on_store("job", "show", pill, "-o", "json").json()["reason"] == "quarantined"
    with WorkerProcess(cases):
        for job in harmless:
            assert cases.on_store("job", "wait", job, "--timeout", "30s").code == OK


def test_c22_c23_bad_commands_and_bad_bytes_end_like_any_other(cases):
    good = [cases.enqueue("noop") for _ in range(6)]
    bytes_good = cases.enqueue("bytes", "0")
    bad = [cases.enqueue(kind, payload, "--max-attempts", "1") for kind, payload in
           (("missing", "{}"), ("lost", "{}"), ("bytes", "3"), ("nobody.knows", "{}"))]
    with WorkerProcess(cases):
        for job in (*good, bytes_good):
            assert cases.on_store("job", "wait", job, "--timeout", "20s").code == OK
        for job in bad:
            cases.on_store("job", "wait", job, "--timeout", "20s")
    jobs = {job["id"]: job for job in cases.jobs()}
    assert [jobs[job]["state"] for job in bad] == ["failed"] * 4
    assert jobs[bad[3]]["reason"] == "unknown_kind"
    result = jobs[bytes_good]["result"]
    assert result["exit_code"] == 0 and "\ufffd" in result["stdout"] and "\0" not in result["stdout"]
    assert "exit code 3" in jobs[bad[2]]["message"]
    assert not any(run["outcome"] == "lapse" for job in bad for run in cases.on_store("job", "show", job, "-o", "json").json()["runs"])


@pytest.mark.skipif(not shutil.which("unshare") or os.geteuid() != 0, reason="needs a process namespace of its own")
def test_c43_process_one_buries_what_its_jobs_leave_behind(cases):
    for _ in range(30):
        cases.enqueue("orphan")
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", cases.binary, "worker", "--store", cases.store,
               "--lease", "2s"]
    with subprocess.Popen(command, cwd=cases.folder, env=cases.environment, stdout=subprocess.PIPE,
                          preexec_fn=die_with_parent) as worker:
        try:
            worker.stdout.readline()
            while any(job["state"] != "succeeded" for job in cases.jobs()):
                assert worker.poll() is None
            inner = subprocess.check_output(["ps", "-o", "pid=", "--ppid", str(worker.pid)], text=True).split()[0]

            def ended_children() -> list[str]:
                listed = subprocess.run(["ps", "-o", "stat=", "--ppid", inner], capture_output=True, text=True, check=False)
                return [state for state in listed.stdout.split() if state.startswith("Z")]

            # Nothing runs any more: an orphan that ends now is buried all the same.
            eventually(lambda: not ended_children(), 10, "that every orphan is buried")
            os.kill(int(inner), signal.SIGTERM)  # unshare itself ignores it
            assert worker.wait(30) == 0
        finally:
            worker.kill()
