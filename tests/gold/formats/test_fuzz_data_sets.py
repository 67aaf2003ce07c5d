"""Broken data sets: every query is asked or told, or there is an error with file and line; never anything else."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.build import GoldSource, read_source
from assay.gold.formats.beir_trec import read_beir_directory, read_trec
from assay.gold.load import find_format
from assay.types import CorpusSpec, GoldSet
from tests.gold.formats import test_beir, test_trec
from tests.gold.formats.breaking import VALUES, broken, places, refused, replaced
from tests.gold.formats.data_sets import DATA_SETS, lines
from tests.properties import examples

#: The formats that only name their repositories need to be told where they are.
CORPORA = {"repoeval": CorpusSpec("path", "repos"), "crosscodeeval": CorpusSpec("path", "repos")}
JSON_SETS = [name for name in DATA_SETS if name != "codesearchnet"]


def attempt(kind: str, text: str) -> list[GoldSet] | None:
    """Read a text; an error must say where it is."""
    path, found = Path(DATA_SETS[kind][0]), list[GoldSet]()

    def read() -> None:
        golds = find_format(kind).read(GoldSource(path, text), "drawn", CORPORA.get(kind))
        assert isinstance(golds, list)
        found.extend(golds)

    error = refused(read)
    if error is None:
        return found
    assert error.file == str(path)
    assert error.line is not None
    assert 1 <= error.line <= text.count("\n") + 1
    assert error.hint
    return None


def counted(golds: Sequence[GoldSet]) -> int:
    """Count the queries that are asked, and those that provenance tells of."""
    told = re.findall(r"(?:^|; )queries [^:(]*: ([0-9]+) \(", golds[0].provenance.get("left out", ""))
    return sum(len(gold.queries) for gold in golds) + sum(map(int, told))


def held(kind: str, text: str) -> int:
    """Count the queries of a text without the readers."""
    if kind == "codesearchnet":
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        cells = [dict(zip((c.strip() for c in rows[0]), (c.strip() for c in row), strict=False)) for row in rows[1:]]
        return len({(c["Language"], c["Query"], *re.split("/blob/|/", c["GitHubUrl"])[3:6]) for c in cells})
    if text.lstrip().startswith("["):
        return len(json.loads(text))
    return sum(bool(line.strip()) for line in text.split("\n"))


@pytest.mark.parametrize("kind", DATA_SETS)
def test_samples_are_read_whole(kind):
    _, text, count = DATA_SETS[kind]
    golds = attempt(kind, text)
    assert golds is not None
    assert counted(golds) == count == held(kind, text)


@pytest.mark.parametrize("kind", DATA_SETS)
@examples(150)
@given(data=st.data())
def test_broken_samples_ask_or_tell_every_query_or_name_the_line(kind, data):
    text = data.draw(broken(DATA_SETS[kind][1]))
    golds = attempt(kind, text)
    if golds is not None:
        assert counted(golds) == held(kind, text)


@pytest.mark.parametrize("kind", JSON_SETS)
@examples(150)
@given(data=st.data())
def test_any_value_in_any_place_asks_or_tells_every_query_or_names_the_line(kind, data):
    entries = [json.loads(line) for line in DATA_SETS[kind][1].splitlines()]
    changed = replaced(entries, data.draw(st.sampled_from(places(entries)[1:])), data.draw(VALUES))
    text = lines(changed) if data.draw(st.booleans()) else json.dumps(changed, indent=1)
    golds = attempt(kind, text)
    if golds is not None:
        assert counted(golds) == len(changed)


@pytest.mark.parametrize("kind", DATA_SETS)
@examples(60)
@given(data=st.data())
def test_a_sample_that_ends_too_early_asks_or_tells_what_is_there_or_names_the_line(kind, data):
    text = DATA_SETS[kind][1]
    text = text[: data.draw(st.integers(0, len(text)))]
    golds = attempt(kind, text)
    if golds is not None:
        assert counted(golds) == held(kind, text)


@pytest.mark.parametrize("kind", [*DATA_SETS, "trec", "beir"])
@examples(40)
@given(head=st.sampled_from([b"", b"[{", b'{"prompt": "x"}', b"q 0 a.py 1\n", b"PAR1"]), tail=st.binary(max_size=60))
def test_any_bytes_give_gold_or_an_error_with_the_file(tmp_path_factory, kind, head, tail):
    path = tmp_path_factory.getbasetemp() / f"drawn-{kind}.jsonl"
    path.write_bytes(head + tail)
    error = refused(lambda: find_format(kind).read(read_source(path), "drawn", CORPORA.get(kind)))
    assert error is not None
    assert error.file == str(path)


@examples(200)
@given(data=st.data())
def test_broken_beir_folders_ask_or_tell_every_query_or_name_the_line(tmp_path_factory, data):
    folder = test_beir.make(tmp_path_factory.mktemp("beir"))
    name = data.draw(st.sampled_from(["queries.jsonl", "qrels/test.tsv"]))
    text = data.draw(broken((folder / name).read_text("utf-8")))
    (folder / name).write_text(text, "utf-8", newline="")
    found = list[GoldSet]()
    error = refused(lambda: found.extend(read_beir_directory(folder, CorpusSpec("path", "."))))
    if error is None:
        queries = (folder / "queries.jsonl").read_text("utf-8").split("\n")
        assert counted(found) == sum(bool(line.strip()) for line in queries)
    else:
        assert str(error.file).startswith(str(folder))
        assert error.line is not None


@examples(200)
@given(data=st.data())
def test_broken_trec_files_ask_or_tell_every_topic_or_name_the_line(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("trec")
    topics = data.draw(st.sampled_from([test_trec.TOPICS, test_trec.CLASSIC]))
    path = test_trec.make(folder, topics=topics)
    name = data.draw(st.sampled_from(["shop.qrels", "shop.topics"]))
    text = data.draw(broken((folder / name).read_text("utf-8")))
    (folder / name).write_text(text, "utf-8", newline="")
    found = list[GoldSet]()
    error = refused(lambda: found.append(read_trec(read_source(path), "shop", CorpusSpec("path", "."))))
    if error is None:
        now = (folder / "shop.topics").read_text("utf-8")
        classic = now.lstrip().startswith("<top>")
        there = now.count("<top>") if classic else sum(bool(line.strip()) for line in now.split("\n"))
        assert counted(found) == there
    else:
        assert str(error.file).startswith(str(folder))
        assert error.line is not None
