"""The page as a whole: what is in it, how large it is, and what it says of the rest."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from assay.corpus import open_corpus
from assay.errors import ConfigError
from assay.experiment.source_texts import CorpusTexts
from assay.experiment.tracing import QueryTrace, TraceQuery, Traces
from assay.report.analysis import analyze_scored
from assay.report.comparison_text import card, headline, verdict_tone
from assay.report.explorer.html_page import TooSmallError, build_page, plan_excerpts
from assay.report.explorer.page_data import PageLimits
from assay.report.report_sections import adversaries_note, conditions_text, scores_note
from assay.report.results_file import results_json
from assay.report.scored_run import score_run
from assay.report.sentences import FEW_QUERIES
from assay.stats.records import Verdict
from assay.types import AnalysisPlan, CorpusSpec, Hit, Status, Waterfall, WaterfallRow, WaterfallStep
from benchmarks.report.sample import Size, make_run
from tests.report.explorer import unpacking

#: Lines of the made-up source begin with it, and nothing else does.
TOKEN = "zanzibar"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """3 engines × 100 queries over forty files."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(40):
        lines = [f"{TOKEN}_{number}_{line} = {line * 7919 % 1013}  # said once {line}" for line in range(200)]
        (folder / f"module{number}.py").write_text("\n".join(lines) + "\n")
    return make_run(open_corpus(CorpusSpec("path", str(folder))), Size(engines=3, queries=100, golds=2))


@pytest.fixture(scope="module")
def scored(made):
    return score_run(made, made.header.analysis_plan)


@pytest.fixture(scope="module")
def results(scored):
    return analyze_scored(scored)


def paged(scored, results, texts=None, traces=None, **limits):
    return build_page(scored, results, texts=texts, traces=traces, limits=PageLimits(**limits)).data


def test_a_report_of_a_hundred_queries_is_small_and_has_all_its_source(scored, results, made):
    page = paged(scored, results, CorpusTexts(made))
    found = unpacking.blocks(page)
    assert set(found) == {"summary", "queries", "values", "rankings", "sources"}
    said = json.loads(found["summary"])
    assert len(said["left_out"]) == 1  # the rule alone: everything had room
    frame = len(re.sub(rb'<script type="application/gzip".*?</script>\n', b"", page))
    assert len(page) - frame < 400_000


def test_page_is_told_how_much_is_shown_around_a_place(scored, results):
    said = unpacking.summary(paged(scored, results, around=7, lines=20))
    assert said["excerpts"] == {"around": 7, "lines": 20}


def test_same_run_gives_the_same_bytes(scored, results, made):
    again = score_run(made, made.header.analysis_plan)
    assert paged(scored, results, CorpusTexts(made)) == paged(again, analyze_scored(again), CorpusTexts(made))


def test_values_are_those_of_the_scores(scored, results):
    found = unpacking.blocks(paged(scored, results))
    names = [measure["name"] for measure in json.loads(found["summary"])["values"]["measures"]]
    assert names == [*scored.plan.measures]  # RR@10 is among them
    chosen = [scored.scores.measures.index(name) for name in names]
    expected = scored.scores.values[:, chosen].astype(np.float32)
    values = np.frombuffer(found["values"], dtype="<f4").reshape(expected.shape)
    np.testing.assert_array_equal(values, expected)


def test_rank_measure_follows_where_the_claim_has_none(made):
    scored = score_run(made, AnalysisPlan(("R(level=lines)@10",), "engine-00"))
    said = unpacking.summary(paged(scored, analyze_scored(scored)))
    assert [m["name"] for m in said["values"]["measures"]] == ["R(level=lines)@10", "RR(level=lines)@10"]
    assert said["values"]["rank"] == "RR(level=lines)@10"
    assert said["values"]["measures"][0] == {"name": "R(level=lines)@10", "low": 0.0, "high": 1.0, "higher": True}


