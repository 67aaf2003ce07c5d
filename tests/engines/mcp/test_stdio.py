"""The MCP engine against real servers over stdio, well-behaved ones."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import (
    FilteringSession,
    MeasuredSession,
    SearchFilter,
    TimedEngine,
    TimedSession,
    UpdatingSession,
)
from assay.errors import EngineError
from assay.types import Corpus, Hit
from tests.engines.mcp.conftest import BARE, PACKAGE, engine_of, opened
from tests.waiting import WATCHDOG, wait_until

PATTERN = r"^### (?P<path>\S+):(?P<start>\d+)-(?P<end>\d+) \(score (?P<score>[\d.]+)\)"


@pytest.fixture(scope="module")
def session(corpus: Corpus) -> Iterator[Any]:
    """A server of the mcp package, with everything declared that a session can have."""
    with opened(
        corpus,
        command=PACKAGE,
        arguments={"query": "{query}", "top_k": "{k}"},
        index=[{"tool": "index", "arguments": {"root": "{root}"}}],
        update={"tool": "index", "arguments": {"root": "again"}},
        path_filter={"include": ["{path}"]},
        language_filter={"language": "{language}"},
    ) as session:
        yield session


def heard(session: Any, wanted: SearchFilter | None = None, query: str = "q") -> list[Any]:
    """Ask what the server was given."""
    reply = session.search_filtered(query, 3, wanted or SearchFilter(), WATCHDOG)
    return json.loads(reply.hits[-1].path)


def test_mcp_session_offers_all_that_the_harness_may_ask_for(session: Any) -> None:
    for protocol in (TimedSession, MeasuredSession, UpdatingSession, FilteringSession):
        assert isinstance(session, protocol)
    assert isinstance(engine_of(), TimedEngine)


def test_mcp_reads_structured_content(session: Any) -> None:
    reply = session.search_within("q", 2, WATCHDOG)
    assert reply.hits == (Hit("json/encoder.py", 1, 2, 0.5), Hit("README.md", 1, 1, 0.25))
    assert reply.notes == ()


@pytest.mark.parametrize("query", ["{k}", "--help", "größe\n日本", "'\"\\", "x" * 2000, "\x00\x1b[0m"])
def test_mcp_passes_a_query_as_it_is_and_k_as_a_number(session: Any, query: str) -> None:
    assert heard(session, query=query)[:2] == [query, 3]


def test_mcp_filters_are_added_to_the_arguments(session: Any) -> None:
    assert session.filters == {"paths", "languages"}
    assert heard(session)[2:4] == [None, ""]
    assert heard(session, SearchFilter(("src/**", "*.md"), ("python",)))[2:4] == [["src/**", "*.md"], "python"]
    with pytest.raises(EngineError, match="takes one value, got 2"):
        heard(session, SearchFilter(languages=("python", "go")))


def test_mcp_indexes_on_open_and_updates_when_files_changed(session: Any, corpus: Corpus) -> None:
    assert heard(session)[4] == [str(corpus.root)]
    session.update_within(corpus, WATCHDOG)
    assert heard(session)[4] == [str(corpus.root), "again"]


def test_mcp_usage_tells_start_memory_and_version(session: Any) -> None:
    if sys.platform == "linux":
        wait_until(lambda: (session.usage().peak_bytes or 0) > 10_000_000, "its memory to be seen")
    usage = session.usage()
    assert usage.startup_seconds > 0
    assert (usage.version, usage.store_bytes) == ("toy 1.2.3", None)  # no template names the store


def test_mcp_reads_text_by_a_declared_pattern(corpus: Corpus) -> None:
    settings = {"tool": "text", "pattern": PATTERN, "nothing": "^No results"}
    with opened(corpus, **settings) as session:
        assert session.search("q", 3).hits == (Hit("json/encoder.py", 1, 2, 0.5, "README.md:1"),)
        assert session.search("nothing", 3).hits == ()


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"tool": "serch"}, "no tool 'serch'", "did you mean 'search'? tools: behave, index, search"),
        ({"index": {"tool": "index", "arguments": {"root": "bad"}}}, "'index' failed: .*no such folder", "arguments"),
    ],
)
def test_mcp_that_cannot_be_opened_says_why_and_leaves_nothing(
    corpus: Corpus, settings: dict[str, Any], message: str, hint: str
) -> None:
    before = threading.active_count()
    with pytest.raises(EngineError, match=message) as caught:
        engine_of(**settings).open_within(corpus, WATCHDOG)
    assert hint in str(caught.value.hint)
    assert threading.active_count() == before


def test_mcp_leaves_no_thread_and_no_store(corpus: Corpus) -> None:
    before = threading.active_count()
    with opened(corpus, arguments={"query": "{query} {store}"}) as session:
        store = json.loads(session.search("q", 3).hits[-1].path)[0].split()[1]
    assert threading.active_count() == before
    assert store.startswith("/")
    assert not Path(store).exists()


@pytest.mark.soak
def test_mcp_adds_little_to_the_time_of_a_query(corpus: Corpus) -> None:
    def fastest(call: Callable[[], object]) -> float:
        seconds = []
        for _ in range(50):
            begin = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - begin)
        return min(seconds)

    request = {"method": "tools/call", "params": {"name": "search", "arguments": {"query": "q"}}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, **request}).encode() + b"\n"
    with subprocess.Popen(BARE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        stdin, stdout = program.stdin, program.stdout
        assert stdin is not None
        assert stdout is not None
        plain = fastest(lambda: (stdin.write(line), stdout.readline()))
        stdin.close()
    with opened(corpus) as session:
        mcp = fastest(lambda: session.search("q", 2))
    assert mcp / plain < 10  # a look that comes too late costs 20 ms
