"""One workspace and one finished run for all contracts; tests that change files use a copy."""

import shutil

import pytest

from tests.conftest import write_tree
from tests.contracts.calling import Workspace
from tests.contracts.inputs import WORKSPACE


@pytest.fixture(scope="session")
def workspace(tmp_path_factory) -> Workspace:
    """Two corpora, their gold sets, assay.toml, and the run in `results/`; read-only for tests."""
    base = tmp_path_factory.mktemp("contracts")
    (base / "home").mkdir()
    made = Workspace(write_tree(base / "work", WORKSPACE), base / "home")
    outcome = made.call("run", "--quiet")
    assert outcome.code == 0, outcome.err
    return made


@pytest.fixture(scope="session")
def finished_run(workspace):
    """The directory of the finished run."""
    return workspace.root / "results"


@pytest.fixture
def scratch(workspace, tmp_path) -> Workspace:
    """A copy of the workspace with its run, for tests that write; the cache is shared."""
    shutil.copytree(workspace.root, tmp_path / "work")
    return Workspace(tmp_path / "work", workspace.home)
