"""What a test leaves behind: processes, and files in the folder for temporary ones."""

import ctypes
import os
import pathlib
import signal
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PATIENCE_S = 5.0

# Processes of a module's fixture that a test started anew; they end with the module.
of_the_module: set[int] = set()

_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """From now on a process whose parent ends is a child of this one, where it is seen."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """For preexec_fn: whatever ends the tests, kill -9 included, ends what they started. The system counts the thread
    that starts a process as its parent, so that must be one which outlives it."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _field(pid: int, name: str) -> str:
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name + ":")), "")


def _command(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def living_children() -> set[int]:
    """Those that have not ended; an ended one that nobody has waited for holds nothing."""
    pids: set[int] = set()
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            pids |= {int(pid) for pid in (task / "children").read_text().split()}
        except OSError:
            continue
    return {pid for pid in pids if _field(pid, "State")[:1] not in ("Z", "")}


def end_all_but(known: set[int], patience_s: float = PATIENCE_S) -> list[str]:
    """The commands of the others that are still there; they are killed. A guardian gets a moment to do its work."""
    deadline = time.monotonic() + patience_s
    while (left := living_children() - known) and time.monotonic() < deadline:
        time.sleep(0.02)
    commands = [f"{pid}: {_command(pid)}" for pid in sorted(left)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return commands
