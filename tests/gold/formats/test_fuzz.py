"""Broken files of every format: gold with every entry, or an error with file and line; never anything else."""

import ast
import csv
import io
import json
import math
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.build import GoldSource, read_source
from assay.gold.load import find_format
from assay.types import GoldSet
from tests.gold.formats.breaking import VALUES, broken, places, replaced
from tests.gold.formats.files import HERE, write
from tests.gold.formats.samples import KARTA_CORPUS, SAMPLES
from tests.properties import examples


def attempt(kind: str, path: Path, text: str) -> GoldSet | None:
    """Read a text; an error must say where it is, and anything but gold or a GoldError escapes."""
    problem: GoldError | None = None
    try:
        gold = find_format(kind).read(GoldSource(path, text), "drawn", HERE)
        assert isinstance(gold, GoldSet)
        return gold
    except GoldError as error:
        problem = error
    assert problem.file is not None
    assert problem.hint
    assert problem.line is not None
    # YAML and Python have other line breaks besides, and an error at the end of a file stands behind its last line
    last = math.inf if kind in ("karta", "native", "pyckle") else text.count("\n") + 1
    assert 1 <= problem.line <= last
    return None


LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def held(name: str, text: str) -> int:
    """Count the queries of a text that was read, without the readers."""
    if name.startswith("karta"):
        return len(yaml.load(text, LOADER)["queries"])
    if name == "pyckle python":
        lists = [node.value for node in ast.parse(text).body if isinstance(node, ast.Assign)]
        return max(len(value.elts) for value in lists if isinstance(value, ast.List | ast.Tuple))
    if name in ("octocode", "plain csv"):
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        head = [cell.strip() for cell in rows[0]]
        key = head.index("id") if "id" in head else head.index("query")
        return len({row[key].strip() for row in rows[1:]}) if name == "plain csv" else len(rows) - 1
    if name == "plain json lines":
        entries = [json.loads(line) for line in text.split("\n") if line.strip()]
        return len({str(entry.get("id", entry["query"])).strip() for entry in entries})
    if text.lstrip().startswith("{") and '"results"' not in text and name.startswith("pyckle"):
        return sum(bool(line.strip()) for line in text.split("\n"))  # one object a line
    value = json.loads(text)
    return len(value if isinstance(value, list) else value.get("queries") or value["results"])


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_read_whole(name):
    kind, file, text, count = SAMPLES[name]
    gold = attempt(kind, Path(file), text)
    assert gold is not None
    assert len(gold.queries) == count == held(name, text)


@pytest.mark.parametrize("name", SAMPLES)
@examples(120)
@given(data=st.data())
def test_broken_samples_give_every_query_or_an_error_with_its_line(name, data):
    kind, file, text, _ = SAMPLES[name]
    changed = data.draw(broken(text))
    gold = attempt(kind, Path(file), changed)
    if gold is not None:
        assert len(gold.queries) == held(name, changed)


REPOS = """\
[
  {"name": "shop", "language": "python", "url": "https://x/shop.git", "revision": "abc", "benchmark_root": "src"},
  {"name": "bank", "url": "https://x/bank.git", "revision": "def"}
]
"""
BESIDE = {
    "karta": ("gold.yaml", SAMPLES["karta"][2], "corpus.yaml", KARTA_CORPUS),
    "semble": ("annotations/shop.json", SAMPLES["semble"][2], "repos.json", REPOS),
}


@pytest.mark.parametrize("kind", BESIDE)
@examples(60)
@given(data=st.data())
def test_broken_files_beside_a_set_give_the_set_or_an_error(kind, data):
    name, text, other, beside = BESIDE[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), name, text)
        write(Path(folder), other, data.draw(broken(beside)))
        try:
            suite = load_gold(path, format=kind, corpus=HERE if kind == "karta" else None)
        except GoldError as problem:
            said = problem
        else:
            assert len(suite.golds[0].queries) == 2
            return
    assert said.file is not None
    assert said.file.startswith(folder)
    assert said.hint


JSON_SAMPLES = {name: json.loads(SAMPLES[name][2]) for name in ("sia-code", "pyckle json", "pyckle results", "semble")}
YAML_SAMPLES = {name: yaml.safe_load(SAMPLES[name][2]) for name in ("karta", "karta layers")}


@pytest.mark.parametrize("name", JSON_SAMPLES)
@examples(120)
@given(data=st.data())
def test_json_with_any_value_in_any_place_gives_every_query_or_an_error(name, data):
    sample = JSON_SAMPLES[name]
    text = json.dumps(replaced(sample, data.draw(st.sampled_from(places(sample))), data.draw(VALUES)), indent=1)
    gold = attempt(SAMPLES[name][0], Path(SAMPLES[name][1]), text)
    if gold is not None:
        assert len(gold.queries) == held(name, text)


@pytest.mark.parametrize("name", YAML_SAMPLES)
@examples(120)
@given(data=st.data())
def test_yaml_with_any_value_in_any_place_gives_every_query_or_an_error(name, data):
    sample = YAML_SAMPLES[name]
    text = yaml.safe_dump(replaced(sample, data.draw(st.sampled_from(places(sample))), data.draw(VALUES)))
    gold = attempt("karta", Path("drawn.yaml"), text)
    if gold is not None:
        assert len(gold.queries) == held(name, text)


@pytest.mark.parametrize("key", [key for key in YAML_SAMPLES["karta layers"]["queries"][0] if key != "id"])
def test_karta_layers_survive_any_missing_layer(key):
    sample = YAML_SAMPLES["karta layers"]
    entry = {name: value for name, value in sample["queries"][0].items() if name != key}
    gold = attempt("karta", Path("drawn.yaml"), yaml.safe_dump({**sample, "queries": [entry]}))
    assert (gold is None) == (key in ("retrieval", "cognitive"))


CELLS = st.text(st.sampled_from("ab.py:-12/ \"',\n\r\0é\\"), max_size=12) | st.sampled_from(
    ["a.py", "a.py:1-2", "a.py:1-2:2", "a.py::f", "human", "2", "query"]
)
HEADERS = st.sampled_from(
    [
        ("query", "result1"),
        ("query", "result1", "result2", "result3"),
        ("query", "path"),
        ("id", "query", "path", "form", "grade", "cluster"),
    ]
)


@examples(300)
@given(HEADERS, st.lists(st.lists(CELLS, max_size=6), max_size=4))
def test_csv_of_any_rows_gives_gold_with_every_row_or_an_error(header, rows):
    stream = io.StringIO()
    csv.writer(stream).writerows([header, *rows])
    gold = attempt("plain" if "path" in header else "octocode", Path("drawn.csv"), stream.getvalue())
    if gold is not None:
        filled = [row for row in rows if row]
        if "path" not in header:
            assert len(gold.queries) == len(filled)
        else:
            assert sum(len(query.targets) * len(query.forms) for query in gold.queries) >= len(filled)


@pytest.mark.parametrize("kind", sorted({sample[0] for sample in SAMPLES.values()} | {"native"}))
@examples(60)
@given(
    head=st.sampled_from([b"", b"assay: 1\n", b"corpus_id: a\nqueries:\n", b"query,path\n", b"[{", b'{"queries": [{']),
    tail=st.binary(max_size=60),
)
def test_any_bytes_in_any_format_give_gold_or_an_error(tmp_path_factory, kind, head, tail):
    path = tmp_path_factory.getbasetemp() / f"drawn-{kind}"
    path.write_bytes(head + tail)
    try:
        text = read_source(path).text
    except GoldError:
        return
    attempt(kind, path, text)
