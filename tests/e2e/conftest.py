import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import cli_support  # noqa: E402


@pytest.fixture
def empty(tmp_path):
    """A command line whose store does not exist yet."""
    return cli_support.Cli(tmp_path)


@pytest.fixture
def cli(empty):
    return empty.migrate()
