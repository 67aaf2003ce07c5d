"""What several commands are tried on."""

import pytest

from tests.cli.changing import SMALL
from tests.conftest import enter, write_tree


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Ten files whose stems say nothing, so that only their words do; two of the queries are for others' eyes."""
    write_tree(tmp_path / "repo", SMALL)
    return enter(tmp_path, monkeypatch)
