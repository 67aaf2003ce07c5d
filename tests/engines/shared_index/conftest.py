from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.engines import make_engine
from assay.engines.base import FullEngine, SharedCache, SharingEngine, sharing_engine
from assay.engines.calls import QueryOutcome, close_session, open_session, query_session, session_notes
from assay.engines.normalize import Normalizer
from assay.types import Corpus, Hit
from tests.engines.conftest import CorpusOf
from tests.waiting import WATCHDOG

TOOL = [sys.executable, "-IS", str(Path(__file__).with_name("tool.py"))]
PLACES = ["{config}", "{root}", "{store}"]
TEMPLATE = """\
[embedding]
model = "small"  # shapes the index
cut = 100
pad = 0
[search]
weight = 0.5
spoil = false
"""
QUESTIONS = ("encode a float", "who reads")
Log = Callable[[], list[Any]]
Make = Callable[..., FullEngine]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    """What the tool was told each time that it made an index."""
    file = tmp_path / "log"
    file.touch()
    monkeypatch.setenv("TOOL_LOG", str(file))
    return lambda: [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def tool(tmp_path: Path, log: Log) -> Make:
    """Make the tool an engine, with these edits of its configuration and these settings."""
    (tmp_path / "tool.toml").write_text(TEMPLATE)

    def make(edits: dict[str, object] | None = None, **more: Any) -> FullEngine:
        own = {"index": [*TOOL, "index", *PLACES], "argv": [*TOOL, "search", *PLACES, "{query}", "{k}"]}
        config = {"template": "tool.toml", "edits": edits or {}}
        table = {"kind": "command", **own, "config": config, "index_keys": ["config.embedding"], **more}
        return make_engine({key: value for key, value in table.items() if value is not None}, directory=tmp_path)

    return make


@pytest.fixture
def code(corpus_of: CorpusOf) -> Corpus:
    """Three small files."""
    return corpus_of(
        {
            "json/encoder.py": "class Encoder:\n    def encode(self):\n        return 'float'\n",
            "json/decoder.py": "class Decoder:\n    def decode(self):\n        pass\n",
            "reads.py": "def who_reads():\n    'decode and encode'\n",
        }
    )


def shared(engine: FullEngine) -> SharingEngine:
    """Give what can share."""
    found = sharing_engine(engine)
    assert found is not None
    return found


def answers(
    engine: FullEngine, corpus: Corpus, shelf: SharedCache | None, k: int = 3
) -> tuple[list[QueryOutcome], tuple[str, ...]]:
    """Ask every question, on what others made or not, and give what there was to tell."""
    if shelf is None:
        session: Any = open_session(engine, corpus, WATCHDOG).session
    else:
        session = shared(engine).open_shared(corpus, shelf, WATCHDOG)
    found = [query_session(session, question, k, WATCHDOG) for question in QUESTIONS]
    assert close_session(session) is None
    return found, session_notes(session)


def hits(found: list[QueryOutcome], corpus: Corpus) -> list[tuple[Hit, ...]]:
    """Give the results as records have them."""
    normalize = Normalizer(corpus)
    assert not [answer.error for answer in found if answer.error]
    return [tuple(normalize(answer.hits, 3).hits) for answer in found]
