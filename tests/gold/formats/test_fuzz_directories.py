"""Drawn folders and Parquet files: what goes in is asked or told, count for count, or an error names its file."""

import csv
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from hypothesis import given
from hypothesis import strategies as st

from assay.gold import load_gold
from assay.gold.formats.beir_trec import read_beir_directory, render_documents
from assay.gold.formats.semble import read_semble_directory
from assay.types import CorpusSpec, GoldSet
from tests.gold.formats import test_beir
from tests.gold.formats.breaking import broken, refused
from tests.gold.formats.data_sets import ADDS, COMMIT, OTHER, PATCH, lines
from tests.gold.formats.files import HERE, write
from tests.gold.formats.test_semble import FLASK, semble
from tests.properties import examples

FEW = examples(60)
WORDS = st.sampled_from(["a", "A", "a b", "a/b", "a-b", "b.py", "../b.py", "é", "a\0", "x" * 300, ""])
SOUND = st.sampled_from(["a", "A", "a b", "a/b", "b.py", "x" * 300])  # most drawn sets are to be read, not refused
SCORES = st.sampled_from(["0", "1", "2", "3", "-1", "many"])
SOUND_SCORES = st.sampled_from(["0", "1", "2", "3", "-1"])


def told(gold: GoldSet, kind: str) -> int:
    """Give how many of a kind the provenance says are left out."""
    found = re.search(rf"(?:^|; ){kind}: ([0-9]+) \(", gold.provenance.get("left out", ""))
    return int(found[1]) if found else 0


def judged(folder: Path) -> list[list[str]]:
    """Read the judgments of a folder without its reader."""
    with (folder / "qrels/test.tsv").open(encoding="utf-8", newline="\n") as stream:
        rows = [next(csv.reader([line.rstrip("\r\n")], delimiter="\t"), []) for line in stream if line.strip()]
    return rows[rows[:1] == [["query-id", "corpus-id", "score"]] :]


def check_beir(folder: Path, corpus: CorpusSpec | None) -> None:
    """Hold a folder that is read against what its files say."""
    found = list[GoldSet]()
    error = refused(lambda: found.extend(read_beir_directory(folder, corpus)))
    if error is not None:
        assert str(error.file).startswith(str(folder))
        assert error.hint
        return
    [gold] = found
    names = [
        json.loads(line)["_id"] for line in (folder / "queries.jsonl").read_text("utf-8").split("\n") if line.strip()
    ]
    rows = judged(folder)
    asked = len(gold.queries)
    assert asked + told(gold, "queries without a judgment") + told(gold, "queries without a relevant document") == len(
        names
    )
    assert told(gold, "judged queries without a text") == len({row[0] for row in rows} - set(names))
    kept = sum(len(query.targets) + len(query.irrelevant) for query in gold.queries)
    relevant = {row[0] for row in rows if int(row[2]) > 0}
    assert kept + told(gold, "irrelevant documents that cannot be located") == sum(
        row[0] in names and row[0] in relevant for row in rows
    )


@FEW
@given(
    names=st.lists(SOUND, min_size=1, max_size=4, unique=True) | st.lists(WORDS, min_size=1, max_size=4),
    ids=st.permutations(["a", "A", "a b", "a/b", "b.py", "x" * 300]) | st.lists(WORDS, min_size=1, max_size=5),
    judgments=st.lists(st.tuples(SOUND, SOUND, SOUND_SCORES), min_size=1, max_size=8, unique_by=lambda row: row[:2])
    | st.lists(st.tuples(WORDS, WORDS, SCORES), min_size=1, max_size=6),
    own=st.booleans(),
)
def test_drawn_beir_folders_ask_or_tell_every_query_and_judgment(names, ids, judgments, own):
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "shop")
        write(folder, "queries.jsonl", lines([{"_id": name, "text": "t"} for name in names]))
        write(folder, "corpus.jsonl", lines([{"_id": name, "text": f"text {n}"} for n, name in enumerate(ids)]))
        write(folder, "qrels/test.tsv", "".join("\t".join(row) + "\n" for row in judgments))
        check_beir(folder, None if own else HERE)
        texts = dict[str, str]()
        if refused(lambda: texts.update(render_documents(folder))) is None:
            assert len(texts) - 1 == len(ids)