def test_summary_has_the_results_without_what_rankings_say(scored, results):
    said = unpacking.summary(paged(scored, results))
    expected = json.loads(json.dumps(results_json(results)))
    found = said["results"]
    words = [(row.pop("tone"), row.pop("verdict_text"), row.pop("mde_text")) for row in found["comparison"]["rows"]]
    assert words == [(verdict_tone(row), row.verdict_text, row.mde_text) for row in results.comparison.rows]
    for row in found["comparison"]["secondary"]:
        assert {row.pop("tone"), row.pop("verdict_text"), row.pop("mde_text")} >= {"plain", "not in the family"}
    assert [one.pop("answered_nothing") for one in found["engines"]] == [False] * 3
    assert [one.pop("mostly_failed") for one in found["spending"]] == [False] * len(results.spending)
    assert found == {key: value for key, value in expected.items() if key not in ("low_scores", "decision")}
    lines = list(card(results.decision).lines[1:])
    assert said["decision"] == {**expected["decision"], "headline": headline(results.decision), "lines": lines}
    assert (said["few"], said["values"]["level"]) == (FEW_QUERIES, "file")
    conditions = conditions_text(results.conditions)
    notes = {
        "scores": scores_note(results),
        "adversaries": adversaries_note(results),
        "times": "",
        "conditions": conditions,
    }
    assert said["notes"] == notes
    first = scored.run.engines[0].rankings
    assert said["tokens"][0] == pytest.approx(np.mean([sum(r.tokens[:10]) for r in first]))


def test_tokens_are_those_of_answers(made):
    """A query that failed gave nothing to read: it makes no engine cheaper."""
    engine = made.engines[0]
    broken = tuple(replace(r, hits=(), tokens=(), status=Status.ERROR) for r in engine.rankings[:40])
    opened = score_run(
        replace(made, engines=(replace(engine, rankings=(*broken, *engine.rankings[40:])), *made.engines[1:])),
        made.header.analysis_plan,
    )
    said = unpacking.summary(paged(opened, analyze_scored(opened)))
    assert said["tokens"][0] == pytest.approx(np.mean([sum(r.tokens[:10]) for r in engine.rankings[40:]]))


def test_problems_of_gold_and_leaks_are_told(scored, results, made):
    corpora = {name: replace(facts, problems=(f"{name} is odd",)) for name, facts in made.header.corpora.items()}
    golds = list(made.suite.golds)
    first, second, *rest = golds[0].queries
    path = first.targets[0].span.path
    named = (replace(first, forms={"human": f"what does {path} do?"}), replace(second, forms={"human": "why?"}))
    golds[0] = replace(golds[0], queries=(*named, *rest))
    told = replace(made, suite=replace(made.suite, golds=tuple(golds)), header=replace(made.header, corpora=corpora))
    opened = score_run(told, made.header.analysis_plan)
    found = unpacking.blocks(paged(opened, analyze_scored(opened)))
    lint = json.loads(found["summary"])["lint"]
    assert lint == [{"gold": name, "text": f"{name} is odd"} for name in corpora]
    units = json.loads(found["queries"])["units"]
    assert [unit["leak"] for unit in units[:2]] == [True, False]


def test_queries_have_units_in_the_order_of_the_scores(scored, results):
    data = json.loads(unpacking.blocks(paged(scored, results))["queries"])
    named = [
        (data["golds"][data["queries"][u["q"]]["gold"]], data["queries"][u["q"]]["id"], data["forms"][u["form"]])
        for u in data["units"]
    ]
    assert named == [(unit.gold, unit.query, unit.form) for unit in scored.scores.units]
    first, query = data["queries"][0], scored.run.suite.golds[0].queries[0]
    assert [(t["path"], t["start"], t["end"], t["grade"]) for t in first["targets"]] == [
        (t.span.path, t.span.start, t.span.end, t.grade) for t in query.targets
    ]
    assert first["adversaries"][0]["relationship"] == "sibling"


