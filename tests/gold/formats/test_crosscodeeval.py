"""CrossCodeEval: the line to complete is the target; what an engine retrieved for it is told, not believed."""

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.formats.benchmarks import LEAK
from assay.types import CorpusSpec
from tests.gold.formats.data_sets import CROSSCODEEVAL, lines
from tests.gold.formats.files import write

REPOS = CorpusSpec("path", "raw")


def load(folder, entries):
    return load_gold(write(folder, "python.jsonl", lines(entries)), corpus=REPOS).golds


def test_each_completion_is_a_query_of_its_repository(tmp_path):
    shop, till = load(tmp_path, CROSSCODEEVAL)
    assert (shop.name, shop.corpus.root) == ("python-owner-shop-a544085", "owner-shop-a544085")
    assert (till.name, till.corpus.root) == ("python-owner-till-1234567", "owner-till-1234567")
    assert (shop.queries[0].id, till.queries[0].id) == ("project_cc_python-62", "project_cc_python-63")
    assert shop.queries[0].forms == {"human": "from shop import basket\n\nprint(basket."}


def test_lines_are_counted_from_1_and_the_whole_completion_is_the_target(tmp_path):
    shop, till = load(tmp_path, CROSSCODEEVAL)
    assert [target.anchor for target in shop.queries[0].targets] == ["run.py:3-3"]
    assert [target.anchor for target in till.queries[0].targets] == ["src/main.py:12-13"]


def test_what_an_engine_retrieved_is_told_and_no_target(tmp_path):
    shop, _ = load(tmp_path, CROSSCODEEVAL)
    assert "crossfile_context" in shop.provenance["not read"].split(", ")
    assert shop.provenance["leak"] == LEAK
    assert "project_cc_python/62" in shop.provenance["ids"]


BAD = {
    "no file": ({"file": None}, "'file' of 'metadata' of row 2: expected a string"),
    "an absolute file": ({"file": "/a.py"}, "absolute"),
    "a climbing repository": ({"repository": "../x"}, "contains '..'"),
    "no line": ({"groundtruth_start_lineno": "3"}, "expected an integer"),
    "no truth": ({"groundtruth": ""}, "is empty"),
    "no task": ({"task_id": 3}, "'task_id' of 'metadata' of row 2: expected a string"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_broken_entry_is_named_by_its_line(tmp_path, change, message):
    entry = {**CROSSCODEEVAL[1], "metadata": {**CROSSCODEEVAL[1]["metadata"], **change}}
    top = {key: value for key, value in change.items() if key in entry}
    path = write(tmp_path, "python.jsonl", lines([CROSSCODEEVAL[0], {**entry, **top}]))
    with pytest.raises(GoldError) as error:
        load_gold(path, corpus=REPOS)
    assert (error.value.file, error.value.line) == (str(path), 2)
    assert message in error.value.message
    assert error.value.hint
