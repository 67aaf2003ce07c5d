"""Dates in gold files are reproducible; times of votes and accesses are real."""

from assay.cli.main import main
from assay.clock import timestamp
from assay.gold.review.items import ReviewQueue
from tests.gold.mining.conftest import committed, repository, tree  # noqa: F401


def test_the_day_of_mined_items_follows_source_date_epoch(tmp_path, monkeypatch, capsys, repository):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert main(["gold", "mine", "code", "--set", "gold.yaml", "--from", "docs", "--json"]) == 0
    assert {item.on for item in ReviewQueue(tmp_path / "gold.yaml").items()} == {"1970-01-02"}
    assert timestamp() > "2026"