def test_no_source_leaves_no_line_of_source(scored, results, made):
    texts = CorpusTexts(made)
    assert TOKEN in unpacking.everything(paged(scored, results, texts))
    page = paged(scored, results, texts, source=False)
    assert TOKEN not in unpacking.everything(page)
    said = unpacking.summary(page)
    assert "turned off" in said["left_out"][0]["text"]
    assert "the corpora were not opened" in unpacking.summary(paged(scored, results))["left_out"][0]["text"]
    assert {one["block"] for one in said["left_out"]} == {"sources"}


def test_sources_are_the_lines_of_the_corpus(scored, results, made):
    """Every excerpt is what stands in the file, gold is there for each query, and no two touch."""
    data = unpacking.blocks(paged(scored, results, CorpusTexts(made)))
    sources, golds = json.loads(data["sources"]), json.loads(data["queries"])["golds"]
    texts = CorpusTexts(made)
    shown: dict[tuple[str, str], set[int]] = {}
    for gold, files in sources.items():
        for path, parts in files.items():
            lines, end = texts.lines(golds[int(gold)], path) or [], -1
            for start, text in parts:
                assert start > end + 1
                part = text.split("\n")
                assert part == lines[start - 1 : start - 1 + len(part)]
                end = start + len(part) - 1
                shown.setdefault((golds[int(gold)], path), set()).update(range(start, end + 1))
    for (gold, _), query in scored.queries.items():
        for target in (*query.targets, *(adversary.target for adversary in query.adversaries)):
            assert set(_first_lines(target.span)) <= shown[gold, target.span.path]
    apart = differing_queries(scored)
    for ranking in (ranking for engine in scored.run.engines for ranking in engine.rankings):
        for hit in ranking.hits[:3] if (ranking.gold, ranking.query) in apart else ():
            assert set(_first_lines(hit.span)) <= shown[ranking.gold, hit.path]


def _first_lines(span):
    """The lines of a place, as many as are shown."""
    return list(range(span.start or 1, (span.end or 1) + 1))[: PageLimits().lines]


def differing_queries(scored, names=None):
    """The queries on which engines differ, with by how much: computed anew."""
    values = np.array([scored.values(name, scored.primary) for name in names or scored.scores.engines])
    gaps: dict[tuple[str, str], float] = {}
    for unit, gap in zip(scored.scores.units, values.max(axis=0) - values.min(axis=0), strict=True):
        gaps[unit.gold, unit.query] = max(gap, gaps.get((unit.gold, unit.query), 0.0))
    return {query: gap for query, gap in gaps.items() if gap > 1e-9}


def test_queries_on_which_the_verdict_rests_come_in_first(scored, results, made):
    told = [results.comparison.baseline, results.challenger]
    found = plan_excerpts(scored, results, PageLimits())
    gaps = differing_queries(scored, [*told, results.leader])
    differing = differing_queries(scored)
    order = [gaps.get(portion.query, 0.0) for portion in found.portions[: len(differing)]]
    assert order == sorted(order, reverse=True)
    assert order[0] > order[-1]
    assert {portion.query for portion in found.portions[: len(order)]} == set(differing)


@pytest.mark.parametrize("share", [0.999, 0.8, 0.5, 0.3, 0.1, 0.01])
def test_size_is_kept_and_what_had_no_room_is_counted(scored, results, made, share):
    whole, least = len(paged(scored, results, CorpusTexts(made))), smallest(scored, results)
    size = int(least + (whole - least) * share)
    page = paged(scored, results, CorpusTexts(made), max_bytes=size)
    assert len(page) <= size
    said = unpacking.summary(page)
    assert any("--max-size" in text for text in absent(said, "sources"))


def absent(said, block):
    """What a page says of what is not in it."""
    return [one["text"] for one in said["left_out"] if one["block"] == block]


def smallest(scored, results):
    """The least size, as the error says it."""
    with pytest.raises(TooSmallError) as caught:
        paged(scored, results, max_bytes=1000)
    assert caught.value.exit_code == 2
    (megabytes,) = re.findall(r"--max-size ([\d.]+)MB", caught.value.hint or "")
    return round(float(megabytes) * 1e6)


