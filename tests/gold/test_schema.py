"""The reader and the JSON Schema for editors accept the same documents."""

import copy
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.build import GoldSource
from assay.gold.formats import native
from assay.gold.formats.native import read_native
from assay.types import FORMS
from tests.properties import examples

SCHEMA = json.loads((files("assay") / "data" / "schemas" / "gold.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

FULL: dict[str, Any] = {
    "assay": "1",
    "name": "small",
    "corpus": {"git": "https://x/y", "rev": "abc", "root": "src", "include": ["*.py"], "exclude": ["build"]},
    "provenance": {"author": "somebody"},
    "queries": [
        {
            "id": "one",
            "retrieval": {"primary": ["a.py::A.b", "b/c.py:1-2"], "secondary": ["d.py"]},
            "cognitive": {form: f"the {form} form" for form in FORMS},
            "interference": [{"target": "w.py", "relationship": "test", "strength": "weak", "confusion": "x"}],
            "rationale": {"owner": "A", "reason": "because", "boundary": "not B"},
            "evaluation": {"measures": ["RR@10", "nDCG(level=lines)@10", "TokensToHit"]},
            "tags": {"category": "semantic"},
        },
        {
            "id": "two",
            "retrieval": {"grades": {"3": ["a.py"], "1": ["b.py:1-2"], "0": ["c.py", "d.py::f"]}},
            "cognitive": {"human": "graded?"},
        },
    ],
}

VALUES: list[Any] = [
        "", " ", "x", "true", "false", "1", "2", "strong", "weak", "sibling", "sister", "RR@10", "RR@", "a b", "a/b.py",
        "/a.py", "../a.py", "a/../b.py", "a\\b.py", ".",
        "a.py:3-4", "a.py::f", "a.py::", "a.py::f g", "a.py:", "a/", "./a",
        [], {}, ["x"], [""], [[]], {"x": "y"}, {"": "y"}, {"x": ""}, {"x": []}, {"stdlib": "true"}, {"path": "."},
        {"stdlib": "no"}, {"pypi": "x==1"}, {"npm": "x@1", "path": "."}, {"stdlib": "true", "root": "x"},
]  # fmt: skip
KEYS = [*FORMS, *native.QUERY.known, *native.DOCUMENT.known, "root", "rev", "stdlib", "path", "extra", "2", "02"]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the way to every node of a document."""
    here = [path]
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return here + [deeper for key, child in entries for deeper in places(child, (*path, key))]


def changed(document: Any, path: tuple[Any, ...], change: str, value: Any) -> Any:
    """Give a copy with the node at a path deleted, replaced, or put under another key."""
    copied = copy.deepcopy(document)
    parent = copied
    for step in path[:-1]:
        parent = parent[step]
    if change == "delete":
        del parent[path[-1]]
    elif change == "rename" and isinstance(parent, dict):
        parent[value] = parent.pop(path[-1])
    elif change == "replace":
        parent[path[-1]] = copy.deepcopy(value)
    return copied


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the full document with two or three changes of shape."""
    document: dict[str, Any] = FULL
    for _ in range(draw(st.integers(2, 3))):
        below = places(document)[1:]
        if below:
            change = draw(st.sampled_from(["delete", "replace", "rename"]))
            value = draw(st.sampled_from(KEYS if change == "rename" else VALUES))
            document = changed(document, draw(st.sampled_from(below)), change, value)
    return document


def reader_accepts(document: Any) -> bool:
    """Tell whether the reader takes the document; what no schema can say (repeats) counts as accepted."""
    source = GoldSource(Path("drawn.yaml"), json.dumps(document))
    try:
        read_native(source)
    except GoldError as error:
        untold = ("twice", "overlaps target", "has no relevant target")  # the last: every grade is 0
        return any(words in error.message for words in untold)
    return True


#: Every way to change one node of the full document.
CHANGES: list[tuple[tuple[Any, ...], str, Any]] = [
    *((path, "delete", None) for path in places(FULL)[1:]),
    *((path, "replace", value) for path in places(FULL)[1:] for value in VALUES),
    *((path, "rename", key) for path in places(FULL)[1:] for key in KEYS),
]


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.nightly)])
def test_schema_and_reader_accept_the_same_single_changes(every):
    for path, change, value in CHANGES[::every]:
        document = changed(FULL, path, change, value)
        assert VALIDATOR.is_valid(document) == reader_accepts(document), (path, change, value)


@examples(200)
@given(documents())
def test_schema_and_reader_accept_the_same_documents(document):
    assert VALIDATOR.is_valid(document) == reader_accepts(document), document


def test_schema_is_a_schema_and_takes_the_full_document():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert list(VALIDATOR.iter_errors(FULL)) == []
    assert reader_accepts(FULL)


def test_schema_has_the_words_of_the_reader():
    query = SCHEMA["$defs"]["query"]["properties"]
    adversary = query["interference"]["items"]["properties"]
    assert adversary["relationship"]["enum"] == list(native.RELATIONSHIPS)
    assert adversary["strength"]["enum"] == list(native.STRENGTHS)
    assert list(query["cognitive"]["properties"]) == list(FORMS)
    assert set(query) == set(native.QUERY.known)
    assert set(SCHEMA["properties"]) == set(native.DOCUMENT.known)


def test_schema_takes_what_editors_type_implicitly():
    typed = copy.deepcopy(FULL)
    typed["assay"] = 1
    typed["corpus"] = {"stdlib": True}
    typed["queries"][0]["cognitive"]["keyword"] = False
    typed["queries"][0]["tags"]["version"] = 1.1
    assert VALIDATOR.is_valid(typed)
