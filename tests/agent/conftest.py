from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.agent.mcp_server import AgentServer
from assay.search import Index
from tests.agent.calling import serve
from tests.conftest import FILES, GOLD, write_tree


@dataclass(frozen=True)
class Served:
    """A folder that no test changes, its server and its index."""

    root: Path
    cache: Path
    server: AgentServer
    index: Index


@pytest.fixture(scope="session")
def served_for_the_session(tmp_path_factory) -> Served:
    place = tmp_path_factory.mktemp("served")
    root = write_tree(place / "repo", FILES | {"gold.yaml": GOLD})
    return Served(root, place / "cache", serve(root), Index.build(root))


@pytest.fixture
def served(served_for_the_session, monkeypatch) -> Served:
    """A served repository, as the current folder; tests that change files take `shop` instead."""
    monkeypatch.chdir(served_for_the_session.root)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(served_for_the_session.cache))
    return served_for_the_session