@FEW
@given(data=st.data())
def test_broken_beir_folders_with_their_own_documents_lose_nothing_in_silence(data):
    with tempfile.TemporaryDirectory() as base:
        qrels = "q1\tshop/price.py\t2\nq1\tD 1/ä\t0\nq 2\td 1/ä\t1\nq3\tD 1/ä\t-1\nq9\tD 1/ä\t1\n"
        folder = test_beir.make(Path(base), qrels=qrels, corpus=test_beir.CORPUS)
        name = data.draw(st.sampled_from(["queries.jsonl", "qrels/test.tsv", "corpus.jsonl"]))
        write(folder, name, data.draw(broken((folder / name).read_text("utf-8"))))
        check_beir(folder, None)


@FEW
@given(data=st.data())
def test_broken_semble_folders_give_every_annotation_of_every_file_or_an_error(data):
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        semble(folder)
        name = data.draw(st.sampled_from(["repos.json", "annotations/flask.json", "annotations/gin.json"]))
        write(folder, name, data.draw(broken((folder / name).read_text("utf-8"))))
        check_semble(folder)


@FEW
@given(
    entries=st.lists(
        st.fixed_dictionaries(
            {
                "query": SOUND | WORDS,
                "relevant": st.lists(SOUND, min_size=1, max_size=3, unique=True) | st.lists(WORDS),
            },
            optional={"secondary": st.lists(st.just("c.py"), max_size=1), "category": SOUND, "seed": st.none()},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_drawn_semble_folders_give_every_annotation_or_an_error(entries):
    with tempfile.TemporaryDirectory() as base:
        semble(Path(base), json.dumps(entries))
        check_semble(Path(base))


def check_semble(folder: Path) -> None:
    """Hold a folder that is read against what its files say."""
    found = list[GoldSet]()
    error = refused(lambda: found.extend(read_semble_directory(folder, None)))
    if error is not None:
        assert str(error.file).startswith(str(folder))
        assert error.hint
        return
    files = sorted((folder / "annotations").glob("*.json"))
    assert [gold.name for gold in found] == [path.stem for path in files]
    for gold, path in zip(found, files, strict=True):
        entries = json.loads(path.read_text("utf-8"))
        assert len(gold.queries) == len(entries)
        places = [len(entry["relevant"]) + len(entry.get("secondary", [])) for entry in entries]
        assert [len(query.targets) for query in gold.queries] == places


def test_the_sound_semble_folder_passes_the_count(tmp_path):
    semble(tmp_path, FLASK)
    assert refused(lambda: read_semble_directory(tmp_path, None)) is None
    check_semble(tmp_path)


ISSUES = st.lists(
    st.fixed_dictionaries(
        {
            "instance_id": st.sampled_from(["a", "b", "c d", "c/d", "e"]),
            "repo": st.sampled_from(["shop/shop", "shop/till"]),
            "base_commit": st.sampled_from([COMMIT, OTHER] * 6 + ["main"]),
            "problem_statement": st.sampled_from(["wrong", " wrong\n", "é"] * 4 + [None]),
            "patch": st.sampled_from([PATCH, ADDS] * 6 + ["no patch"]),
        }
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda entry: str(entry["instance_id"]),
)


@FEW
@given(entries=ISSUES)
def test_drawn_parquet_files_ask_or_tell_every_row_or_name_it(entries):
    with tempfile.TemporaryDirectory() as base:
        path = parquet(Path(base, "set.parquet"), entries)
        golds = list[GoldSet]()
        error = refused(lambda: golds.extend(load_gold(path, format="swe-bench").golds))
        if error is None:
            left = told(golds[0], "queries whose patch changes no existing line")
            assert sum(len(gold.queries) for gold in golds) + left == len(entries)
        else:
            assert error.file == str(path)
            assert error.line is not None
            assert 1 <= error.line <= len(entries)


@FEW
@given(data=st.data())
def test_a_changed_byte_of_a_parquet_file_gives_as_many_rows_or_an_error(data):
    with tempfile.TemporaryDirectory() as base:
        rows = [{"query": f"q{n}", "expected": "x.py"} for n in range(4)]
        path = parquet(Path(base, "set.parquet"), rows)
        raw = bytearray(path.read_bytes())
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(raw)
        golds = list[GoldSet]()
        error = refused(lambda: golds.extend(load_gold(path, format="pyckle", corpus=HERE).golds))
        if error is None:
            assert len(golds[0].queries) == len(rows)
        else:
            assert error.file == str(path)


def parquet(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows as Parquet."""
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path, row_group_size=2)
    return path
