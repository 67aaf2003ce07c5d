"""Each check finds the engine that breaks its law, and says nothing of the others."""

import os
import threading
from dataclasses import replace

import pytest

from assay.audit.findings import Severity
from assay.audit.run_audit import run_audit
from assay.corpus import open_corpus, parse_spec
from assay.errors import EngineError
from assay.gold.lint.rules import EngineReach
from assay.types import Query, Span, Target
from tests.audit import specimens
from tests.audit.conftest import QUERIES, SMALL, amiss, audited, made_of

BROKEN, WEAKNESS = Severity.BROKEN, Severity.WEAKNESS

ONE_LAW = {
    "Moody": {"determinism/repeats": BROKEN},
    "Rescoring": {"determinism/repeats": WEAKNESS},
    "NewEachTime": {"determinism/new session": BROKEN},
    "Shallow": {"prefix/top 5 of top 10": BROKEN},
    "Generous": {"depth/at most k": BROKEN},
    "Stingy": {"depth/k if available": BROKEN},
    "Stammering": {"depth/no repeats": WEAKNESS},
    "NotANumber": {"ties/numbers": BROKEN},
    "Zigzag": {"ties/order": WEAKNESS},
    "Flat": {"ties/equal scores": WEAKNESS},
    "Suffix": {"paths/suffix": BROKEN},
    "Outside": {"paths/outside": BROKEN},
    "Imaginary": {"paths/unknown": BROKEN},
    "Absolute": {"paths/absolute": WEAKNESS},
    "Uncounted": {"paths/uncounted": WEAKNESS},
    "Beyond": {"paths/lines": BROKEN},
    "Leaking": {"filters/paths: nothing outside": BROKEN, "filters/languages: nothing outside": BROKEN},
    "Reordering": {"filters/paths: only removes results": BROKEN, "filters/languages: only removes results": BROKEN},
    "AllForNothing": {"filters/paths: nothing passes": BROKEN, "filters/languages: nothing passes": BROKEN},
    "Stale": {"update/change": BROKEN},
    "KeepsTheDead": {"update/delete": BROKEN},
    "Poisoned": {"odd/query afterwards": BROKEN},
    "Optional": {"odd/--version": BROKEN},
}


@pytest.mark.parametrize("name", ["Clean", "Prudish", "Timeless", "Distances", "Unscored"])
def test_audit_of_an_engine_that_keeps_the_laws_finds_nothing(name, market):
    assert amiss(audited(getattr(specimens, name)(), market)) == {}


@pytest.mark.parametrize("name", sorted(ONE_LAW))
def test_audit_finds_the_broken_law_and_nothing_else(name, market):
    assert amiss(audited(getattr(specimens, name)(), market)) == ONE_LAW[name]


def test_ties_that_change_places_are_told_as_such(market):
    found = amiss(audited(specimens.Paired(), market))
    assert found == {"determinism/repeats": BROKEN, "ties/stable": BROKEN, "ties/equal scores": WEAKNESS}


def test_every_quoted_query_that_fails_is_named_with_its_command(market):
    audit = audited(specimens.Quoted(), market, replace(SMALL, only=("odd",)))
    found = {finding.law: finding for finding in audit.findings if finding.severity == BROKEN}
    assert set(found) == {"double quotes", "one double quote", "full-text operators", "JSON"}
    assert "assay engines query specimen 'read \"config' -k 10" in found["one double quote"].commands


def test_hanging_query_is_a_broken_law_and_the_rest_goes_on(market):
    audit = audited(specimens.Hanging(), market, replace(SMALL, only=("odd",), timeout=7.0))
    assert amiss(audit) == {"odd/emoji": BROKEN}
    finding = next(f for f in audit.findings if f.law == "emoji")
    assert finding.sentence.endswith("timed out")
    assert "no answer after 7.0 s" in str(finding.example)


def test_query_that_spoils_the_next_one_is_named_though_it_did_not_fail(market):
    audit = audited(specimens.Poisoned(), market, replace(SMALL, only=("odd",)))
    finding = next(f for f in audit.findings if f.law == "query afterwards")
    assert finding.sentence == "after “two dashes” an ordinary query no longer gives the same ranking"
    assert finding.commands[0] == "assay engines query -k 10 -- specimen --"


def test_engine_that_hangs_on_every_odd_query_is_given_up(market):
    class Stuck(specimens.Hanging):
        class Session(specimens.Hanging.Session):
            def hangs(self, query):
                return query not in QUERIES

    audit = audited(Stuck(), market, replace(SMALL, only=("odd",)))
    assert {f.law: f.severity for f in audit.findings} == {
        "empty": BROKEN, "blank": BROKEN, "one character": BROKEN,
        "the rest": Severity.NOT_TRIED, "query afterwards": Severity.FINE,
    }  # fmt: skip


