"""octocode's variants over one index, with a program in its place that reads the same configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import SharedCache, sharing_engine
from assay.engines.calls import query_session
from assay.types import Corpus
from tests.waiting import WATCHDOG

OCTOCODE = """
import json, os, pathlib, sys, tomllib
config = tomllib.loads(pathlib.Path(os.environ["OCTOCODE_CONFIG_PATH"]).read_text())
home = pathlib.Path(os.environ["TOY_HOME"], pathlib.Path.cwd().as_posix().replace("/", "-"))
if sys.argv[1] == "index":
    assert pathlib.Path(".git").is_dir()
    with home.open("a") as log:
        log.write(config["embedding"]["code_model"] + "\\n")
else:
    assert home.exists(), "no index"
    weight = config["search"]["hybrid"]["default_vector_weight"]
    paths = ["README.md", "json/encoder.py"]
    paths = paths[::-1] if weight < 0.5 or not config["search"]["hybrid"]["enabled"] else paths
    print(json.dumps([{"path": path, "start_line": 1, "end_line": 1} for path in paths]))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called octocode, and the folder where it keeps indexes by the path of the code."""
    for name in ("bin", "home"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "octocode"
    program.write_text(f"#!{sys.executable} -I\n{OCTOCODE}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("TOY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_variants_of_the_search_share_one_index(home: Path, corpus: Corpus) -> None:
    hybrid = {"enabled": True, "default_vector_weight": 0.7, "default_keyword_weight": 0.3}
    changes: tuple[dict[str, object], ...] = (
        {"hybrid": {"enabled": False}},
        {"hybrid": hybrid},
        {"hybrid": {**hybrid, "default_vector_weight": 0.3, "default_keyword_weight": 0.7}},
        {"hybrid": hybrid, "reranker": {"enabled": False}},
    )
    shelf, first = SharedCache(corpus), []
    for search in changes:
        engine = make_engine({"preset": "octocode-variants", "config": {"edits": {"search": search}}})
        able = sharing_engine(engine)
        assert able is not None
        session = able.open_shared(corpus, shelf, WATCHDOG)
        first.append(query_session(session, "where", 10, WATCHDOG).hits[0].path)
        session.close()
    shelf.close()
    assert first == ["json/encoder.py", "README.md", "json/encoder.py", "README.md"]
    assert shelf.made["index"] == 1
    (log,) = home.iterdir()
    assert log.read_text() == "fastembed:jinaai/jina-embeddings-v2-base-code\n"
