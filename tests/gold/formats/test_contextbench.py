"""ContextBench: the spans that people found, whichever way they are written."""

import json

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.types import CorpusSpec, GoldSet
from tests.gold.formats.data_sets import COMMIT, CONTEXTBENCH, OTHER, lines
from tests.gold.formats.files import write


def load(folder, entries) -> tuple[GoldSet, ...]:
    return load_gold(write(folder, "cb.jsonl", lines(entries))).golds


def test_every_way_of_writing_spans_is_read(tmp_path):
    shop, till = load(tmp_path, CONTEXTBENCH)
    assert [[target.anchor for target in query.targets] for query in shop.queries] == [
        ["shop/price.py:1-9", "shop/tax.py:3-3"],
        ["shop/price.py:5-6", "shop/tax.py:1-2"],
    ]
    assert [target.anchor for target in till.queries[0].targets] == ["cmd/till.go:2-4"]
    assert [dict(query.tags) for query in shop.queries] == [{"language": "python"}, {}]


def test_the_owner_is_found_in_the_id_where_the_repository_lacks_it(tmp_path):
    shop, till = load(tmp_path, CONTEXTBENCH)
    assert shop.corpus == CorpusSpec("git", "https://github.com/shop/shop", rev=COMMIT)
    assert till.corpus == CorpusSpec("git", "https://github.com/owner/till", rev=OTHER)


def test_what_is_no_target_is_told(tmp_path):
    provenance = load(tmp_path, CONTEXTBENCH)[0].provenance
    assert provenance["not read"] == "patch"
    assert provenance["left out"] == (
        "duplicate spans: 1 (shop/tax.py:3-3 of Verified__python__1); "
        "files that are not in the repository: 1 (/workspace/scratch_test.go of Multi__go__2)"
    )


def test_a_query_without_context_in_the_repository_is_told(tmp_path):
    outside = {"file": "/tmp/a.py", "start_line": 1, "end_line": 2}
    golds = load(tmp_path, [CONTEXTBENCH[0], {**CONTEXTBENCH[2], "gold_context": [outside]}])
    assert sum(len(gold.queries) for gold in golds) == 1
    assert "queries without context in the repository: 1 (Pro__python__3)" in golds[0].provenance["left out"]


SPAN = {"file": "a.py", "start_line": 1, "end_line": 2}
BAD = {
    "no list": ({"gold_context": {}}, "expected a list"),
    "no JSON": ({"gold_context": "[{"}, "invalid JSON in 'gold_context' of row 2"),
    "no object": ({"gold_context": [1]}, "entry 1 of 'gold_context' of row 2: expected an object"),
    "no file": ({"gold_context": [{}]}, "'file' of entry 1 of 'gold_context' of row 2: expected a string"),
    "no lines": ({"gold_context": json.dumps([{"file": "a.py"}])}, "'start_line' of entry 1"),
    "backward": ({"gold_context": [{**SPAN, "start_line": 3}]}, "ends before it starts"),
    "from line 0": ({"gold_context": [{**SPAN, "start_line": 0}]}, "starts before line 1"),
    "contains '..'": ({"gold_context": [{**SPAN, "file": "../a.py"}]}, "contains '..'"),
    "a block is missing": ({"gold_context": "context1：\nfile: a\nstart_line: 1\nend_line: 2"}, "misnumbered blocks"),
    "a block without lines": ({"gold_context": "context0：\nfile: a\nstart_line: 1\n"}, "misnumbered blocks"),
    "a block with odd lines": (
        {"gold_context": "context0：\nfile: a\nstart_line: x\nend_line: 2"},
        "expected an integer",
    ),
    "no owner": ({"repo": "till", "original_inst_id": "owner__shop-1"}, "invalid GitHub repository 'till'"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_broken_entry_is_named_by_its_line(tmp_path, change, message):
    path = write(tmp_path, "cb.jsonl", lines([CONTEXTBENCH[0], {**CONTEXTBENCH[0], "instance_id": "b", **change}]))
    with pytest.raises(GoldError) as error:
        load_gold(path)
    assert (error.value.file, error.value.line) == (str(path), 2)
    assert message in error.value.message
    assert error.value.hint
