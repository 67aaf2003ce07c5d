"""What engines took, checked against numbers computed by hand."""

from dataclasses import replace

import pytest

from assay import load_gold, run
from assay.experiment.spec.analysis_plan import make_measures
from assay.gold import join
from assay.report.analysis import analyze
from assay.report.engine_behavior import measure_costs, timing_conditions
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.report.results_file import results_json
from assay.types import AnalysisPlan, Cost, Resources, Status
from tests.conftest import enter_shared
from tests.report.shared import make_in_shop

#: Seconds of the nine questions of the shop: the first one is cold.
SLOW = (0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@pytest.fixture(scope="module")
def _made(tmp_path_factory):
    engines = {"base": lambda q, k: ["shop/cart.py"], "mine": lambda q, k: []}
    return make_in_shop(tmp_path_factory, lambda: run(engines, load_gold("gold.yaml"), timeout=7.0))


@pytest.fixture
def made(_made, monkeypatch):
    """A run of two engines on one corpus, with times that are known."""
    folder, result = _made
    base, mine = result.engines
    for _ in enter_shared(folder, monkeypatch):
        yield replace(result, engines=(timed(base, [0.01] * 9, 0.2), timed(mine, SLOW, 1.5)))


def timed(engine, seconds, index):
    rankings = tuple(replace(r, seconds=s) for r, s in zip(engine.rankings, seconds, strict=True))
    return replace(engine, rankings=rankings, index_seconds={"shop": index}, resources={}, stderr={})


def with_mine(result, **changes):
    return replace(result, engines=(result.engines[0], replace(result.engines[1], **changes)))


def spent(result):
    return {row.engine: row for row in measure_costs(result)}


def page(result):
    return to_markdown(document(analyze(result, AnalysisPlan(make_measures(10, None, ()), "base"))))


def section(result, title="Time and memory"):
    return next(part for part in page(result).split("\n## ") if part.startswith(title))


def test_first_query_is_kept_apart_from_warm_ones(made):
    mine = spent(made)["mine"]
    assert mine.first_ms == pytest.approx(900)
    assert mine.warm_ms == pytest.approx(450)
    assert mine.warm_p95_ms == pytest.approx(765)
    assert mine.warm_queries == 8


def test_failed_query_is_charged_the_whole_time_it_had(made):
    rankings = made.engines[1].rankings
    failed = tuple(replace(r, status=Status.CRASH, hits=(), tokens=()) if n > 3 else r for n, r in enumerate(rankings))
    mine = spent(with_mine(made, rankings=failed))["mine"]
    assert mine.warm_p95_ms == 7000.0
    assert mine.warm_ms == 7000.0
    assert mine.first_ms == pytest.approx(900)
    assert mine.warm_ratio is None  # what failures are charged is no speed
    assert "mine 5 (timeout 7 s; median time 600.0 ms)" in section(with_mine(made, rankings=failed))


def broken(rankings, count, status=Status.ERROR, seconds=0.004):
    """Let the last so many queries fail at once."""
    whole = len(rankings) - count
    failed = (replace(r, status=status, hits=(), tokens=(), seconds=seconds) for r in rankings[whole:])
    return (*rankings[:whole], *failed)


def cells(result, engine="mine"):
    lines = section(result).splitlines()
    titles = [cell.strip() for cell in lines[2].strip("|").split("|")]
    row = next(line for line in lines if line.startswith(f"| {engine}"))
    return dict(zip(titles, (cell.strip() for cell in row.strip("|").split("|")), strict=True))


def test_engine_that_failed_at_once_is_shown_as_failed_not_at_the_cap(made):
    result = with_mine(made, rankings=broken(made.engines[1].rankings, 9))
    row = cells(result)
    assert (row["First query (ms)"], row["Median (ms)"], row["p95 (ms)"]) == ("failed", "failed", "failed")
    assert "7,000" not in section(result)
    assert "mine 9 (timeout 7 s; median time 4.0 ms)" in section(result)
    assert spent(result)["mine"].warm_ms == 7000.0  # what is scored stays at the cap


def test_median_of_the_answered_stands_beside_most_failed(made):
    row = cells(with_mine(made, rankings=broken(made.engines[1].rankings, 5)))
    assert (row["First query (ms)"], row["Median (ms)"], row["p95 (ms)"]) == (
        "900.0",
        "failed (200.0 answered)",
        "failed",
    )
    row = cells(with_mine(made, rankings=broken(made.engines[1].rankings, 1)))
    assert row["Median (ms)"] == "450.0"
    assert row["p95 (ms)"] not in ("failed", "765.0")  # the cap of the one that failed is in it


def test_failure_is_charged_the_limit_of_the_engine_where_that_is_shorter(made):
    rankings = broken(made.engines[1].rankings, 9, Status.TIMEOUT, 1.05)
    result = with_mine(made, rankings=rankings, config={"kind": "command", "timeout": 1})
    assert spent(result)["mine"].warm_ms == 1000.0
    assert "mine 9 (timeout 1 s; median time 1,050.0 ms)" in section(result)
    assert "count as the timeout (7 s, mine 1 s)" in section(result, "Failed queries")
    longer = with_mine(made, rankings=rankings, config={"kind": "command", "timeout": 90.0})
    assert spent(longer)["mine"].warm_ms == 7000.0


def test_engine_that_never_opened_took_no_time(made):
    rankings = broken(made.engines[1].rankings, 9, seconds=0.0)
    text = section(with_mine(made, rankings=rankings, index_seconds={}))
    assert "mine 9 (timeout 7 s; none was sent)" in text


def test_start_up_is_no_part_of_the_index(made):
    mine = spent(with_mine(made, resources={"shop": Resources(startup_seconds=0.5)}))["mine"]
    assert mine.startup_seconds == 0.5
    assert mine.index_seconds == pytest.approx(1.0)


def test_times_are_set_against_the_fastest(made):
    rows = spent(made)
    assert (rows["base"].warm_ratio, rows["base"].index_ratio) == (1.0, 1.0)
    assert rows["mine"].warm_ratio == pytest.approx(45)
    assert rows["mine"].index_ratio == pytest.approx(7.5)


def test_engine_that_opens_at_once_is_no_reference_for_indexes(made):
    base, mine = made.engines
    rows = spent(replace(made, engines=(replace(base, index_seconds={"shop": 0.001}), mine)))
    assert rows["base"].index_ratio is None
    assert rows["mine"].index_ratio == 1.0


def test_floor_and_ceiling_are_never_the_fastest(made):
    base, mine = made.engines
    rows = spent(replace(made, engines=(replace(base, role="floor"), mine)))
    assert rows["base"].warm_ratio is None
    assert rows["mine"].warm_ratio == 1.0
    rows = spent(replace(made, engines=(base, replace(mine, role="ceiling"))))
    assert rows["mine"].warm_ratio is None
    assert rows["mine"].index_ratio is None


def test_table_shows_memory_disk_and_version_and_explains_its_dashes(made):
    taken = {"shop": Resources(startup_seconds=0.25, index_bytes=3_500_000, peak_bytes=120_000_000)}
    text = section(with_mine(made, resources=taken, version="mine 2.1"))
    row = next(line for line in text.splitlines() if line.startswith("| mine"))
    cells = ["mine", "mine 2.1", "0.25", "1.25", "6.2×", "900.0", "450.0", "45.0×", "765.0", "120.0", "3.5"]
    assert [cell.strip() for cell in row.strip("|").split("|")] == cells
    assert "–: not measured." in text
    both = replace(made, engines=tuple(replace(e, resources=taken, version="1") for e in made.engines))
    assert "–: not measured." in section(both)  # API calls and tokens


def test_cost_is_a_column_only_where_somebody_tells_it(made):
    assert "tokens" not in section(made)
    rankings = tuple(replace(r, cost=Cost(1, 1000)) for r in made.engines[1].rankings)
    text = section(with_mine(made, rankings=rankings))
    row = next(line for line in text.splitlines() if line.startswith("| mine"))
    assert [cell.strip() for cell in row.strip("|").split("|")][-2:] == ["9", "9,000"]
    assert "–: not measured." in text


def test_cost_in_tokens_alone_says_nothing_of_calls(made):
    rankings = tuple(replace(r, cost=Cost(tokens=1000)) for r in made.engines[1].rankings)
    run_of = with_mine(made, rankings=rankings)
    (row,) = (row for row in measure_costs(run_of) if row.engine == "mine")
    assert (row.calls, row.tokens) == (None, 9000)
    assert "| API calls" not in section(run_of)
    assert Cost(tokens=1) + Cost(2) + Cost(3, 4) == Cost(5, 5)


def test_conditions_are_said_below_the_table(made):
    known = {"cpu": "a cpu", "os": "Linux 6", "cores": 8, "pinned": 2}
    run_of = replace(with_mine(made, parallel=4), header=replace(made.header, environment=known))
    text = section(run_of)
    for words in ("pinned to 2 threads", "a cpu, Linux 6 (8 cores)", "were interleaved", "mine had up to 4 queries"):
        assert words in text


def test_memory_that_was_not_raised_is_no_measure(made):
    assert spent(with_mine(made, resources={"shop": Resources(peak_bytes=4096)}))["mine"].peak_bytes is None


def test_lone_engine_took_turns_with_nobody(made):
    text = section(replace(made, engines=made.engines[:1]))
    assert "interleaved" not in text
    assert "one after the other" not in text


def test_older_run_says_that_nothing_was_pinned(made):
    old = replace(made, header=replace(made.header, environment={"cpu": "a cpu", "os": "Linux", "cores": 2}))
    assert timing_conditions(old).interleaved is False
    assert "not pinned" in section(old)
    assert "one after the other" in section(old)


def test_several_gold_sets_are_summed_and_shown_apart(made, shop, tmp_path):
    text = (shop / "gold.yaml").read_text().replace("name: shop", "name: other")
    (shop / "other.yaml").write_text(text)
    result = run(
        {"base": lambda q, k: [], "mine": lambda q, k: []}, join([load_gold("gold.yaml"), load_gold("other.yaml")])
    )
    base, mine = result.engines
    taken = {"shop": Resources(None, 1_000_000, 5_000_000), "other": Resources(None, 2_000_000, 9_000_000)}
    mine = replace(mine, index_seconds={"shop": 1.0, "other": 2.5}, resources=taken)
    row = spent(replace(result, engines=(base, mine)))["mine"]
    assert (row.index_seconds, row.index_bytes, row.peak_bytes) == (3.5, 3_000_000, 9_000_000)
    assert row.warm_queries == 16
    shown = section(replace(result, engines=(base, mine)))
    assert "| mine | 1.00 | 2.50 |" in shown


def test_results_hold_what_the_table_shows(made):
    data = results_json(analyze(made, AnalysisPlan(make_measures(10, None, ()), "base")))
    assert set(data["spending"][0]) == {
        "engine", "version", "startup_seconds", "index_seconds", "index_by_gold", "first_ms", "warm_ms", "warm_p95_ms",
        "warm_queries", "charged", "peak_bytes", "index_bytes", "calls", "tokens", "index_ratio", "warm_ratio",
        "limit_seconds", "first_failed", "warm_failed", "answered_ms", "failed_ms",
    }  # fmt: skip
    assert set(data["conditions"]) == {"pinned", "interleaved", "alone", "machine", "cores", "in_flight"}
