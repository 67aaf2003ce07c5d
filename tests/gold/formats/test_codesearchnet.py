"""CodeSearchNet: judgments become grades, judges are averaged, and what nobody found is told."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold import load_gold
from assay.types import CorpusSpec
from tests.gold.formats.data_sets import CODESEARCHNET, COMMIT, OTHER, URL
from tests.gold.formats.files import write

HEADER = "Language,Query,GitHubUrl,Relevance,Notes\n"


def test_each_commit_is_a_set_and_judges_are_averaged(tmp_path):
    shop, till = load_gold(write(tmp_path, "csn.csv", CODESEARCHNET)).golds
    assert shop.corpus == CorpusSpec("git", "https://github.com/owner/shop", rev=COMMIT)
    assert till.corpus == CorpusSpec("git", "https://github.com/owner/till", rev=OTHER)
    query, other = shop.queries
    assert (query.id, query.forms, query.line) == ("python-sum-of-a-basket", {"human": "sum of a basket"}, 2)
    assert query.tags == {"language": "Python"}
    assert [(t.anchor, t.grade) for t in query.targets] == [("shop/price.py:3-9", 2), ("shop/tax.py:1-2", 1)]
    assert [t.anchor for t in query.irrelevant] == ["shop/a b.py:1-2"]
    assert [t.grade for t in other.targets] == [1]
    assert [t.anchor for t in till.queries[0].targets] == ["till.go:7-7"]


def test_what_has_no_answer_and_who_disagrees_is_told(tmp_path):
    provenance = load_gold(write(tmp_path, "csn.csv", CODESEARCHNET)).golds[0].provenance
    assert provenance["judges"].startswith("functions judged more than once: 1")
    assert provenance["judges"].endswith("differing by 2 or 3: 1")
    assert provenance["not read"] == "notes by judges (1)"
    here = f"owner/till-{OTHER[:12]}"
    assert (
        provenance["left out"]
        == f"queries without a relevant function in the repository: 1 ('open the till' in {here})"
    )


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_the_mean_of_the_judges_decides_a_half_rounded_up(tmp_path_factory, judged):
    # A second function that surely answers keeps the query, whatever the judges say of the first.
    rows = [f"Go,q,{URL}/a.go#L1-L2,{relevance},\n" for relevance in judged] + [f"Go,q,{URL}/b.go#L1-L2,3,\n"]
    path = write(tmp_path_factory.getbasetemp(), "mean.csv", HEADER + "".join(rows))
    grades = {t.span.path: t.grade for t in load_gold(path).golds[0].queries[0].targets}
    mean = sum(judged) / len(judged)
    assert grades.get("shop/a.go", 0) == math.floor(mean + 0.5)


BAD = {
    "relevance 4": (f"Go,q,{URL}/a.go#L1-L2,4,\n", "invalid relevance '4'"),
    "no relevance": (f"Go,q,{URL}/a.go#L1-L2,,\n", "is empty"),
    "no lines": (f"Go,q,{URL}/a.go,3,\n", "link to lines"),
    "no commit": ("Go,q,https://github.com/o/n/blob/main/a.go#L1-L2,3,\n", "link to lines"),
    "elsewhere": (f"Go,q,https://example.org/o/n/blob/{COMMIT}/a.go#L1,3,\n", "link to lines"),
    "backward": (f"Go,q,{URL}/a.go#L3-L2,3,\n", "ends before it starts"),
    "climbing": (f"Go,q,{URL}/%2e%2e/a.go#L1-L2,3,\n", "contains '..'"),
    "no query": (f"Go,,{URL}/a.go#L1-L2,3,\n", "is empty"),
    "no language": (f",q,{URL}/a.go#L1-L2,3,\n", "is empty"),
    "too many cells": (f"Go,q,{URL}/a.go#L1-L2,3,,\n", "got 6"),
}


@pytest.mark.parametrize(("row", "message"), BAD.values(), ids=BAD)
def test_a_broken_row_is_named_by_its_line(tmp_path, row, message):
    path = write(tmp_path, "csn.csv", f"{HEADER}Go,q,{URL}/b.go#L1-L2,3,\n{row}")
    with pytest.raises(GoldError) as error:
        load_gold(path)
    assert (error.value.file, error.value.line) == (str(path), 3)
    assert message in error.value.message
    assert error.value.hint


def test_another_header_is_refused(tmp_path):
    with pytest.raises(GoldError, match="unexpected header"):
        load_gold(write(tmp_path, "csn.csv", "Language,Query,GitHubUrl,Relevance\n" + f"Go,q,{URL}/a.go#L1,3\n"))


def test_a_file_in_which_nothing_answers_says_so(tmp_path):
    with pytest.raises(GoldError, match="no usable query in the file: queries without a relevant function"):
        load_gold(write(tmp_path, "csn.csv", f"{HEADER}Go,q,{URL}/a.go#L1,0,\n"))
