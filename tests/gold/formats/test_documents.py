"""Documents as files: each has a name of its own on every file system, and keeps its text."""

import re

from hypothesis import given
from hypothesis import strategies as st

from assay.gold.formats.common.documents import file_names
from assay.gold.targets import path_problem

IDS = st.lists(st.text(st.sampled_from("aAb.-/_: é\n\\"), min_size=1, max_size=6), max_size=12, unique=True)
PATHS = st.lists(st.lists(st.sampled_from(["a", "A", "a.py", "b.c"]), min_size=1, max_size=3).map("/".join), max_size=8)


@given(IDS | PATHS.map(lambda paths: list(dict.fromkeys(paths))))
def test_names_are_safe_and_never_meet(ids):
    names = file_names(ids)
    assert list(names) == ids
    folded = [name.casefold() for name in names.values()]
    assert len(set(folded)) == len(folded)
    assert not any(other.startswith(f"{name}/") for name in folded for other in folded)
    for name in names.values():
        assert path_problem(name) is None
        assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", step) for step in name.split("/"))


def test_a_plain_path_keeps_its_name():
    assert file_names(["shop/price.py", "7", "a b", ".env", "a:1-2"]) == {
        "shop/price.py": "shop/price.py",
        "7": "7.txt",
        "a b": "a_b.txt",
        ".env": "env.txt",
        "a:1-2": "a_1-2.txt",
    }


def test_a_long_id_fits_a_file_system():
    names = file_names(["x" * 900 + "a", "x" * 900 + "b"])
    assert len(set(names.values())) == 2
    assert all(len(name) < 200 for name in names.values())
