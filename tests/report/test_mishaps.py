"""Failures, broken contracts and strange paths are named, counted and harmless."""

import io
import json
import re
from dataclasses import replace

import pytest

from assay import Hit, load_gold, run
from assay.errors import EngineTimeoutError
from assay.experiment import read_run, write_run
from assay.experiment.spec.analysis_plan import make_measures
from assay.report.analysis import analyze
from assay.report.engine_behavior import contract_violations, path_mismatches, query_failures
from assay.report.publish import write_reports
from assay.report.render.document import to_markdown
from assay.report.render.formatting import plain
from assay.report.render.terminal_text import print_document
from assay.report.report_sections import document
from assay.report.results_file import results_json
from assay.report.scored_run import score_run
from assay.types import AnalysisPlan, Status
from tests.report.shared import sourceless

HOSTILE = (
    "\x1b[31m</pre></details><script>alert(1)</script>\x1b]0;t\x07 | `x` **b** [l](javascript:x)\u202e\x00\ud800 @team"
)


def right(query, k):
    return ["shop/cart.py"]


def made(shop, mine, **settings):
    return run(sourceless({"base": right, "mine": mine}), load_gold("gold.yaml"), failed="report", **settings)


PLAN = AnalysisPlan(make_measures(10, None, ()), "base")


def results(result):
    return analyze(result, PLAN)


def terminal(result):
    stream = io.StringIO()
    print_document(document(results(result)), stream)
    return stream.getvalue()


def with_mine(result, **changes):
    return replace(result, engines=(result.engines[0], replace(result.engines[1], **changes)))


def often_broken(query, k):
    """Fail in three ways."""
    if "total" in query:
        raise EngineTimeoutError("no answer after 3 s", hint="raise timeout")
    if "country" in query:
        raise RuntimeError(f"HTTP {len(query)} from 'server-{len(query)}'")
    return right(query, k)


def test_failures_are_counted_by_kind_and_by_message(shop):
    found = query_failures(made(shop, often_broken))
    assert [(m.kind, m.queries) for m in found] == [("timeout", 2), ("error", 3)]
    assert [m.first for m in found] == ["shop/cart-total (human)", "shop/tax-lookup (human)"]
    assert found[0].share == pytest.approx(2 / 9)
    assert found[1].message.startswith("RuntimeError: HTTP 42 from 'server-42'")


def test_engine_that_does_not_open_is_told_apart_from_one_that_fails(shop):
    class Shut:
        def open(self, corpus):
            raise RuntimeError("no licence")

    (found,) = query_failures(made(shop, Shut()))
    assert (found.kind, found.queries, found.share) == ("could not be opened", 9, 1.0)
    assert "no licence" in found.message


def test_report_names_failures_and_what_they_cost(shop):
    text = terminal(made(shop, often_broken, timeout=3.0))
    part = text.partition("Failed queries")[2]
    for words in (
        "timeout",
        "22%",
        "no answer after 3 s",
        "worst value of every measure (nDCG@10 0",
        "count as the timeout (3 s)",
        "Failed queries get the worst value",
    ):
        assert words in " ".join(part.split())


def test_run_without_trouble_has_no_section_on_it(shop):
    text = terminal(made(shop, right))
    assert "Failed queries" not in text
    assert "Contract violations" not in text
    assert "stderr" not in text


def test_breaches_are_added_up_over_queries_with_an_example(shop):
    hits = [Hit("gone.py"), Hit("shop/cart.py", 5, 999), *(Hit(f"x{n}.py") for n in range(20))]
    found = {b.kind: b for b in contract_violations(made(shop, lambda q, k: hits))}
    paths = found["paths not in the corpus"]
    assert (paths.queries, paths.times, paths.of, paths.example) == (9, 81, 90, "gone.py")
    assert found["ranges past the end of the file, clipped"].times == 9
    cut = next(b for b in found.values() if b.kind.startswith("expected at most 10 results"))
    assert (cut.queries, cut.of) == (9, 0)


def test_notes_of_an_engine_that_differ_in_numbers_are_one_breach(shop):
    result = made(shop, right)
    notes = [f"{n} of 40 lines are no location and were left out" for n in range(1, 10)]
    rankings = tuple(replace(r, notes=(n,)) for r, n in zip(result.engines[1].rankings, notes, strict=True))
    (found,) = contract_violations(with_mine(result, rankings=rankings))
    assert (found.kind, found.times, found.of) == ("lines are no location and were left out", 45, 360)


