"""What the ledger shows: totals, rules, and what must be said of many tries."""

from dataclasses import replace
from pathlib import Path

from assay.experiment.ledger import PRESETS, Ledger, Tuning
from assay.report.ledger_entries import entry_document, ledger_document, ledger_json
from assay.report.render.document import Paragraph, Table, to_markdown
from assay.report.rows_file import corpora_hash
from tests.experiment.ledger.entries import entry


def numbered(*entries):
    return Ledger(Path("ledger.jsonl"), tuple(replace(one, number=at) for at, one in enumerate(entries, 1)))


def column(document, title):
    (table,) = [block for block in document.blocks if isinstance(block, Table)]
    at = [head.title for head in table.columns].index(title)
    return [row[at].text for row in table.rows]


def said(document):
    return " ".join(block.text for block in document.blocks if isinstance(block, Paragraph))


def test_the_total_adds_what_was_accepted_and_no_ablation():
    book = numbered(
        entry(1, gain=0.01),
        entry(2, accepted=False, gain=-0.3),
        entry(3, how="ablate", gain=0.5),
        entry(4, how="tune", gain=0.02),
    )
    document = ledger_document(book)
    assert column(document, "Total") == ["+0.0100", "+0.0100", "+0.0100", "+0.0300"]
    assert column(document, "Outcome") == ["accepted", "rejected", "accepted", "accepted"]
    assert document.title == "ledger.jsonl: 4 changes tried, 3 accepted"
    assert "so it is too high" in said(document)


def test_totals_are_kept_by_measure():
    other = entry(2, gain=0.5)
    book = numbered(entry(1, gain=0.01), replace(other, evidence=replace(other.evidence, measure="RR@10")))
    assert column(ledger_document(book), "Total") == ["+0.0100", "+0.5000"]


def test_many_tries_on_one_set_are_told_with_what_luck_would_accept():
    book = numbered(*(entry(at) for at in range(40)), entry(50, gold="other"))
    text = said(ledger_document(book))
    assert "40 changes were tried on shop" in text
    assert "about 1.0 of them would be better" in text
    assert "tried on other" not in text


def test_each_rule_is_said_once_with_its_entries():
    seed = PRESETS["seed-001"]
    book = numbered(entry(1), replace(entry(2), rule=seed), replace(entry(3), rule=seed), entry(4))
    text = said(ledger_document(book))
    assert "(entries 1, 4)." in text
    assert "(entries 2–3)." in text


def test_the_worst_repository_is_shown_with_its_queries():
    assert column(ledger_document(numbered(entry(1))), "Worst repository") == ["r2 -0.003 (n=30)"]


def test_an_entry_shows_all_that_it_rests_on():
    one = replace(entry(1), number=1, by="ann", tuning=Tuning(9, 20, 0.85, 0.81))
    text = to_markdown(entry_document(one))
    for part in ("search.stem.files: 0.2 → 0.4", "by ann", "9 points, 20 splits", "r1", "d0", "g0", "significant"):
        assert part in text.replace("\\", "")


def test_a_ledger_is_json_as_it_is_in_the_file():
    data = ledger_json(numbered(entry(1)))
    assert data["entries"][0]["assay_ledger"] == 1
    assert data["entries"][0]["number"] == 1


def test_an_empty_ledger_says_how_to_begin():
    assert "ledger add" in said(ledger_document(numbered()))


def fact(document, name):
    first = next(block for block in document.blocks if isinstance(block, Table))
    return next(row[1].text for row in first.rows if row[0].text == name)


def test_settings_that_are_empty_or_not_there_are_told():
    changes: dict[str, tuple[object, object]] = {
        "static": ("", None),
        "without": (["references"], []),
        "on": (True, False),
        "n": (1, 2.5),
    }
    shown = fact(entry_document(replace(entry(1), changes=changes)), "change")
    assert shown == 'static: "" → not set; without: ["references"] → []; on: true → false; n: 1 → 2.5'


def test_one_of_a_kind_is_said_in_the_singular():
    one = entry(1)
    seen = replace(one.evidence, repositories=one.evidence.repositories[:1], clusters=1, queries=10)
    assert fact(entry_document(replace(one, evidence=seen)), "queries") == "10 in 1 repository; 1 cluster"
    assert fact(entry_document(one), "queries") == "70 in 2 repositories; 70 clusters"
    text = said(ledger_document(numbered(entry(1), replace(entry(2), rule=PRESETS["seed-001"]))))
    assert "(entry 1)." in text
    assert "1 would have a positive mean." in text


def test_folders_are_named_as_reports_name_them():
    one = entry(1)
    changes = tuple(replace(c, repository=f"path:{c.repository}-0a1b2c") for c in one.evidence.repositories)
    reasons = (replace(one.reasons[0], text="too large a loss on path:r2-0a1b2c -0.3 (n=30)"),)
    one = replace(one, number=1, evidence=replace(one.evidence, repositories=changes), reasons=reasons)
    assert column(ledger_document(numbered(one)), "Worst repository") == ["r2 -0.003 (n=30)"]
    assert "path:" not in to_markdown(entry_document(one))


def test_corpora_have_the_hash_that_reports_show():
    one = replace(entry(1), corpora={"shop": "d" * 64})
    assert fact(entry_document(one), "corpora") == f"shop {'d' * 12}"
    two = {"shop": "d" * 64, "till": "e" * 64}
    assert fact(entry_document(replace(one, corpora=two)), "corpora") == (
        f"{corpora_hash(two)[:12]}: shop {'d' * 12}, till {'e' * 12}"
    )
