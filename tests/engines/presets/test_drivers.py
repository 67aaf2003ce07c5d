"""The small programs that presets run: they import nothing of Assay's, and read globs as everybody does."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from assay.engines.presets import load_preset

DRIVER = load_preset("semble").path.parent / "semble_lines.py"
FILES = ["a.py", "src/a.py", "src/deep/b.py", "src/deep/b.pyi", "tests/a.py", "srcs/a.py"]


def imported(path: Path) -> set[str]:
    """List the packages that a program imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return named | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_the_driver_imports_the_library_that_it_drives_and_nothing_else_that_is_not_python() -> None:
    assert imported(DRIVER) == {"__future__", "json", "re", "sys", "typing", "semble"}


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("src/**", ["src/a.py", "src/deep/b.py", "src/deep/b.pyi"]),
        ("**/*.py", ["a.py", "src/a.py", "src/deep/b.py", "tests/a.py", "srcs/a.py"]),
        ("src/*.py", ["src/a.py"]),
        ("*.py", ["a.py"]),
        ("src/deep/b.py?", ["src/deep/b.pyi"]),
        ("src.a.py", []),
        ("src/a.py", ["src/a.py"]),
    ],
)
def test_globs_become_the_files_they_match(glob: str, files: list[str]) -> None:
    match_globs = runpy.run_path(str(DRIVER))["match_globs"]
    assert match_globs([glob], FILES) == files


def test_several_globs_match_what_any_of_them_does() -> None:
    match_globs = runpy.run_path(str(DRIVER))["match_globs"]
    assert match_globs(["a.py", "tests/*"], FILES) == ["a.py", "tests/a.py"]
