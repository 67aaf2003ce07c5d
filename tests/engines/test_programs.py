from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from assay.engines.tool import UsageTracker, check_program, fill_command, parse_command, run_index_command
from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.processes.running import ProgramSpec
from tests.processes import HANG
from tests.waiting import WATCHDOG


def test_argv_is_split_as_a_shell_would() -> None:
    assert parse_command("tool 'a b' {k}", ("k",), "engine x", "argv") == ("tool", "a b", "{k}")
    assert parse_command(("tool", "a b"), (), "engine x", "argv") == ("tool", "a b")
    assert parse_command("find . -exec grep x {} ;", (), "engine x", "argv")[-1] == ";"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("tool 'a", "No closing quotation"),
        ("tool | head", "shell operator"),
        ("tool {qurey}", "argv: .*placeholder {qurey}"),
    ],
)
def test_argv_that_cannot_work_is_refused(template: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        parse_command(template, ("query",), "engine x", "argv")
    assert caught.value.message.startswith("engine x: argv")
    assert caught.value.hint


def test_task_runs_in_the_corpus_with_programs_from_the_users_folder(tmp_path: Path) -> None:
    placeholders = {"here": "/home/joe", "root": str(tmp_path), "store": "/s"}
    task = fill_command(("./bin/tool", "{root}"), placeholders, {"DB": "{store}/db"})
    assert (task.argv, task.cwd) == (("/home/joe/bin/tool", str(tmp_path)), tmp_path)
    assert (task.environment or {})["DB"] == "/s/db"
    assert fill_command(("tool",), placeholders, {}).argv == ("tool",)


def test_script_beside_the_configuration_is_run_from_there(tmp_path: Path) -> None:
    here, root = tmp_path / "here", tmp_path / "root"
    (here / "bin").mkdir(parents=True)
    root.mkdir()
    (here / "bin/tool.py").write_text("")
    command = (sys.executable, "bin/tool.py", "-", "{query}")
    values = {"here": str(here), "root": str(root), "query": "bin/tool.py"}
    assert fill_command(command, values, {}).argv == (sys.executable, str(here / "bin/tool.py"), "-", "bin/tool.py")
    (root / "bin").mkdir()
    (root / "bin/tool.py").write_text("")
    assert fill_command(command, values, {}).argv[1] == "bin/tool.py"
    with pytest.raises(EngineError, match="script other.py not found") as caught:
        check_program(fill_command((sys.executable, "other.py"), values, {}))
    assert "relative to assay.toml" in str(caught.value.hint)


def test_program_is_looked_for_on_the_path_that_it_gets(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    check_program(ProgramSpec(("tool",), tmp_path, {"PATH": str(tmp_path)}))
    for argv, hint in ((("tool",), "install tool"), ((f"{tmp_path}/none",), "check that the file exists")):
        with pytest.raises(EngineError, match="not found") as caught:
            check_program(ProgramSpec(argv, tmp_path, {"PATH": os.devnull}))
        assert hint in str(caught.value.hint)


def test_index_that_fails_or_hangs_is_told_and_what_it_said_is_kept(tmp_path: Path) -> None:
    witness = UsageTracker()
    failing = ProgramSpec(("sh", "-c", "echo no disk >&2; exit 3"), tmp_path, dict(os.environ))
    with pytest.raises(EngineError, match="indexing failed: sh ended with exit code 3: no disk"):
        run_index_command(failing, WATCHDOG, "indexing", witness.record_index_run)
    assert witness.stderr() == "[index]\nno disk"
    with pytest.raises(EngineTimeoutError, match=r"no answer after 0\.1 s"):
        run_index_command(
            ProgramSpec(("sleep", str(HANG)), tmp_path, dict(os.environ)), 0.1, "indexing", witness.record_index_run
        )