def test_engine_that_really_hangs_times_out(market):
    never = threading.Event()

    class Stuck(specimens.Clean):
        class Session(specimens.Clean.Session):
            def search(self, query, k):
                never.wait()
                return super().search(query, k)

    audit = audited(Stuck(), market, replace(SMALL, only=("answers",), timeout=0.05))
    never.set()
    assert [finding.sentence for finding in audit.findings] == ["4 of 4 ordinary queries failed"]
    assert audit.answered == 0


@pytest.mark.parametrize(
    ("name", "law"),
    [("Hashing", "hash seed"), pytest.param("Threaded", "threads", marks=pytest.mark.nightly), ("Clean", "")],
)
def test_determinism_in_other_processes_finds_the_one_difference(name, law, market):
    audit = run_audit(made_of(name, market), replace(SMALL, only=("determinism",)))
    usual = dict.fromkeys(("repeats", "new session", "hash seed", "threads"), Severity.FINE)
    expected = usual | ({law: BROKEN} if law else {})
    if len(os.sched_getaffinity(0)) == 1:
        expected["threads"] = Severity.NOT_TRIED
    assert {f.law: f.severity for f in audit.findings} == expected


def test_determinism_elsewhere_is_not_passed_in_silence(market):
    audit = audited(specimens.Clean(), market, replace(SMALL, only=("determinism",)))
    untried = {f.law: f.sentence for f in audit.findings if f.severity == Severity.NOT_TRIED}
    assert set(untried) == {"hash seed", "threads"}
    assert "another process cannot create" in untried["hash seed"]


def test_engine_that_differs_from_itself_is_not_blamed_for_more(market):
    audit = audited(specimens.Moody(), market)
    untried = {f"{f.check}/{f.law}" for f in audit.findings if f.severity == Severity.NOT_TRIED}
    assert {"determinism/new session", "determinism/hash seed", "odd/query afterwards"} <= untried


def test_prefix_finding_counts_queries_and_shows_both_rankings(market):
    audit = audited(specimens.Shallow(), market, replace(SMALL, only=("prefix",)))
    finding = next(f for f in audit.findings if f.severity == BROKEN)
    assert finding.sentence == "top-5 is not a prefix of top-10 on 4 of 4 queries"
    assert finding.share is not None
    assert (finding.share.count, finding.share.of) == (4, 4)
    assert 0.5 < finding.share.low < finding.share.high == 1.0
    assert [line.partition(":")[0] for line in finding.example] == [
        "query",
        "top 5",
        "top 10",
        "first difference at rank 1",
    ]
    assert finding.commands[:2] == (
        "assay engines query specimen 'add item cart' -k 5",
        "assay engines query specimen 'add item cart' -k 10",
    )


def test_engine_without_filters_or_updates_is_said_to_have_none(market):
    audit = audited(lambda query, k: ["shop/cart.py"], market)
    said = {f"{f.check}/{f.law}" for f in audit.findings if f.severity == Severity.NOT_APPLICABLE}
    assert said == {
        "ties/scores", "paths/lines", "filters/paths", "filters/languages", "reachability/targets", "update/update",
    }  # fmt: skip


def gold_on(*paths):
    """One query for each path, asked by a word that is nowhere."""
    return tuple(Query(f"q{at}", {"human": f"nowhere{at}"}, (Target(Span(path)),)) for at, path in enumerate(paths))


def test_reachability_by_asking_names_what_was_not_found_and_the_ceiling(market):
    gold = gold_on("shop/cart.py", "shop/tax.py", "pay/card.py", "web/label.js")
    audit = audited(specimens.Blind(), market, replace(SMALL, only=("reachability",)), gold=gold)
    (finding,) = audit.findings
    assert finding.severity == WEAKNESS
    assert finding.sentence.startswith(
        "1 of 4 targets of 4 queries were not returned: R@10 and nDCG@10 would be at most"
    )
    assert "0.750 and 0.750" in finding.sentence
    assert "does not prove" in finding.sentence
    assert finding.example == ("query q1: shop/tax.py",)


def test_reachability_of_an_engine_that_returns_all_is_fine(market):
    gold = gold_on("shop/cart.py", "shop/tax.py")
    audit = audited(specimens.Clean(), market, replace(SMALL, only=("reachability",)), gold=gold)
    assert [f.severity for f in audit.findings] == [Severity.FINE]


