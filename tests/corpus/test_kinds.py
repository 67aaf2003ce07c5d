from __future__ import annotations

import json
from importlib import resources
from typing import get_args

import pytest

from assay.corpus import parse_spec
from assay.corpus.sources import KINDS, CorpusKindInfo, kind_examples
from assay.types import CorpusKind


def test_kinds_are_those_of_the_shared_records_and_of_gold_files() -> None:
    assert set(KINDS) == set(get_args(CorpusKind))
    schema = json.loads((resources.files("assay.data") / "schemas" / "gold.schema.json").read_text())
    corpus = schema["$defs"]["corpus"]
    assert set(corpus["properties"]) == {key for kind in KINDS.values() for key in (kind.name, *kind.keys)}


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_kind_is_read_from_the_word_it_shows(kind: CorpusKindInfo) -> None:
    spec = parse_spec(kind.word)
    assert spec.kind == kind.name
    assert (spec.rev is not None) is kind.has_revision


def test_kinds_are_listed_for_a_hint() -> None:
    assert kind_examples() == "a directory, stdlib, git:URL@REV, pypi:NAME==VERSION or npm:NAME@VERSION"
