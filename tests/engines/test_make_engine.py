from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from assay.engines import KINDS, as_engine, make_engine
from assay.engines.calls import open_session, query_session
from assay.engines.normalize import read_reply
from assay.errors import ConfigError
from assay.types import Corpus, CorpusSpec, GoldSet, Hit, Status, Suite

SUITE = Suite((GoldSet("g", CorpusSpec("stdlib"), ()),))


@pytest.mark.parametrize("spec", ["builtin", "builtin:span", "keywords", "random", "oracle"])
def test_make_engine_reads_short_forms(spec: str) -> None:
    engine = make_engine(spec, suite=SUITE)
    assert engine.config["kind"] == spec.partition(":")[0]
    assert engine.oversample == 1


def test_make_engine_refuses_an_unknown_kind_and_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'builtin'"):
        make_engine("bultin")


@pytest.mark.parametrize(
    ("spec", "near"),
    [
        ({"kind": "builtin", "pre": "span"}, "per"),
        ({"kind": "builtin", "search": {"lexcal": {}}}, "lexical"),
        ({"kind": "command", "argv": "x {query}", "timout": 3}, "timeout"),
        ({"kind": "random", "sed": 3}, "seed"),
        ({"kind": "keywords", "windw": 5}, "window"),
    ],
)
def test_make_engine_refuses_unknown_keys_and_names_the_closest(spec: dict[str, object], near: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{near}'"):
        make_engine(spec, suite=SUITE)


@pytest.mark.parametrize(
    "spec",
    [
        {"per": "file"},
        {"kind": "builtin", "per": "line"},
        {"kind": "builtin", "search": {"window": 10, "overlap": 10}},
        {"kind": "builtin", "search": {"k1": "1.2"}},
        {"kind": "builtin", "search": 3},
        {"kind": "random", "seed": True},
        {"kind": "random", "window": 0},
        {"kind": "keywords", "shortest": 0},
        {"kind": "oracle", "k": 3},
        {"kind": "command"},
        {"kind": "command", "argv": []},
        {"kind": "command", "argv": "tool"},
        {"kind": "command", "argv": "tool {qeury}"},
        {"kind": "command", "argv": "tool 'unbalanced {query}"},
        {"kind": "command", "argv": "tool {query}", "index": "tool index {query}"},
        {"kind": "command", "argv": ["tool", 3, "{query}"]},
        {"kind": "command", "argv": "tool {query}", "start": "results[].line"},
        {"kind": "command", "argv": "tool {query}", "path": "results[", "format": "json"},
        {"kind": "command", "argv": "tool {query}", "path": "path", "format": "text"},
        {"kind": "command", "argv": "tool {query}", "oversample": 0},
        {"kind": "command", "argv": "tool {query}", "timeout": 0},
        {"kind": "command", "argv": "tool {query}", "index_timeout": -1},
        {"kind": "command", "argv": "tool {query}", "ok_codes": 1},
        {"kind": "command", "argv": "tool {query} | head"},
        {"kind": "python", "target": "json:loads", "oversample": 0},
        {"kind": "python", "target": "json:loads", "options": 3},
        "builtin:",
        "random:3",
        "python:module",
        "nothing",
    ],
)
def test_make_engine_refuses_bad_settings_with_a_next_step(spec: str | dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        make_engine(spec, suite=SUITE)
    assert caught.value.hint or "expected" in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("kind", ["oracle", "runfile:x"])
def test_make_engine_needs_a_suite_where_answers_are_asked_for(kind: str) -> None:
    with pytest.raises(ConfigError, match="gold set"):
        make_engine(kind)


def test_make_engine_gives_random_the_seed_of_the_run() -> None:
    assert make_engine("random", seed=7).config["seed"] == 7
    assert make_engine({"kind": "random", "seed": 3}, seed=7).config["seed"] == 3


def test_engines_import_neither_numpy_nor_kinds_until_named() -> None:
    code = "import sys, assay.engines; print([m for m in sys.modules if m in ('numpy', 'yaml', 'assay.search')])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_as_engine_wraps_a_callable_of_any_result_shape(corpus: Corpus) -> None:
    def find(query: str, k: int) -> list[object]:
        shapes = ("README.md", "json/encoder.py:2-3", {"path": "a", "start": 1, "end": 2, "score": 0.5}, Hit("b"))
        return list(shapes[:k])

    session = as_engine(find).open(corpus)
    assert read_reply(session.search("x", 9)).hits == (
        Hit("README.md"),
        Hit("json/encoder.py", 2, 3),
        Hit("a", 1, 2, 0.5),
        Hit("b"),
    )


def test_as_engine_gives_engines_as_they_are_and_fills_in_what_they_leave_out(corpus: Corpus) -> None:
    class Bare:
        oversample = 3

        def open(self, corpus: Corpus) -> Bare:
            return self

        def search(self, query: str, k: int) -> Sequence[Hit]:
            return [Hit("README.md")] * k

        def close(self) -> None: ...

    full = as_engine(Bare())  # type: ignore[arg-type]  # leaves config out, as users do
    assert (full.oversample, full.notes) == (3, ())
    assert "Bare" in str(full.config["target"])
    assert as_engine(full) is full
    answer = query_session(open_session(full, corpus).session, "x", 2)
    assert (answer.status, answer.hits) == (Status.OK, (Hit("README.md"),) * 2)


def test_as_engine_refuses_an_engine_that_asks_for_nothing() -> None:
    class Greedless:
        oversample = 0

        def open(self, corpus: Corpus) -> None: ...

    with pytest.raises(ConfigError, match="oversample: expected at least 1, got 0"):
        as_engine(Greedless())  # type: ignore[arg-type]  # what is being tested


def test_describe_shows_every_kind_with_every_setting() -> None:
    assert list(KINDS) == sorted(KINDS)
    for kind in KINDS.values():
        settings = kind.describe_settings()
        assert kind.main is None or kind.main in {setting.name for setting in settings}
        for setting in settings:
            assert setting.about, f"{kind.name}.{setting.name} says nothing of itself"
            assert "\n" not in setting.about
            assert setting.type


def test_describe_writes_types_and_defaults_for_people() -> None:
    shown = {(page.name, s.name): (s.type, s.default) for page in KINDS.values() for s in page.describe_settings()}
    assert shown["command", "argv"] == ("a string or a list of strings", None)
    assert shown["command", "index"] == ("a string or a list of strings", "[]")
    assert shown["command", "ok_codes"] == ("a list of integers", "none")
    assert shown["command", "env"] == ("a table", "{}")
    assert shown["command", "format"] == ("one of auto, json, jsonl, text", '"auto"')
    assert shown["python", "oversample"] == ("an integer", "none")
    assert shown["builtin", "search.lexical.k1"] == ("a number", "1.2")
    assert ("builtin", "search") not in shown


def test_describe_names_what_make_engine_takes() -> None:
    for page in KINDS.values():
        with pytest.raises(ConfigError) as caught:
            make_engine({"kind": page.name, "no such": 1}, suite=SUITE)
        named = {setting.name.partition(".")[0] for setting in page.describe_settings()}
        assert caught.value.hint == f"settings: {', '.join(sorted(named)) or 'none'}"


def test_as_engine_refuses_classes_and_other_things() -> None:
    with pytest.raises(ConfigError, match="class"):
        as_engine(dict)
    with pytest.raises(ConfigError, match="expected an engine, got 3"):
        as_engine(3)  # type: ignore[arg-type]  # what is being tested
