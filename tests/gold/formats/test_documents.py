"""Documents as files: each has a name of its own on every file system, and keeps its text."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.gold.anchors import path_problem
from assay.trec import document_paths, find_document
from tests.gold.formats.files import write

IDS = st.lists(st.text(st.sampled_from("aAb.-/_: é\n\\"), min_size=1, max_size=6), max_size=12, unique=True)
PATHS = st.lists(st.lists(st.sampled_from(["a", "A", "a.py", "b.c"]), min_size=1, max_size=3).map("/".join), max_size=8)


@given(IDS | PATHS.map(lambda paths: list(dict.fromkeys(paths))))
def test_names_are_safe_and_never_meet(ids):
    names = document_paths(ids)
    assert list(names) == ids
    folded = [name.casefold() for name in names.values()]
    assert len(set(folded)) == len(folded)
    assert not any(other.startswith(f"{name}/") for name in folded for other in folded)
    for name in names.values():
        assert path_problem(name) is None
        assert all(re.fullmatch(r"[A-Za-z0-9_%][A-Za-z0-9_.%-]*", step) for step in name.split("/"))


@given(IDS | PATHS.map(lambda paths: list(dict.fromkeys(paths))))
def test_a_document_is_found_by_its_id(ids):
    names = document_paths(ids)
    assert {name: find_document(name, set(names.values())) for name in ids} == names


def test_an_id_that_can_be_a_path_is_one_and_others_are_encoded():
    assert document_paths(["shop/price.py", "D0", "FT911-3", "a b", ".env", "a:1-2", "x/ä", "100%", "v1."]) == {
        "shop/price.py": "shop/price.py",
        "D0": "D0",
        "FT911-3": "FT911-3",
        "a b": "a%20b",
        ".env": "%2Eenv",
        "a:1-2": "a%3A1-2",
        "x/ä": "x%2F%C3%A4",
        "100%": "100%25",
        "v1.": "v1%2E",
    }


def test_an_id_that_is_the_name_made_for_another_is_told_apart():
    made = document_paths(["A", "a"])["a"]
    names = document_paths(["A", "a", made])
    assert len({name.casefold() for name in names.values()}) == 3


ESCAPES = [
    "../../x",
    "../../x.py",
    "..",
    "/etc/x.py",
    "//x.py",
    "a/../../x.py",
    "C:\\x.py",
    "..\\..\\x.py",
    "~/x.py",
    "nul\0.py",
    "a\0/../../x.py",
    ".assayignore",
    ".git/config.x",
    "Case.py",
    "case.py",
    "CASE.PY",
    "dir.x/a.py",
    "dir.x",
    "x" * 300 + ".py",
    "x" * 300 + ".py2",
    "é" * 5000,
    "d/" * 3000 + "x.py",
    "line\nbreak.py",
    "\u202e.py",
    "-rf.py",
]


def test_no_document_is_written_outside_its_folder(tmp_path):
    entries = [{"_id": name, "text": f"text {number}"} for number, name in enumerate(ESCAPES)]
    source = tmp_path / "a" / "b" / "set"
    write(source, "corpus.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))
    write(source, "queries.jsonl", '{"_id": "1", "text": "which?"}\n')
    write(source, "qrels/test.tsv", "1\tCase.py\t1\n")
    before = set(tmp_path.rglob("*"))
    out = tmp_path / "a" / "b" / "out"
    assert main(["gold", "convert", str(source), str(out / "set.yaml"), "--to", "native"]) == 0
    new = set(tmp_path.rglob("*")) - before
    assert all(path.is_relative_to(out) for path in new)
    assert not list(tmp_path.rglob("*.git"))
    files = [path for path in (out / "documents").rglob("*") if path.is_file() and path.name != ".assayignore"]
    assert sorted(path.read_text() for path in files) == sorted(f"text {number}" for number in range(len(ESCAPES)))


def test_a_long_id_fits_a_file_system():
    names = document_paths(["x" * 900 + "a", "x" * 900 + "b"])
    assert len(set(names.values())) == 2
    assert all(len(name) < 200 for name in names.values())
