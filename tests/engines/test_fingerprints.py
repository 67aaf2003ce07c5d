"""What can be seen of an engine: another program, file, variable or module is another fingerprint, a place is not."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.engines import KINDS, as_engine, make_engine
from assay.engines.base import sharing_engine
from assay.engines.command import CommandEngine
from assay.engines.fingerprints import ReadLimits, digest_file, fingerprint_inputs, python_files
from assay.experiment.cell_cache import engine_identity, timed_key
from assay.types import CorpusSpec, GoldSet, Suite


@pytest.fixture
def here(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "tool.py").write_text("print('a.py')\n")
    (folder / "tool").write_text("#!/bin/sh\necho a.py\n")
    (folder / "tool").chmod(0o755)
    (folder / "tool.toml").write_text("[search]\nweight = 0.5\n")
    return folder


def command(here, **more):
    return make_engine({"kind": "command", "argv": ["python3", "{here}/tool.py", "{query}"], **more}, directory=here)


def mcp(here, **more):
    pytest.importorskip("mcp")
    own = {"kind": "mcp", "command": ["python3", "{here}/tool.py"], "tool": "search"}
    return make_engine({**own, **more}, directory=here)


def http(here, **more):
    return make_engine({"kind": "http", "url": "http://127.0.0.1:9/?q={query}", **more}, directory=here)


@pytest.mark.parametrize("make", [command, mcp])
def test_another_script_under_the_same_name_is_seen(here, make):
    first = make(here).fingerprint
    assert first == make(here).fingerprint
    (here / "tool.py").write_text("print('b.py')\n")
    assert make(here).fingerprint != first


@pytest.mark.parametrize(
    "argv",
    [
        ["./tool", "{query}"],
        ["sh", "-c", '{here}/tool "$1" | head', "sh", "{query}"],
        ["env", "--chdir={here}", "{here}/tool", "{query}"],
        ["python3", "-c", "", "--run={here}/tool", "{query}"],
    ],
)
def test_a_program_is_seen_wherever_it_is_named(here, argv):
    first = command(here, argv=argv).fingerprint
    (here / "tool").write_text("#!/bin/sh\necho b.py\n")
    assert command(here, argv=argv).fingerprint != first


@pytest.mark.parametrize(
    "more",
    [
        {"index": ["{here}/tool", "{root}"]},
        {"version": ["{here}/tool"]},
        {"env": {"DRIVER": "{here}/tool"}},
        {"env": {"PATH": "{here}:{env:PATH}"}, "argv": ["tool", "{query}"]},
    ],
)
def test_every_command_and_the_environment_are_looked_at(here, more):
    first = command(here, **more).fingerprint
    (here / "tool").write_text("#!/bin/sh\necho b.py\n")
    assert command(here, **more).fingerprint != first


def test_code_in_a_folder_that_is_named_is_seen(here):
    (here / "lib").mkdir()
    (here / "lib" / "own.py").write_text("a = 1\n")
    engines = [command(here, env={"PYTHONPATH": "{here}/lib:/nowhere"}) for _ in range(2)]
    first = engines[0].fingerprint
    (here / "lib" / "own.py").write_text("a = 2\n")
    assert engines[1].fingerprint != first


@pytest.mark.parametrize(
    ("make", "more"),
    [
        (command, {"env": {"MODEL": "{env:SEEN}"}}),
        (command, {"argv": ["python3", "{here}/tool.py", "{env:SEEN}", "{query}"]}),
        (mcp, {"env": {"MODEL": "{env:SEEN}"}}),
        (http, {"headers": {"x-model": "{env:SEEN}"}}),
        (http, {"url": "{env:SEEN}/?q={query}"}),
        (http, {"token_env": "SEEN"}),
    ],
)
def test_values_of_variables_are_seen_and_not_shown(here, make, more, monkeypatch):
    monkeypatch.setenv("SEEN", "http://127.0.0.1:8")
    first = make(here, **more).fingerprint
    monkeypatch.setenv("SEEN", "http://127.0.0.1:9")
    second = make(here, **more).fingerprint
    assert first != second
    assert len(second) == 64
    monkeypatch.delenv("SEEN")
    assert fingerprint_inputs({"here": str(here)}, texts=["{env:SEEN}"])[-1] == "not set"


def test_settings_and_the_template_of_a_config_are_seen(here):
    own = {"argv": ["python3", "{here}/tool.py", "{config}", "{query}"], "config": {"template": "tool.toml"}}
    first = command(here, **own).fingerprint
    (here / "tool.toml").write_text("[search]\nweight = 0.6\n")
    assert command(here, **own).fingerprint != first
    assert command(here, timeout=1.0, env={"A": "1"}).fingerprint != command(here, env={"A": "2"}).fingerprint


def test_another_checkout_of_the_same_is_the_same(here, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["cp", "-r", here, other], check=True)
    assert command(here).fingerprint == command(other).fingerprint


def test_packages_beside_the_interpreter_of_a_launcher_are_seen(here):
    python = here / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (here / "tool").write_text(f"#!{python}\nimport own\n")
    packages = here / "venv" / "lib" / "python3.12" / "site-packages"
    (packages / "own-1.0.dist-info").mkdir(parents=True)
    first = command(here, argv=["./tool", "{query}"]).fingerprint
    (packages / "own-1.0.dist-info").rename(packages / "own-1.1.dist-info")
    assert command(here, argv=["./tool", "{query}"]).fingerprint != first


def test_what_is_missing_is_no_error(here):
    assert command(here, argv=["{python:no-such-tool}", "{query}"]).fingerprint
    assert command(here, argv=["no-such-tool", "{query}"]).fingerprint


def test_a_large_file_is_known_by_size_and_time(here):
    limits = ReadLimits(read_bytes=3)
    first = digest_file(str(here / "tool"), limits)
    os.utime(here / "tool", (1, 1))
    assert digest_file(str(here / "tool"), limits) != first
    assert digest_file(str(here / "no")) == ""


def test_a_folder_too_large_to_be_code_is_not_looked_through(here):
    assert [Path(path).name for path in python_files(str(here))] == ["tool.py"]
    assert python_files(str(here), ReadLimits(entries=1)) == []


def seen_module(folder, target, **more):
    """Ask another process, for a module is imported once."""
    code = "import sys; from assay.engines import make_engine; print(make_engine(eval(sys.argv[1])).fingerprint)"
    spec = {"kind": "python", "target": target, "folder": str(folder), **more}
    return subprocess.run([sys.executable, "-c", code, repr(spec)], capture_output=True, text=True, check=True).stdout


def test_python_code_and_what_it_imports_beside_it_are_seen(tmp_path):
    (tmp_path / "mine.py").write_text("import json, helper\ndef find(query, k): return helper.find(query)\n")
    (tmp_path / "helper.py").write_text("from far import away\ndef find(query): return []\n")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "__init__.py").write_text("from far import away\n")
    (tmp_path / "far" / "away.py").write_text("a = 1\n")
    (tmp_path / "stranger.py").write_text("a = 1\n")
    seen = [seen_module(tmp_path, "mine:find")]
    for name in ("far/away.py", "helper.py", "mine.py"):
        with (tmp_path / name).open("a") as file:
            file.write("b = 2\n")
        seen.append(seen_module(tmp_path, "mine:find"))
    assert len(set(seen)) == 4
    (tmp_path / "stranger.py").write_text("a = 2\n")
    assert seen_module(tmp_path, "mine:find") == seen[-1]


def test_a_file_that_an_option_names_is_seen(tmp_path):
    (tmp_path / "mine.py").write_text("def make(table): return lambda query, k: []\n")
    table = tmp_path / "table"
    table.write_text("1")
    first = seen_module(tmp_path, "mine:make", options={"table": str(table)})
    table.write_text("2")
    assert seen_module(tmp_path, "mine:make", options={"table": str(table)}) != first


def test_everything_that_becomes_an_engine_has_one(tmp_path):
    class Own:
        config = {"a": 1}

        def open(self, corpus):
            raise NotImplementedError

    class Declared(Own):
        fingerprint = "mine"

    (tmp_path / "run.jsonl").write_text('{"query": "a", "hits": ["a.py"]}\n')
    specs: dict[str, Any] = {
        "runfile": f"runfile:{tmp_path / 'run.jsonl'}",
        "command": "command:true {query}",
        "python": "python:os:walk",
    }
    specs |= {"http": "http:http://127.0.0.1:9/{query}", "mcp": {"kind": "mcp", "url": "http://h/mcp", "tool": "t"}}
    made = {kind: make_engine(specs.get(kind, kind), suite=Suite(())) for kind in KINDS}
    known = {kind: engine.fingerprint for kind, engine in made.items()}
    assert len(set(known.values())) == len(KINDS)
    assert all(known[kind] == made[kind].identity for kind in ("builtin", "keywords", "oracle", "random", "runfile"))
    assert as_engine(Own()).fingerprint != as_engine(lambda query, k: []).fingerprint
    assert as_engine(Declared()).fingerprint == "mine"
    assert make_engine("ripgrep-literal").fingerprint


def test_unfinished_and_timed_cells_of_another_tool_have_other_keys(here):
    before, table = command(here), {"kind": "command"}
    first, timed = engine_identity(before, table), _timed_key(before)
    (here / "tool.py").write_text("print('b.py')\n")
    after = command(here)
    assert dict(after.config) == dict(before.config)
    assert not first.known
    assert engine_identity(after, table).parts != first.parts
    assert _timed_key(after) != timed


def _timed_key(engine):
    gold = GoldSet("none", CorpusSpec("path", "."), ())
    snapshot: Any = SimpleNamespace(facts=SimpleNamespace(digest="c"), asked="a", own="o", gold=gold)
    return timed_key("tool", {"tool": engine}, snapshot, 10, {})


def test_looking_for_what_is_declared_computes_nothing(here):
    class Costly(CommandEngine):
        __slots__ = ()

        @property
        def fingerprint(self):
            raise AssertionError("asked for")

    inner = sharing_engine(command(here))
    assert isinstance(inner, CommandEngine)
    assert isinstance(as_engine(Costly(**{field.name: getattr(inner, field.name) for field in fields(inner)})), Costly)