def test_reachability_by_known_chunks_is_proof_and_asks_nothing(market):
    def chunks(path):
        return [] if path == "pay/card.py" else [Span(path, 1, 3)]

    gold = gold_on("shop/cart.py", "pay/card.py")
    config = replace(SMALL, only=("reachability",))
    audit = audited(specimens.Clean(), market, config, gold=gold, reach=EngineReach("known", chunks))
    (finding,) = audit.findings
    assert "1 of 2 targets of 2 queries can never be returned: R@10 and nDCG@10 are at most 0.500" in finding.sentence


def test_ordinary_queries_that_fail_are_counted(market):
    audit = audited(specimens.half_failing, market, replace(SMALL, only=("answers",)))
    (finding,) = audit.findings
    assert finding.sentence == "3 of 4 ordinary queries failed"
    assert audit.answered == 1


def by_law(audit):
    return {f"{f.check}/{f.law}": f for f in audit.findings}


def test_update_of_an_engine_that_does_not_see_the_edits_is_no_pass(market):
    found = by_law(audited(specimens.Elsewhere(), market, replace(SMALL, only=("update",))))
    assert set(found) == {"update/change", "update/add", "update/rename", "update/delete"}
    assert {finding.severity for finding in found.values()} == {Severity.NOT_TRIED}
    for finding in found.values():
        assert finding.sentence.startswith("not tried: the engine does not see the edits")
        assert "its settings do not name {root}" in finding.sentence


def test_update_that_shows_is_a_pass_for_every_edit(market):
    found = by_law(audited(specimens.Clean(), market, replace(SMALL, only=("update",))))
    assert {law: finding.severity for law, finding in found.items()} == dict.fromkeys(
        ("update/change", "update/add", "update/rename", "update/delete"), Severity.FINE
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [("mcp", "declare a command for changed files as `update`"), ("x", "keeps parts of the old files")],
)
def test_stale_update_says_what_to_do(market, kind, words):
    class Stale(specimens.Stale):
        config = {"kind": kind}

    audit = audited(Stale(), market, replace(SMALL, only=("update",)))
    assert words in next(f.sentence for f in audit.findings if f.severity == BROKEN)


def test_server_of_somebody_else_is_not_said_to_have_a_fresh_index_or_our_hash_seed(market):
    found = by_law(audited(specimens.Elsewhere(), market, replace(SMALL, only=("determinism",))))
    assert "on the index that the server has" in found["determinism/new session"].sentence
    for law in ("determinism/hash seed", "determinism/threads"):
        assert found[law].severity == Severity.NOT_TRIED
        assert "does not start the server" in found[law].sentence


def test_engine_that_rolls_dice_is_blamed_once(market):
    audit = audited(specimens.Dice(), market)
    assert amiss(audit) == {"determinism/repeats": BROKEN}
    found = by_law(audit)
    blamed = [law for law in found if law.startswith("prefix/")]
    blamed += ["filters/paths: only removes results", "filters/languages: only removes results"]
    for law in blamed:
        assert found[law].severity == Severity.NOT_TRIED
        assert found[law].sentence == "not tried: the engine is not deterministic"


def test_engine_that_says_nothing_passes_nothing_that_compares_results(market):
    found = by_law(audited(specimens.Mute(), market, replace(SMALL, only=("determinism", "filters", "update"))))
    assert len(found) > 10
    assert {finding.severity for finding in found.values()} == {Severity.NOT_TRIED}


def test_filter_that_everything_passes_is_not_tried(market, tmp_path):
    (tmp_path / "flat/src").mkdir(parents=True)
    for name in ("cart", "tax"):
        (tmp_path / f"flat/src/{name}.py").write_text(
            f"def {name}(value):\n    return value\n\n\ndef last():\n    pass\n"
        )
    corpus = open_corpus(parse_spec(str(tmp_path / "flat")))
    found = by_law(audited(specimens.Clean(), corpus, replace(SMALL, only=("filters",))))
    for law in ("nothing outside", "only removes results"):
        assert found[f"filters/languages: {law}"].severity == Severity.NOT_TRIED
        assert "on both sides" in found[f"filters/languages: {law}"].sentence
    assert found["filters/languages: nothing passes"].severity == Severity.FINE


def test_filter_that_always_fails_keeps_no_other_law(market):
    class Refusing(specimens.Clean):
        class Session(specimens.Clean.Session):
            def search_filtered(self, query, k, wanted, seconds):
                raise EngineError("no filters today")

    found = by_law(audited(Refusing(), market, replace(SMALL, only=("filters",))))
    assert {law: finding.severity for law, finding in found.items()} == {
        "filters/paths: answers": BROKEN,
        "filters/languages: answers": BROKEN,
    }
