"""A program that stays is told by its request which part of the corpus is wanted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import SearchFilter
from assay.engines.calls import close_session, open_session, query_filtered, query_session
from assay.errors import ConfigError
from assay.types import Corpus
from tests.waiting import WATCHDOG

#: Says what it was asked, as paths.
ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = [f"{key}={value}" for key, value in sorted(asked.items()) if key not in ("id", "query")]
    print(json.dumps({"id": asked["id"], "results": [{"path": text} for text in said]}), flush=True)
"""
SETTINGS = {
    "kind": "command",
    "mode": "lines",
    "request": {"id": "{id}", "query": "{query}", "only": {"deep": 1}},
    "answer_id": "id",
    "path": "results[].path",
}


def asked(tmp_path: Path, corpus: Corpus, wanted: SearchFilter, **settings: object) -> list[str] | str | None:
    """Ask once; give the paths that came back, or the error."""
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    engine = make_engine({**SETTINGS, "argv": [sys.executable, "-I", str(script)], **settings})
    session = open_session(engine, corpus, WATCHDOG).session
    try:
        answer = (
            query_filtered(session, "q", 3, wanted, WATCHDOG)
            if wanted != SearchFilter()
            else query_session(session, "q", 3, WATCHDOG)
        )
        return None if answer is None else answer.error or [hit.path for hit in answer.hits]
    finally:
        close_session(session)


def test_filters_are_added_to_the_request_with_an_item_for_each_value(tmp_path: Path, corpus: Corpus) -> None:
    filters = {"path_filter": {"globs": ["{path}"]}, "language_filter": {"only": {"language": "{language}"}}}
    wanted = SearchFilter(("src/**", "a {k}"), ("python",))
    assert asked(tmp_path, corpus, wanted, **filters) == [
        "globs=['src/**', 'a {k}']",
        "only={'deep': 1, 'language': 'python'}",
    ]
    assert asked(tmp_path, corpus, SearchFilter(), **filters) == ["only={'deep': 1}"]


def test_a_filter_that_is_not_declared_cannot_be_asked_for(tmp_path: Path, corpus: Corpus) -> None:
    assert asked(tmp_path, corpus, SearchFilter((), ("go",)), path_filter={"globs": ["{path}"]}) is None


def test_a_filter_with_room_for_one_value_fails_at_two(tmp_path: Path, corpus: Corpus) -> None:
    error = asked(tmp_path, corpus, SearchFilter(("a", "b")), path_filter={"glob": "{path}"})
    assert "takes one value" in str(error)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"path_filter": ["--in", "{path}"]}, "expected a table"),
        ({"path_filter": {"globs": ["{pth}"]}}, "{pth}"),
        ({"path_filter": {"globs": ["all"]}}, "has no {path}"),
        ({"path_filter": {"in": "{path}"}, "request": "{id} {query}"}, "requires a table as `request`"),
        (
            {"mode": "once", "argv": "x {query}", "request": "", "answer_id": "", "path_filter": {"in": "{path}"}},
            "table",
        ),
    ],
)
def test_filters_of_the_wrong_shape_are_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_engine({**SETTINGS, "argv": "x", **changes})
    assert says in str(caught.value)
