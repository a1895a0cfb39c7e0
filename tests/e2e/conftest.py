import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import cli_support  # noqa: E402
import leftovers  # noqa: E402

TEMPORARY = pathlib.Path(tempfile.mkdtemp(prefix="deadman-e2e-"))


def pytest_configure():
    leftovers.adopt_orphans()
    # Of everything that the tests start. Others must reach their own folder in it, as Postgres does.
    TEMPORARY.chmod(0o711)
    os.environ["TMPDIR"] = str(TEMPORARY)


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """What lives longer than one test belongs to a fixture of its module, which exists before this one."""
    known = leftovers.living_children()
    yield
    left = leftovers.end_all_but(known | leftovers.of_the_module)
    assert not left, f"the test left processes behind: {left}"


def pytest_sessionfinish(session):
    processes = leftovers.end_all_but(set())
    files = sorted(path.name for path in TEMPORARY.iterdir())
    shutil.rmtree(TEMPORARY, ignore_errors=True)
    if processes or files:
        print(f"\nleft behind by the tests: processes {processes}, files {files}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def empty(tmp_path):
    """A command line whose store does not exist yet."""
    return cli_support.Cli(tmp_path)


@pytest.fixture
def cli(empty):
    return empty.migrate()
