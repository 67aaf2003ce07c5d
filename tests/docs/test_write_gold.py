"""The first hour of a team, as docs/tutorials/write-gold.md tells it: every command is run as it stands."""

import re
from collections import Counter
from pathlib import Path

import pytest

from assay import load_gold
from tests.docs.running import DOCS, Ran, run_page

pytestmark = pytest.mark.nightly

PAGE = "tutorials/write-gold.md"
LEAST = 30  # queries of a set that says anything


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the page."""
    return run_page(PAGE, tmp_path_factory)


@pytest.fixture
def hour(ran: Ran) -> Path:
    """Where the page ran."""
    return ran.work


def test_first_hour_ends_with_a_reviewed_set_of_thirty(hour):
    gold = load_gold(hour / "gold.yaml").golds[0]
    assert len(gold.queries) >= LEAST
    mined = [query for query in gold.queries if query.labels]
    assert len(mined) == 29
    assert all(set(label.by) >= {"ann", "bob"} or "cy" in label.by for query in mined for label in query.labels)


def test_first_hour_splits_every_query_and_no_file_twice(hour):
    gold = load_gold(hour / "gold.yaml").golds[0]
    parts = Counter(query.tags["split"] for query in gold.queries)
    assert set(parts) == {"dev", "test", "sealed"}
    homes: dict[str, set[str]] = {}
    for query in gold.queries:
        for target in query.targets:
            homes.setdefault(target.span.path, set()).add(query.tags["split"])
    assert all(len(found) == 1 for found in homes.values()), homes


def test_first_hour_says_what_the_page_says(ran):
    said = ran.said
    page = (DOCS / PAGE).read_text("utf-8")
    kappa = re.search(r"Cohen's κ: ann, bob\s+([0-9.]+)", said)
    assert kappa is not None
    assert f"κ = {float(kappa[1]):.2f}" in page
    assert "29 items added to the set, 14 rejected" in said
    assert "29 proposals enter the gold set; 14 do not" in page
    assert "0 errors" in said
    assert "One label is enough to reverse the order" in said


def test_first_hour_keeps_comments_and_no_secret(hour):
    assert "# asked on the team's channel in May" in (hour / "gold.yaml").read_text("utf-8")
    written = [path for path in hour.rglob("*") if path.is_file() and path.name != "history.txt"]
    assert not [path for path in written if b"ghp_" in path.read_bytes()]
    assert not (hour / "gold.looks.jsonl").exists()
