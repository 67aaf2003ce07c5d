"""The identity of an engine of ours follows all that decides its answers, and nothing else."""

import pytest

from assay.artefacts import code_digest
from assay.engines import identity, make_engine
from assay.engines.keywords import engine as keywords
from assay.types import Suite


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"query": "a", "hits": ["a.py:1-2"]}\n')
    return path


def made(kind, **settings):
    return make_engine({"kind": kind, **settings}, suite=Suite(()))


@pytest.mark.parametrize("kind", ["random", "oracle", "keywords"])
def test_identity_is_the_same_until_the_code_changes(kind, monkeypatch):
    first = made(kind).identity
    assert first == made(kind).identity is not None
    monkeypatch.setattr(identity, "code_digest", lambda *_: "another code")
    assert made(kind).identity != first


def test_identities_of_kinds_and_settings_differ(run_file):
    engines = [
        made("random"),
        made("random", seed=1),
        made("random", window=9),
        made("oracle"),
        made("keywords", backend="python"),
        made("keywords", backend="python", window=9),
        made("runfile", path=str(run_file)),
        made("builtin"),
    ]
    assert len({engine.identity for engine in engines}) == len(engines)


def test_identity_of_a_run_file_is_what_is_in_it(run_file, tmp_path):
    first = made("runfile", path=str(run_file)).identity
    other = tmp_path / "other.jsonl"
    other.write_bytes(run_file.read_bytes())
    assert made("runfile", path=str(other)).identity == first
    other.write_text('{"query": "a", "hits": ["b.py:1-2"]}\n')
    assert made("runfile", path=str(other)).identity != first


def test_identity_of_keywords_follows_the_tool_that_counts(tmp_path, monkeypatch):
    tool = tmp_path / "rg"
    tool.write_text("one version")
    monkeypatch.setattr(keywords, "find_tool", lambda _: str(tool))
    first = made("keywords", backend="rg").identity
    assert first == made("keywords", backend="auto").identity
    tool.write_text("another version")
    assert made("keywords", backend="rg").identity != first != made("keywords", backend="python").identity


def test_code_digest_follows_names_and_contents(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.artefacts.code.resources.files", lambda _: tmp_path)
    (tmp_path / "room" / "inner").mkdir(parents=True)
    (tmp_path / "room" / "__pycache__").mkdir()
    digests = []

    def changed(path, text):
        (tmp_path / path).write_text(text)
        code_digest.cache_clear()
        digests.append(code_digest("room", "alone.py"))

    try:
        changed("alone.py", "a")
        changed("room/a.py", "a")
        changed("room/a.py", "b")
        changed("room/inner/a.py", "b")
        changed("room/queries.scm", "c")
        assert len(set(digests)) == 5
        changed("room/notes.txt", "no code")
        changed("room/__pycache__/a.py", "no code of ours")
        changed("beside.py", "not asked for")
        assert len(set(digests)) == 5
    finally:
        code_digest.cache_clear()