def test_least_size_that_is_named_is_enough_and_less_is_refused(scored, results):
    least = smallest(scored, results)
    page = paged(scored, results, max_bytes=least)
    assert len(page) <= least
    assert "score" not in {name for name, *_ in unpacking.columns(unpacking.blocks(page)["rankings"])[0]["columns"]}
    assert any("no scores of single results" in text for text in absent(unpacking.summary(page), "rankings"))
    with pytest.raises(ConfigError, match="--max-size"):
        paged(scored, results, max_bytes=len(page) - 20_000)


def test_more_room_never_shows_fewer_lines(scored, results, made):
    whole, least = len(paged(scored, results, CorpusTexts(made))), smallest(scored, results)
    counts = []
    for share in (0.3, 0.6, 0.9, 1.0):
        page = paged(scored, results, CorpusTexts(made), max_bytes=int(least + (whole - least) * share) + 1)
        counts.append(unpacking.everything(page).count(TOKEN))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_traces_are_there_and_go_before_the_page_becomes_too_large(scored, results):
    rows = tuple(
        WaterfallRow(f"{n}-{'x' * 40}.py", 1, 2, (WaterfallStep("words", 1.23456789, float("inf"), n, 0),))
        for n in range(5000)
    )
    unit = scored.scores.units[3]
    asked = TraceQuery(unit.gold, unit.query, unit.form)
    traces = Traces(
        {asked: QueryTrace("builtin", Waterfall("words", ("a",), ("words",), rows))}, ("More is to be had.",)
    )
    found = unpacking.blocks(paged(scored, results, traces=traces))
    trace = json.loads(found["traces"])["3"]
    assert trace["candidates"][1]["steps"] == [{"score": 1.23457, "change": None, "rank": 1, "before": 0}]
    assert (trace["engine"], trace["question"]) == ("builtin", {"kind": "words", "terms": ["a"]})
    assert "More is to be had." in absent(json.loads(found["summary"]), "traces")
    bare = unpacking.blocks(paged(scored, results, traces=traces, max_bytes=smallest(scored, results) + 5000))
    assert "traces" not in bare
    assert any("no traces" in text for text in absent(json.loads(bare["summary"]), "traces"))


HOSTILE = "</script><script>alert(1)</script><!-- \ud800\x00\u202e\u2028 'x' \"y\" &amp;"


def test_hostile_names_and_texts_survive_as_text(scored, results, made):
    golds = list(made.suite.golds)
    first = golds[0].queries[0]
    asked = replace(first, forms={"human": HOSTILE}, tags={HOSTILE: HOSTILE})
    golds[0] = replace(golds[0], queries=(asked, *golds[0].queries[1:]))
    rankings = list(made.engines[1].rankings)
    rankings[0] = replace(rankings[0], hits=(Hit(HOSTILE, 1, 2),), tokens=(1,))
    engine = replace(made.engines[1], name=HOSTILE, rankings=tuple(rankings), stderr={golds[0].name: HOSTILE})
    hostile = replace(
        made, suite=replace(made.suite, golds=tuple(golds)), engines=(made.engines[0], engine, made.engines[2])
    )
    opened = score_run(hostile, made.header.analysis_plan)
    page = paged(opened, analyze_scored(opened), CorpusTexts(hostile))
    assert page.decode()
    assert page.count(b"</script>") == page.count(b"<script")
    assert b"<script>alert" not in page
    found = unpacking.blocks(page)
    assert json.loads(found["queries"])["units"][0]["text"] == HOSTILE
    assert HOSTILE in unpacking.columns(found["rankings"])[0]["paths"]


def test_what_cannot_be_claimed_is_said(scored, results):
    row = next(row for row in results.comparison.rows if row.engine == results.challenger)
    row = replace(row, verdict=Verdict.INCONCLUSIVE, mde=0.0432, p=None, clusters=2)
    unsure = replace(results, comparison=replace(results.comparison, rows=(row,)))
    said = unpacking.summary(paged(scored, unsure))
    assert any(row.engine in text and "MDE 0.04" in text for text in said["limitations"])
    assert any("Too few clusters for a p-value (2)" in text for text in said["limitations"])
    assert said["tone"] == "warning"
