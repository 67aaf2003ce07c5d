from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.corpus import sources
from assay.corpus.sources import CommandOutput, run_fetch_tool
from assay.errors import SetupError
from tests.processes import wait_until_gone


def _python(code: str, seconds: float = 30.0, cwd: Path | None = None) -> CommandOutput:
    return run_fetch_tool([sys.executable, "-c", code], tool="git", seconds=seconds, cwd=cwd, env={"X": "1"})


def test_tool_gives_both_streams_its_code_and_only_its_environment() -> None:
    done = _python("import os, sys; print(sorted(os.environ)); sys.stderr.write('error: no\\nbye\\n'); sys.exit(3)")
    assert (done.code, done.err, done.last_error_line) == (3, "error: no\nbye\n", "error: no")
    assert b"'X'" in done.out
    assert b"HOME" not in done.out


def test_tool_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    code = f"""
import pathlib, subprocess, time
child = subprocess.Popen(["sleep", "3600"])
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
time.sleep(3600)
"""
    seconds = 1.0
    while not (tmp_path / "pid").exists():  # on a busy machine the program may not have started its child yet
        with pytest.raises(SetupError, match=f"git did not finish within {seconds:g} s"):
            _python(code, seconds=seconds)
        seconds *= 2
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_tool_that_is_missing_says_how_to_get_it_but_a_missing_folder_is_no_missing_tool(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="git is not installed") as caught:
        run_fetch_tool([str(tmp_path / "nothing")], tool="git", seconds=5)
    assert "git-scm.com" in (caught.value.hint or "")
    with pytest.raises(SetupError, match="no directory .*gone"):
        _python("", cwd=tmp_path / "gone")


def test_tool_that_does_not_stop_printing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_STDOUT", 200_000)  # 200 MB take seconds to print
    with pytest.raises(SetupError, match="git printed more than 200,000 bytes"):
        _python("while True: print('x' * 1000)")
