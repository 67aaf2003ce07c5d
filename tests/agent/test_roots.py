import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.agent.context import RootedPath, Roots
from assay.errors import ConfigError


@pytest.fixture
def tree(tmp_path):
    for name in ("served/src/a.py", "served/b.py", "outside/secret.py", "served-too/c.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")
    return tmp_path


def test_path_is_found_relative_and_absolute(tree):
    roots = Roots.of([str(tree / "served")])
    root = (tree / "served").resolve()
    for text in ("src/a.py", "./src/../src/a.py", "src//a.py", str(tree / "served" / "src" / "a.py")):
        assert roots.find(text) == RootedPath(root, "src/a.py")
    for whole in (None, "", ".", "src/..", str(root)):
        assert roots.find(whole) == RootedPath(root, "")


@pytest.mark.parametrize(
    "text",
    [
        "..",
        "../outside/secret.py",
        "src/../../outside",
        "/etc/passwd",
        "/",
        "b.py\0",
        "../served-too/c.py",
        "~/../../..",
    ],
)
def test_path_outside_is_refused(tree, text):
    with pytest.raises(ConfigError, match="outside the served directories") as caught:
        Roots.of([str(tree / "served")]).find(text)
    assert str((tree / "served").resolve()) in (caught.value.hint or "")


def test_folder_whose_name_begins_like_a_served_one_is_outside(tree):
    with pytest.raises(ConfigError, match="outside"):
        Roots.of([str(tree / "served")]).find(str(tree / "served-too" / "c.py"))


def test_links_that_lead_outside_are_refused(tree):
    served = tree / "served"
    os.symlink(tree / "outside" / "secret.py", served / "file.py")
    os.symlink(tree / "outside", served / "folder")
    os.symlink(served / "loop", served / "loop")
    os.symlink(served / "b.py", served / "src" / "inner.py")
    roots = Roots.of([str(served)])
    for text in ("file.py", "folder", "folder/secret.py", "folder/new.py"):
        with pytest.raises(ConfigError, match="outside"):
            roots.find(text)
    assert roots.find("src/inner.py").path == "b.py"
    assert not roots.contains(served / "folder" / "secret.py")


@given(st.lists(st.sampled_from(["..", ".", "src", "a.py", "folder", "", "outside", "x"]), max_size=8))
def test_whatever_is_found_lies_inside(tmp_path_factory, parts):
    base = tmp_path_factory.getbasetemp() / "roots-law"
    (base / "served" / "src").mkdir(parents=True, exist_ok=True)
    (base / "outside").mkdir(exist_ok=True)
    if not (base / "served" / "folder").is_symlink():
        os.symlink(base / "outside", base / "served" / "folder")
    try:
        found = Roots.of([str(base / "served")]).find("/".join(parts))
    except ConfigError:
        return
    assert found.real.resolve().is_relative_to((base / "served").resolve())


def test_several_folders_are_told_apart(tree):
    roots = Roots.of([str(tree / "served"), str(tree / "served-too"), str(tree / "served")])
    assert len(roots.directories) == 2
    assert roots.find("c.py").root == (tree / "served-too").resolve()
    with pytest.raises(ConfigError, match="several directories are served"):
        roots.find(None)
    (tree / "served" / "c.py").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="several served directories"):
        roots.find("c.py")


def test_innermost_folder_holds_a_path(tree):
    roots = Roots.of([str(tree), str(tree / "served")])
    assert roots.find(str(tree / "served" / "b.py")) == RootedPath((tree / "served").resolve(), "b.py")


def test_folder_that_is_not_there_is_refused(tree):
    with pytest.raises(ConfigError, match="no such directory"):
        Roots.of([str(tree / "none")])


def test_a_place_holds_what_is_below_it_alone(tree):
    place = RootedPath(tree, "src")
    assert [name for name in ("src", "src/a.py", "srcs/a.py", "b.py") if place.contains(name)] == ["src", "src/a.py"]
