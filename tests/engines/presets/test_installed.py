"""Whether a tool is here is known before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.presets import Preset, check_installed, check_needs, load_preset, tool_version
from assay.engines.tool import ProbeLimits
from assay.errors import EngineError
from tests.waiting import WATCHDOG

NEEDY = """\
[preset]
about = "a tool that is nowhere"
docs = "version 1.0"
install = "brew install nowhere-tool"
needs = ["nowhere-tool"]
variables = ["NOWHERE_URL"]
version = {{ argv = {argv} }}

[engine]
kind = "command"
argv = ["nowhere-tool", "{{query}}"]
"""


def preset(folder: Path, program: str = "print('nowhere 1.2.3-beta (2026)')") -> Preset:
    """A preset whose tool is a program of ours."""
    script = folder / "tool.py"
    script.write_text(program)
    path = folder / "needy.toml"
    path.write_text(NEEDY.format(argv=f'["{sys.executable}", "{{preset}}/tool.py"]').replace("{query}", "{query}"))
    return load_preset(str(path))


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the tool."""
    tool = folder / "bin" / "nowhere-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")


def test_a_missing_program_is_told_with_the_line_that_installs_it(tmp_path: Path) -> None:
    preset(tmp_path)
    with pytest.raises(EngineError, match="preset needy: program not found: nowhere-tool") as caught:
        make_engine(str(tmp_path / "needy.toml"))
    assert caught.value.hint == "install nowhere-tool: brew install nowhere-tool"
    assert caught.value.exit_code == 4


def test_a_program_that_the_user_names_need_not_be_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOWHERE_URL", "x")
    needy = preset(tmp_path)
    check_needs(needy, {"argv": ["/opt/nowhere-tool", "{query}"]})
    check_needs(needy, {"argv": "/opt/nowhere-tool {query}"})
    with pytest.raises(EngineError):
        check_needs(needy, {"argv": ["/opt/other", "{query}"]})


def test_a_variable_that_is_not_set_is_told_unless_the_user_sets_it_for_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needy = preset(tmp_path)
    put_on_path(tmp_path, monkeypatch)
    monkeypatch.delenv("NOWHERE_URL", raising=False)
    assert check_installed(needy).unset == ("NOWHERE_URL",)
    with pytest.raises(EngineError, match="NOWHERE_URL is not set"):
        check_needs(needy, {})
    check_needs(needy, {"env": {"NOWHERE_URL": "y"}})
    monkeypatch.setenv("NOWHERE_URL", "x")
    check_needs(needy, {})
    assert check_installed(needy).ready


@pytest.mark.parametrize(
    ("program", "version"),
    [
        ("print('nowhere 1.2.3-beta (2026)')", "1.2.3-beta"),
        ("import sys; print('v0.7', file=sys.stderr)", "0.7"),
        ("print('build of a Monday')", "build of a Monday"),
        ("raise SystemExit(3)", ""),
        ("import time; print('1.0', flush=True); time.sleep(1000)", ""),
    ],
)
def test_the_version_is_what_looks_like_one(tmp_path: Path, program: str, version: str) -> None:
    limits = ProbeLimits(seconds=0.1 if "sleep" in program else WATCHDOG)
    assert tool_version(preset(tmp_path, program), limits) == version
