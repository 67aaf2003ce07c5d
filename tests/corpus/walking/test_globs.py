from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.conftest import Opener, paths, write


@pytest.mark.parametrize(
    ("include", "exclude", "kept"),
    [
        (("*.py",), (), ["a.py", "src/b.py", "src/x/c.py", "tests/d.py"]),
        (("src/*.py",), (), ["src/b.py"]),
        (("src/**/*.py",), (), ["src/b.py", "src/x/c.py"]),
        (("src",), ("x/",), ["src/b.py", "src/n.md"]),
        ((), ("tests/", "*.md"), ["a.py", "src/b.py", "src/x/c.py"]),
        ((), ("src/*", "!src/x/"), ["a.py", "src/x/c.py", "tests/d.py"]),
        (("./a.py",), (), ["a.py"]),
    ],
)  # fmt: skip
def test_walk_selects_by_globs(
    include: tuple[str, ...], exclude: tuple[str, ...], kept: list[str], tmp_path: Path, opened: Opener
) -> None:
    root = write(tmp_path / "r", dict.fromkeys(["a.py", "src/b.py", "src/x/c.py", "src/n.md", "tests/d.py"], "1"))
    assert paths(opened(root, include=include, exclude=exclude)) == kept
