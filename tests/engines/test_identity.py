"""The identity of an engine of ours follows all that decides its answers, and nothing else."""

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.engines import make_engine
from assay.types import Suite
from tests.waiting import WATCHDOG


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"query": "a", "hits": ["a.py:1-2"]}\n')
    return path


def made(kind, **settings):
    return make_engine({"kind": kind, **settings}, suite=Suite(()))


SHOW = """
import json, sys
from assay.engines import make_engine
from assay.types import Suite
engines = {kind: make_engine({"kind": kind}, suite=Suite(())) for kind in sys.argv[1:]}
steps = [step.digest for step in engines["builtin"].steps()]
print(json.dumps([{kind: engine.identity for kind, engine in engines.items()}, steps]))
"""
KINDS = ("builtin", "keywords", "oracle", "random")
PACKAGE = Path(assay.__file__).parent


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, whose code can be changed."""
    copied = tmp_path / "lib" / "assay"
    unfinished = shutil.ignore_patterns("*.pyc.*")  # another process may be compiling
    shutil.copytree(PACKAGE, copied, ignore=lambda place, names: {*unfinished(place, names), "data"})
    (copied / "data").symlink_to(PACKAGE / "data")
    return copied


def seen(copy):
    """Give the identities of engines, and what decides each step of the built-in one, as another process has them."""
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
    command = [sys.executable, "-c", SHOW, *KINDS]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=WATCHDOG, check=True)
    return json.loads(done.stdout)


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


def test_identity_is_the_same_until_code_changes_that_decides_an_answer(copy):
    engines = {kind: made(kind) for kind in KINDS}
    append(copy / "errors.py", "# decides no answer\n")
    (copy / "notes.py").write_text("# a module that nobody uses\n")
    (copy / "corpus" / "notes.txt").write_text("no code\n")
    first, steps = seen(copy)
    assert first == {kind: engine.identity for kind, engine in engines.items()}
    assert None not in first.values()
    for engine in engines.values():
        module = Path(str(inspect.getsourcefile(type(engine))))
        append(copy / module.relative_to(PACKAGE), "# changed\n")
    second, same = seen(copy)
    assert all(second[kind] != first[kind] for kind in KINDS)
    assert same[:3] == steps[:3]  # what the search keeps does not follow the code of engines
    append(next((copy / "syntax").rglob("*.scm")), "; all of them parse\n")
    third, others = seen(copy)
    assert all(third[kind] != second[kind] for kind in KINDS)
    assert others[2] != steps[2]


def test_identities_of_kinds_and_settings_differ(run_file):
    engines = [
        made("random"),
        made("random", seed=1),
        made("random", window=9),
        made("oracle"),
        made("keywords"),
        made("keywords", window=9),
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
