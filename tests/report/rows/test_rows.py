"""One row an engine, merged over runs: who is there, with which numbers, and why some are stale."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from assay import load_gold, run
from assay.errors import InputError
from assay.experiment.records import config_hash
from assay.experiment.records.merge import RESET, UNDECLARED, RetainedEngine, comparability_of
from assay.experiment.spec.analysis_plan import make_measures
from assay.report.analysis import analyze
from assay.report.publish import publish, reopen
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.report.rows_file import GONE, carry_over, corpora_hash, read_rows, rows_text, skipped_note
from assay.types import AnalysisPlan, EngineRun, Run
from tests.report.shared import sourceless

PLAN = AnalysisPlan(make_measures(10, None, ()), "base")
ENGINES = sourceless(
    {
        "base": lambda q, k: ["shop/tax.py"],
        "mine": lambda q, k: ["shop/cart.py"],
        "other": lambda q, k: ["shop/retry.py"],
    }
)


def asked(*names: str, k: int = 10, date: str = "2026-01-01", skipped: Mapping[str, str] = MappingProxyType({})) -> Run:
    made = run({name: ENGINES[name] for name in names}, load_gold("gold.yaml"), k=k)
    engines = tuple(replace(timed(engine), date=date) for engine in made.engines)
    return replace(made, engines=engines, header=replace(made.header, date=date, skipped=dict(skipped)))


def timed(engine: EngineRun) -> EngineRun:
    """Give an engine the same times in every run: rows hold them."""
    rankings = tuple(replace(ranking, seconds=0.01) for ranking in engine.rankings)
    return replace(engine, rankings=rankings, index_seconds={"shop": 0.1}, resources={})


def states(rows):
    return {row.engine: (row.state, row.reason) for row in rows}


def test_rows_say_what_each_engine_was_measured_with(shop):
    made = asked("base", "mine")
    results = analyze(made, PLAN)
    base, mine = results.rows
    mean = next(m for m in results.comparison.means if (m.engine, m.measure) == ("mine", "nDCG@10"))
    value = mine.value("nDCG@10")
    assert value
    assert (value.mean, value.low, value.high) == (mean.mean, mean.interval.low, mean.interval.high)
    assert [v.measure for v in mine.values] == list(PLAN.measures)
    assert (mine.date, mine.assay, mine.k, mine.queries, mine.repositories) == (
        "2026-01-01",
        made.header.assay,
        10,
        3,
        1,
    )
    assert (mine.gold_hash, mine.corpora) == (made.header.gold_hash, {"shop": made.header.corpora["shop"].digest})
    assert mine.config_hash == config_hash(made.engines[1].config)
    assert mine.verdict == results.comparison.rows[0].summary
    assert (base.verdict, base.baseline) == ("", "base")


def test_failed_queries_are_counted_in_the_row(shop):
    def fails(query, k):
        if "country" in query:
            raise OSError("no")
        return ["shop/cart.py"]

    made = run({"base": ENGINES["base"], "mine": fails}, load_gold("gold.yaml"))
    row = analyze(made, PLAN).rows[1]
    assert (row.failed, row.asked) == (3, 9)


def test_skipped_engine_has_a_row_with_its_reason(shop):
    results = analyze(asked("base", skipped={"paid": "env:KEY is not set"}), PLAN)
    assert states(results.rows)["paid"] == ("skipped", "env:KEY is not set")
    assert "skipped: env:KEY is not set" in to_markdown(document(results))
    assert skipped_note(results.rows) == "Not run: paid (env:KEY is not set)."


def test_reason_of_a_skipped_engine_stands_under_verdict_whatever_is_measured(shop):
    for measures in (("nDCG@10",), ("nDCG@10", "RR@10", "Hit@1")):
        results = analyze(asked("base", skipped={"paid": "no key"}), AnalysisPlan(measures, "base"))
        lines = to_markdown(document(results)).splitlines()
        head, paid = (next(line for line in lines if line.startswith(f"| {name} |")) for name in ("Engine", "paid"))
        place = head.split(" | ").index("Verdict")
        assert paid.split(" | ")[place] == "skipped: no key"


def test_results_begin_with_the_table_of_all_rows(shop):
    text = to_markdown(document(analyze(asked("base", "mine"), PLAN)))
    assert text.startswith("# shop\n\n```text\n")
    heading, head, *_ = [line for line in text.split("```\n")[1].splitlines() if line]
    assert heading == "## Results"
    assert head.startswith("| Engine | nDCG@10 |")


def test_rows_read_back_as_they_were_written(shop, tmp_path):
    rows = analyze(asked("base", "mine", skipped={"paid": "no"}), PLAN).rows
    (tmp_path / "rows.json").write_text(rows_text(rows))
    assert read_rows(tmp_path) == rows
    assert len((tmp_path / "rows.json").read_text().splitlines()) == len(rows) + 6 - 1
    json.loads(rows_text(()))


def test_rows_that_cannot_be_read_are_an_input_error(tmp_path):
    for text in ("{", '{"schema": "x"}', '{"schema": "assay/rows/1", "rows": [{"engine": 1}]}'):
        (tmp_path / "rows.json").write_text(text)
        with pytest.raises(InputError, match="rows of earlier runs"):
            read_rows(tmp_path)


def test_engine_that_is_not_asked_keeps_its_place_where_it_can_be_compared(shop, tmp_path):
    both = publish(asked("base", "mine"), PLAN, tmp_path).results
    declared = {e.name: RetainedEngine(config_hash(e.config)) for e in asked("base", "mine").engines}
    done = publish(asked("mine", date="2026-02-02"), PLAN, tmp_path, declared=declared)
    assert done.kept == ("base",)
    assert states(done.results.rows) == {"base": ("measured", ""), "mine": ("measured", "")}
    assert [row.date for row in done.results.rows] == ["2026-01-01", "2026-02-02"]
    assert done.results.comparison.rows == both.comparison.rows


def test_engine_that_is_no_longer_declared_stays_as_a_stale_row(shop, tmp_path):
    publish(asked("base", "mine", "other"), PLAN, tmp_path)
    done = publish(asked("base", "mine"), PLAN, tmp_path)
    assert states(done.results.rows)["other"] == ("stale", UNDECLARED)
    assert [e.name for e in done.run.engines] == ["base", "mine"]
    again = publish(asked("base", "mine"), PLAN, tmp_path)
    assert states(again.results.rows)["other"] == ("stale", UNDECLARED)
    text = (tmp_path / "RESULTS.md").read_text()
    assert "## Stale rows" in text
    assert f"| other | {UNDECLARED} | nDCG@10 |" in text
    forgotten = publish(asked("base", "mine"), PLAN, tmp_path, drop_stale=True)
    assert "other" not in states(forgotten.results.rows)
    assert "other" not in (tmp_path / "rows.json").read_text()


def test_changed_corpus_gold_k_and_settings_make_a_row_stale_with_the_reason(shop, tmp_path):
    publish(asked("base", "mine"), PLAN, tmp_path / "k")
    for name in ("settings", "gold", "corpus"):
        shutil.copytree(tmp_path / "k", tmp_path / name)
    shallow = AnalysisPlan(make_measures(5, None, ()), "base")
    done = publish(asked("base", k=5), shallow, tmp_path / "k", declared={"mine": RetainedEngine()})
    assert states(done.results.rows)["mine"] == ("stale", "it was run with k = 10, not 5")

    done = publish(asked("base"), PLAN, tmp_path / "settings", declared={"mine": RetainedEngine("another")})
    assert states(done.results.rows)["mine"] == ("stale", RESET)

    gold = (shop / "gold.yaml").read_text()
    (shop / "gold.yaml").write_text(gold.replace("cart total sum", "total of a cart"))
    done = publish(asked("base"), PLAN, tmp_path / "gold", declared={"mine": RetainedEngine()})
    assert states(done.results.rows)["mine"] == ("stale", "the gold set changed since")
    (shop / "gold.yaml").write_text(gold)

    (shop / "shop" / "new.py").write_text("x = 1\n")
    done = publish(asked("base"), PLAN, tmp_path / "corpus", declared={"mine": RetainedEngine()})
    assert states(done.results.rows)["mine"] == ("stale", "the corpus changed since (shop)")


def test_engine_that_is_skipped_now_shows_its_earlier_numbers(shop, tmp_path):
    publish(asked("base", "mine"), PLAN, tmp_path)
    done = publish(asked("base", skipped={"mine": "env:KEY is not set"}), PLAN, tmp_path)
    rows = {row.engine: row for row in done.results.rows}
    assert states(rows.values())["mine"] == ("stale", "not run this time: env:KEY is not set")
    assert rows["mine"].value("nDCG@10") is not None


def test_writing_twice_gives_equal_bytes_and_carrying_twice_the_same_rows(shop, tmp_path):
    publish(asked("base", "mine", "other"), PLAN, tmp_path)
    made = asked("base", "mine", skipped={"paid": "no"})
    texts = []
    for _ in range(2):
        publish(made, PLAN, tmp_path)
        texts.append({p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()})
    assert texts[0] == texts[1]
    results = reopen(made, PLAN, tmp_path)[1]
    assert rows_text(results.rows) == (tmp_path / "rows.json").read_text()


def test_row_without_records_says_that_they_are_gone(shop):
    made = asked("base", "mine")
    earlier = analyze(made, PLAN).rows
    rows = carry_over(earlier[:1], earlier, comparability_of(made))
    assert states(rows)["mine"] == ("stale", GONE)


def test_baseline_that_is_not_there_is_replaced_and_told(shop, tmp_path):
    done = publish(asked("mine", "other", skipped={"base": "tool:rg is missing"}), PLAN, tmp_path)
    assert done.results.comparison.baseline == "mine"
    assert done.results.warnings[0].startswith("The declared baseline base is not in this run (tool:rg is missing)")
    assert done.run.header.analysis_plan
    assert done.run.header.analysis_plan.baseline == "mine"


def test_new_rows_change_only_their_own_lines(shop, tmp_path):
    publish(asked("base", "mine"), PLAN, tmp_path)
    before = (tmp_path / "rows.json").read_text().splitlines()
    publish(asked("base", "mine", "other"), PLAN, tmp_path)
    after = (tmp_path / "rows.json").read_text().splitlines()
    plain = [[line.rstrip(",") for line in lines] for lines in (before, after)]
    # The verdict on mine is adjusted for two comparisons now; base is untouched.
    assert plain[0][:4] == plain[1][:4]
    assert len(after) == len(before) + 1


def test_hash_of_corpora_is_the_same_in_every_file(shop, tmp_path):
    results = publish(asked("base", "mine"), PLAN, tmp_path).results
    row = json.loads((tmp_path / "rows.json").read_text())["rows"][0]
    assert row["corpora_hash"] == row["corpora"]["shop"] == results.header.corpora["shop"].digest
    page = (tmp_path / "RESULTS.md").read_text()
    assert page.count(f"| {row['corpora_hash'][:12]} |") == 2 + 1  # two rows, and the inputs
    assert f"corpora {row['corpora_hash']}." in page
    assert read_rows(tmp_path) == results.rows


def test_hash_of_several_corpora_depends_on_each_and_not_on_their_order():
    one = corpora_hash({"a": "1", "b": "2"})
    assert one == corpora_hash({"b": "2", "a": "1"})
    assert len({one, corpora_hash({"a": "1", "b": "3"}), corpora_hash({"a": "2", "b": "1"})}) == 3
    assert corpora_hash({"a": "1", "b": "1"}) == "1"