@pytest.mark.parametrize(
    ("returned", "beside", "cause"),
    [
        ("repo/shop/tax.py", "has shop/tax.py", "begin with repo/"),
        ("tax.py", "has shop/tax.py", "lack shop/"),
        ("/srv/other/shop/tax.py", "has shop/tax.py", "absolute"),
        ("document 7", "", "no path is similar"),
    ],
)
def test_engine_whose_paths_are_all_foreign_is_called_out_first(shop, returned, beside, cause):
    result = made(shop, lambda q, k: [returned])
    found = results(result)
    (stray,) = found.path_mismatches
    assert (stray.engine, stray.gold, stray.results) == ("mine", "shop", 9)
    loud = found.warnings[0]
    assert loud.startswith("No path of mine exists in the corpus of shop (9 results)")
    assert returned in loud
    assert beside in loud
    assert cause in loud
    assert not [w for w in found.warnings if "results are no files" in w]
    assert loud.split()[:6] == terminal(result).partition("\n! ")[2].split()[:6]


def test_engine_with_one_path_of_the_corpus_is_not_called_out(shop):
    result = made(shop, lambda q, k: ["elsewhere.py", "shop/cart.py"])
    assert path_mismatches(result) == ()
    assert any("9 of 18 results are not in the corpus" in warning for warning in results(result).warnings)


def test_engine_without_results_is_not_called_out(shop):
    assert path_mismatches(made(shop, lambda q, k: [])) == ()


def hostile(shop):
    """A run where everything an engine may write is hostile."""
    result = made(shop, lambda q, k: [HOSTILE, "x" * 100_000])
    rankings = [replace(r, notes=(HOSTILE, f"3 of 9 {HOSTILE}, e.g. {HOSTILE}")) for r in result.engines[1].rankings]
    rankings[0] = replace(rankings[0], status=Status.CRASH, error=HOSTILE, hits=(), tokens=())
    said = {"shop": HOSTILE + "\n" + "y" * 100_000 + "\n" + HOSTILE}
    notes = (HOSTILE, "z" * 100_000)
    return with_mine(result, rankings=tuple(rankings), version=HOSTILE, stderr=said, notes=notes)


def test_hostile_engine_is_text_in_markdown(shop):
    page = to_markdown(document(results(hostile(shop))))
    fenced = re.compile(r"^(`{3,})\w*\n.*?^\1$", re.MULTILINE | re.DOTALL)
    assert "<script" not in fenced.sub("", page)
    assert "](javascript" not in page.replace("\\]", "")
    assert " @team" not in page
    assert not set(page) & {"\x1b", "\x00", "\x07", "\u202e", "\ud800"}
    assert max(map(len, page.splitlines())) < 5_000


def test_hostile_engine_is_text_on_a_terminal(shop):
    text = terminal(hostile(shop))
    assert not set(text) & {"\x1b", "\x00", "\x07", "\u202e", "\ud800"}
    assert "y" * 200 not in text
    assert "report.html has the last lines of mine" in text


def test_hostile_run_is_written_and_read_again(shop, tmp_path):
    result = hostile(shop)
    write_run(result, tmp_path)
    assert read_run(tmp_path) == result
    write_reports(results(result), score_run(result, PLAN), tmp_path)
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(data["failed_queries"][0]) == {"engine", "kind", "queries", "share", "message", "first"}
    assert set(data["contract_violations"][0]) == {"engine", "kind", "queries", "times", "of", "example"}
    assert set(data["path_mismatches"][0]) == {"engine", "gold", "results", "returned", "there", "cause"}
    assert set(data["stderr"][0]) == {"engine", "gold", "text"}


def test_half_a_character_fits_into_json_for_programs():
    assert json.dumps(plain({"path": ["a\ud800é"]}), ensure_ascii=False).encode() == b'{"path": ["a\\\\ud800\xc3\xa9"]}'


def test_end_of_stderr_is_what_is_kept(shop):
    result = with_mine(made(shop, right), stderr={"shop": "first\n" + "x" * 10_000 + "\nthe cause\n", "other": " \n"})
    (said,) = results(result).stderr
    assert said.text.endswith("the cause")
    assert "first" not in said.text
    assert results_json(results(result))["stderr"][0]["gold"] == "shop"
