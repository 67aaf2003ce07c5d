"""The MCP engine against real servers over stdio, well-behaved ones."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import FilteringSession, MeasuredSession, TimedEngine, TimedSession, UpdatingSession, Wanted
from assay.errors import EngineError
from assay.types import Corpus, Hit
from tests.clocked import clocked
from tests.engines.mcp.conftest import engine_of, opened

PATTERN = r"^### (?P<path>\S+):(?P<start>\d+)-(?P<end>\d+) \(score (?P<score>[\d.]+)\)"


@pytest.fixture(scope="module")
def session(corpus: Corpus) -> Iterator[Any]:
    """A session with everything declared that a session can have."""
    with opened(
        corpus,
        arguments={"query": "{query}", "top_k": "{k}"},
        index=[{"tool": "index", "arguments": {"root": "{root}"}}],
        update={"tool": "index", "arguments": {"root": "again"}},
        path_filter={"include": ["{path}"]},
        language_filter={"language": "{language}"},
    ) as session:
        yield session


def heard(session: Any, wanted: Wanted | None = None, query: str = "q") -> list[Any]:
    """Ask what the server was given."""
    reply = session.search_filtered(query, 3, wanted or Wanted(), 10)
    return json.loads(reply.hits[-1].path)


def test_mcp_session_offers_all_that_the_harness_may_ask_for(session: Any) -> None:
    for protocol in (TimedSession, MeasuredSession, UpdatingSession, FilteringSession):
        assert isinstance(session, protocol)
    assert isinstance(engine_of(), TimedEngine)


def test_mcp_reads_structured_content(session: Any) -> None:
    reply = session.search_within("q", 2, 10)
    assert reply.hits == (Hit("json/encoder.py", 1, 2, 0.5), Hit("README.md", 1, 1, 0.25))
    assert reply.notes == ()


@pytest.mark.parametrize("query", ["{k}", "--help", "größe\n日本", "'\"\\", "x" * 2000, "\x00\x1b[0m"])
def test_mcp_passes_a_query_as_it_is_and_k_as_a_number(session: Any, query: str) -> None:
    assert heard(session, query=query)[:2] == [query, 3]


def test_mcp_filters_are_added_to_the_arguments(session: Any) -> None:
    assert session.filters == {"paths", "languages"}
    assert heard(session)[2:4] == [None, ""]
    assert heard(session, Wanted(("src/**", "*.md"), ("python",)))[2:4] == [["src/**", "*.md"], "python"]
    with pytest.raises(EngineError, match="takes one value, and there are 2"):
        heard(session, Wanted(languages=("python", "go")))


def test_mcp_indexes_on_open_and_updates_when_files_changed(session: Any, corpus: Corpus) -> None:
    assert heard(session)[4] == [str(corpus.root)]
    session.update_within(corpus, 10)
    assert heard(session)[4] == [str(corpus.root), "again"]


def test_mcp_usage_tells_start_memory_and_version(session: Any) -> None:
    usage = session.usage()
    assert 0.1 < usage.startup_seconds < 20
    assert usage.peak_bytes > 10_000_000
    assert (usage.version, usage.store_bytes) == ("toy 1.2.3", None)  # no template names the store


def test_mcp_reads_text_by_a_declared_pattern(corpus: Corpus) -> None:
    settings = {"tool": "text", "pattern": PATTERN, "nothing": "^No results"}
    with opened(corpus, **settings) as session:
        assert session.search("q", 3).hits == (Hit("json/encoder.py", 1, 2, 0.5, "README.md:1"),)
        assert session.search("nothing", 3).hits == ()


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"tool": "serch"}, "no tool 'serch'; did you mean 'search'", "behave, index, search"),
        ({"index": {"tool": "index", "arguments": {"root": "bad"}}}, "'index' failed: .*no such folder", "arguments"),
    ],
)
def test_mcp_that_cannot_be_opened_says_why_and_leaves_nothing(
    corpus: Corpus, settings: dict[str, Any], message: str, hint: str
) -> None:
    before = threading.active_count()
    with pytest.raises(EngineError, match=message) as caught:
        engine_of(**settings).open_within(corpus, 30)
    assert hint in str(caught.value.hint)
    assert threading.active_count() == before


def test_mcp_leaves_no_thread_and_no_store(corpus: Corpus) -> None:
    before = threading.active_count()
    with opened(corpus, arguments={"query": "{query} {store}"}) as session:
        store = json.loads(session.search("q", 3).hits[-1].path)[0].split()[1]
    assert threading.active_count() == before
    assert store.startswith("/")
    assert not Path(store).exists()


@clocked
def test_mcp_adds_little_to_the_time_of_a_query(session: Any) -> None:
    seconds = []
    for _ in range(20):
        begin = time.perf_counter()
        session.search("q", 2)
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.015  # a look that comes too late would cost 0.02 each
