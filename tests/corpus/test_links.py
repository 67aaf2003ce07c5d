"""A file has one listed path, whatever symbolic links lead to it; nothing outside the corpus has one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus import open_corpus, parse_spec
from assay.corpus.opening import ListedPaths
from tests.properties import examples


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Files, links to files and folders, a link to a link, links that are broken, circular or lead outside."""
    (tmp_path / "outside.py").write_text("secret = 1\n")
    root = tmp_path / "repo"
    for folder in ("Kit", "Sources", "hidden"):
        (root / folder).mkdir(parents=True)
    (root / "Kit" / "a.py").write_text("a = 1\n")
    (root / "Kit" / "b.py").write_text("b = 1\n")
    (root / "hidden" / "c.py").write_text("c = 1\n")
    (root / ".assayignore").write_text("hidden/\n")
    links = {
        "Sources/a.py": "../Kit/a.py",
        "again.py": "Sources/a.py",
        "All": "Kit",
        "shown.py": "hidden/c.py",
        "out.py": "../outside.py",
        "up": "..",
        "loop.py": "loop.py",
        "gone.py": "nowhere.py",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("Kit/a.py", "Kit/a.py"),
        ("Sources/a.py", "Kit/a.py"),
        ("again.py", "Kit/a.py"),
        ("All/b.py", "Kit/b.py"),
        ("shown.py", "shown.py"),
        ("hidden/c.py", "shown.py"),
        *((path, None) for path in ("out.py", "up/outside.py", "../outside.py", "/etc/passwd", "loop.py", "gone.py")),
        *(
            (path, None)
            for path in ("a.py", "Kit", "All", "", ".", "Kit/a.py/x", "nul\0.py", "half\ud800.py", "x" * 9_999)
        ),
    ],
)
def test_listed_path(root: Path, path: str, listed: str | None) -> None:
    corpus = open_corpus(parse_spec(str(root)))
    assert ListedPaths(corpus).find(path) == listed


def test_listed_path_of_a_root_that_is_a_link(root: Path) -> None:
    (root.parent / "link").symlink_to("repo")
    corpus = open_corpus(parse_spec(str(root.parent / "link")))
    assert ListedPaths(corpus).find("Sources/a.py") == "Kit/a.py"


NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "l", "d/l", "d/e/l"])


@examples(80)
@given(files=st.sets(NAMES, min_size=1, max_size=4), links=st.dictionaries(NAMES, NAMES, max_size=4))
def test_law_of_links(tmp_path_factory: pytest.TempPathFactory, files: set[str], links: dict[str, str]) -> None:
    """Two paths have the same listed path if and only if they lead to the same file."""
    root = tmp_path_factory.mktemp("links")
    for name in sorted(files):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    for name, target in sorted(links.items()):
        if not os.path.lexists(root / name):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(os.path.relpath(root / target, (root / name).parent))
    paths = ListedPaths(open_corpus(parse_spec(str(root))))
    existing = [name for name in sorted({*files, *links}) if (root / name).is_file()]
    found = {name: paths.find(name) for name in existing}
    for name, listed in found.items():
        assert listed is not None
        assert os.path.samefile(root / name, root / listed)
        assert paths.find(listed) == listed
    for one in existing:
        for other in existing:
            assert (found[one] == found[other]) == os.path.samefile(root / one, root / other)
