from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.calls import open_session, query_session
from assay.errors import AssayError, ConfigError, EngineError
from assay.types import Corpus, Hit, Status
from tests.waiting import WATCHDOG

SOURCE = """
from pathlib import Path
from assay.types import Hit

def find(query, k, extra=None):
    return ["README.md:1-2", Path("a.py"), Hit("b.py")][:k]

def wrong(query, k):
    raise LookupError("no index")

def factory(suffix=".py"):
    return lambda query, k: [query + suffix]

class Engine:
    oversample = 2
    config = {"model": "tiny"}
    def __init__(self, name="x"):
        self.name = name
    def open(self, corpus):
        self.corpus = corpus
        return self
    def search(self, query, k):
        return [Hit(self.name + str(len(self.corpus.files)))]
    def close(self):
        pass
    def open_within(self, corpus, seconds):
        self.name = f"within {seconds:g}"
        return self.open(corpus)
    class Inner:
        @staticmethod
        def find(query, k):
            return ["inner.py"]

class Plain(Engine):
    open_within = None

def where(query, k):
    import os
    if query == "hang":
        import time
        time.sleep(3)
    return sorted(name for name in os.listdir() if name.endswith(".py"))[:k]

def query_only(query):
    return (f"{query}{number}.py" for number in range(50))

def with_model(query, model="bge", device="cpu"):
    return [f"{model}.py"] * 50

def engine_with_model(model="bge", device="cpu"):
    return lambda query: [f"{model}.{device}"]

def three(query, corpus, index):
    return []

ready = Plain("ready")
number = 3

def broken():
    raise OSError("disk")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    """A folder with a module of the user's."""
    (tmp_path / "users_engine.py").write_text(SOURCE)
    (tmp_path / "users_broken.py").write_text("raise RuntimeError('half installed')")
    before = list(sys.path)
    yield str(tmp_path)
    sys.path[:] = before
    sys.modules.pop("users_engine", None)


def asked(corpus: Corpus, folder: str, target: str, **settings: object) -> tuple[Hit, ...]:
    engine = make_engine({"kind": "python", "target": target, "folder": folder, **settings})
    return query_session(open_session(engine, corpus).session, "q", 3, WATCHDOG).hits


@pytest.mark.parametrize(
    ("target", "options", "hits"),
    [
        ("users_engine:find", {}, (Hit("README.md", 1, 2), Hit("a.py"), Hit("b.py"))),
        ("users_engine:factory", {}, (Hit("q.py"),)),
        ("users_engine:factory", {"suffix": ".rs"}, (Hit("q.rs"),)),
        ("users_engine:Plain", {"name": "n"}, (Hit("n3"),)),
        ("users_engine:ready", {}, (Hit("ready3"),)),
        ("users_engine:Engine.Inner.find", {}, (Hit("inner.py"),)),
        ("users_engine:query_only", {}, (Hit("q0.py"), Hit("q1.py"), Hit("q2.py"))),
        ("users_engine:with_model", {}, (Hit("bge.py"),) * 3),
        ("users_engine:engine_with_model", {}, (Hit("bge.cpu"),)),
    ],
)
def test_python_engine_takes_functions_factories_classes_and_engines(
    corpus: Corpus, folder: str, target: str, options: dict[str, object], hits: tuple[Hit, ...]
) -> None:
    assert asked(corpus, folder, target, options=options) == hits


def test_python_engine_shows_options_and_what_the_engine_declares(folder: str) -> None:
    engine = make_engine(
        {"kind": "python", "target": "users_engine:Engine", "folder": folder, "options": {"name": "n"}}
    )
    assert engine.oversample == 2
    assert engine.config["options"] == {"name": "n"}
    assert engine.config["engine"] == {"model": "tiny"}


def test_python_engine_oversample_can_be_set(folder: str) -> None:
    spec = {"kind": "python", "target": "users_engine:find", "folder": folder}
    engine = make_engine({**spec, "oversample": 4})
    assert (make_engine(spec).oversample, engine.oversample) == (1, 4)
    assert engine.config != make_engine(spec).config


def test_python_engine_hands_on_the_time_limit(corpus: Corpus, folder: str) -> None:
    engine = make_engine({"kind": "python", "target": "users_engine:Engine", "folder": folder})
    assert query_session(open_session(engine, corpus, 9.0).session, "q", 3, WATCHDOG).hits == (Hit("within 93"),)


def test_python_engine_looks_in_the_folder_where_assay_runs(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert make_engine("python:users_engine:find").config["target"] == "users_engine:find"


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("users_engine:nothing", ConfigError, "no attribute"),
        ("users_missing:find", ConfigError, "No module named"),
        ("users_engine:number", ConfigError, "is not callable"),
        ("users_broken:find", EngineError, "cannot import users_broken: RuntimeError: half installed"),
        ("users_engine:broken", EngineError, "OSError: disk"),
        ("users_engine:three", ConfigError, r"three\(query, corpus, index\) is not a search function"),
        ("users_engine", ConfigError, "target"),
    ],
)
def test_python_engine_says_what_is_wrong(folder: str, target: str, error: type[AssayError], message: str) -> None:
    with pytest.raises(error, match=message):
        make_engine({"kind": "python", "target": target, "folder": folder})


def test_python_engine_that_raises_is_an_error_of_that_query(corpus: Corpus, folder: str) -> None:
    engine = make_engine({"kind": "python", "target": "users_engine:wrong", "folder": folder})
    answer = query_session(open_session(engine, corpus).session, "q", 3, WATCHDOG)
    assert (answer.status, answer.error) == (Status.ERROR, "LookupError: no index")


def test_python_function_runs_in_the_corpus(corpus: Corpus, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    engine = make_engine({"kind": "python", "target": "users_engine:where", "folder": folder})
    session = open_session(engine, corpus).session
    (corpus.root / "only_here.py").touch()
    assert "only_here.py" in [hit.path for hit in query_session(session, "any", 99).hits]
    assert query_session(session, "hang", 3, timeout=0.05).status == Status.TIMEOUT
    assert Path.cwd() == Path(folder)
    session.close()
