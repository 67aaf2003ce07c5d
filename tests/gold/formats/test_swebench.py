"""SWE-bench: an issue and the old side of its patch; every issue is asked or told."""

import json

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.types import CorpusSpec, GoldSet
from tests.gold.formats.data_sets import COMMIT, OTHER, PATCH, SWEBENCH, lines
from tests.gold.formats.files import write


def load(folder, entries, **options) -> tuple[GoldSet, ...]:
    return load_gold(write(folder, "swe.jsonl", lines(entries)), **options).golds


def test_each_commit_is_a_set_with_its_corpus(tmp_path):
    first, second = load(tmp_path, SWEBENCH)
    assert first.corpus == CorpusSpec("git", "https://github.com/shop/shop", rev=COMMIT)
    assert second.corpus == CorpusSpec("git", "https://github.com/shop/shop", rev=OTHER)
    assert (first.name, second.name) == (f"swe-shop-shop-{COMMIT[:12]}", f"swe-shop-shop-{OTHER[:12]}")


def test_targets_are_the_old_lines_of_the_patch(tmp_path):
    gold, other = load(tmp_path, SWEBENCH)
    [query] = gold.queries
    assert (query.id, query.line) == ("shop__shop-1", 1)
    assert query.forms == {"human": "The sum of a basket is wrong\n\nIt adds lines, not prices."}
    assert [(target.anchor, target.grade) for target in query.targets] == [
        ("shop/price.py:4-5", 2),
        ("shop/price.py:20-20", 2),
    ]
    assert other.queries[0].id == "shop-shop-2"


def test_what_is_no_target_is_told(tmp_path):
    provenance = load(tmp_path, SWEBENCH)[0].provenance
    assert provenance["not read"] == "hints_text, test_patch"
    assert "'shop/shop 2' → shop-shop-2" in provenance["ids"]
    assert provenance["left out"] == (
        "new files of a patch: 3 (shop/new.py of shop__shop-1, shop/new.py of shop/shop 2, "
        "shop/rates.py of shop__shop-3); queries whose patch changes no existing line: 1 (shop__shop-3)"
    )


def test_a_file_without_changed_lines_or_with_an_odd_path_is_told(tmp_path):
    patch = (
        "--- a/a:b.py\n+++ b/a:b.py\n@@ -1 +1 @@\n-a\n+b\n"
        "--- a/empty.py\n+++ b/empty.py\n@@ -0,0 +1 @@\n+b\n"
        "diff --git a/x.png b/x.png\nBinary files differ\n"
    )
    [gold] = load(tmp_path, [{**SWEBENCH[0], "patch": patch}])
    assert [target.anchor for target in gold.queries[0].targets] == ["empty.py"]
    assert "files of a patch without changed lines: 1 (x.png of shop__shop-1)" in gold.provenance["left out"]
    assert "files with an unsupported path: 1 (a:b.py of shop__shop-1)" in gold.provenance["left out"]


def test_a_renamed_file_with_a_quoted_name_is_told_by_its_name(tmp_path):
    rename = 'diff --git "a/\\303\\244.py" b/x.py\nrename from "\\303\\244.py"\nrename to x.py\n'
    [gold] = load(tmp_path, [{**SWEBENCH[0], "patch": PATCH + rename}])
    assert "files of a patch without changed lines: 1 (ä.py of shop__shop-1)" in gold.provenance["left out"]
    assert "unsupported path" not in gold.provenance["left out"]


def test_a_single_commit_keeps_the_name_and_takes_a_corpus(tmp_path):
    [gold] = load(tmp_path, SWEBENCH[:1], corpus=CorpusSpec("path", "shop"))
    assert (gold.name, gold.corpus) == ("swe", CorpusSpec("path", "shop"))


def test_a_json_list_is_read_too(tmp_path):
    golds = load_gold(write(tmp_path, "swe.json", json.dumps(SWEBENCH, indent=1))).golds
    assert [gold.corpus.rev for gold in golds] == [COMMIT, OTHER]
    assert golds[0].queries[0].line == 2


BAD = {
    "no commit": ({"base_commit": "--help"}, "invalid commit '--help'"),
    "no repository": ({"repo": "shop"}, "invalid GitHub repository 'shop'"),
    "no patch": ({"patch": None}, "'patch' of row 2: expected a string"),
    "an empty patch": ({"patch": " "}, "is empty"),
    "a broken patch": ({"patch": "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a"}, "of the patch is incomplete"),
    "an id twice": ({"instance_id": "shop__shop-1"}, "first used on line 1"),
    "half a character": ({"problem_statement": "\ud800"}, "unpaired surrogate"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_broken_entry_is_named_by_its_line(tmp_path, change, message):
    path = write(tmp_path, "swe.jsonl", lines([SWEBENCH[0], {**SWEBENCH[0], "instance_id": "b", **change}]))
    with pytest.raises(GoldError) as error:
        load_gold(path)
    assert (error.value.file, error.value.line) == (str(path), 2)
    assert message in error.value.message
    assert error.value.hint


def test_one_corpus_for_several_commits_is_refused(tmp_path):
    with pytest.raises(GoldError, match="for 2 repositories or commits"):
        load(tmp_path, SWEBENCH, corpus=CorpusSpec("path", "."))


def test_a_file_without_any_old_line_says_so(tmp_path):
    with pytest.raises(GoldError, match="no usable query in the file: new files of a patch: 1"):
        load(tmp_path, SWEBENCH[2:])
