"""Sentences about runs and comparisons: readings, warnings and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from assay.report.family import RunLike, score_gains
from assay.report.render.formatting import SHOWN, clip, count
from assay.report.scored_run import FAILED_SHARE, ScoredRun, measure_text
from assay.scoring import evaluation_measures, parse_measure
from assay.stats.records import Comparison
from assay.types import AnalysisPlan, EngineRun, Run, Scores, Status

if TYPE_CHECKING:
    from assay.report.results_file import Diagnostic, EngineSummary, PathMismatch

#: A difference that three digits do not show.
_SHOWN_GAP = 0.0005
#: With more results outside the corpus an engine probably searches another tree.
_STRAY_SHARE = 0.05
#: Problems of the gold set in a warning; the header in results.json has all.
_SHOWN_PROBLEMS = 3
#: With more than one miss in this many queries, recall comes before ranking.
_MANY_MISSED = 3
_SILENT: Final = (
    "a tool that searches for the whole query as one string needs `--engine keywords`; engines run in a copy "
    "of the corpus without .git"
)


def run_warnings(
    scored: ScoredRun,
    challenger: str,
    silent: Sequence[str],
    summaries: Sequence[EngineSummary],
    mismatches: Sequence[PathMismatch],
    diagnostics: Sequence[Diagnostic],
) -> tuple[str, ...]:
    """Return the warnings of a run in the order of their consequences: the card shows the first."""
    run, plan = scored.run, scored.plan
    grave = [each for each in diagnostics if each.grave]
    answers = any(ranking.hits for engine in run.engines if engine.name == challenger for ranking in engine.rankings)
    compared, engines = (challenger, plan.baseline), list(zip(run.engines, summaries, strict=True))
    warnings = (
        *(f"{name} returned no results: {_SILENT}." for name in silent),
        *map(_mismatch_text, mismatches),
        *(each.text for each in grave if each.kind == "paths only"),
        *(reference_warnings(run, scored.scores, scored.primary, compared) if answers else ()),
        *_stale_ranges(run),
        *_gold_warnings(scored),
        *(text for engine, facts in engines for text in _engine_warnings(run, engine, facts, mismatches)),
        *_missing_targets(run),
        *(each.text for each in grave if each.kind != "paths only"),
    )
    failed = [e.name for e, facts in engines if FAILED_SHARE * facts.asked < facts.failed < facts.asked]
    first = tuple(f"{name} failed on " for name in failed if name in compared)  # the headline of the card
    return tuple(sorted(warnings, key=lambda text: not text.startswith(first)))


def headline_phrasings(forms: Sequence[str], primary: str) -> str:
    if parse_measure(primary).of is not None:
        return "over all phrasings"
    counts = Counter(forms).most_common()
    first = counts[0][0] if counts else "only"
    others = ", ".join(f"{number} by {form}" for form, number in counts[1:])
    return f"{first} phrasing" + (f"; {others}" if others else "")


def reading_of(scored: ScoredRun, comparison: Comparison, leader: str) -> str:
    means = {row.engine: row for row in comparison.means if row.measure == scored.primary}
    roles = {engine.role: means.get(engine.name) for engine in reversed(scored.run.engines)}  # the first of each role
    best, floor, ceiling, keywords = means[leader], roles.get("floor"), roles.get("ceiling"), roles.get("reference")
    text = (
        f"{leader} scores {best.mean:.3f} {measure_text(scored.primary)} on {count(best.queries, 'query', 'queries')}"
    )
    if floor and ceiling and ceiling.mean != floor.mean:
        share = (best.mean - floor.mean) / (ceiling.mean - floor.mean)
        low, high = f"random ({floor.mean:.3f})", f"the oracle ({ceiling.mean:.3f})"
        text += (
            f": {share:.0%} of the way from {low} to {high}"
            if share > 0
            else f": no better than {low}; {high} is the maximum"
        )
    if keywords and leader != keywords.engine:
        gap = best.mean - keywords.mean
        words = f"{abs(gap):.3f} {'less' if gap > 0 else 'more'}" if abs(gap) >= _SHOWN_GAP else "as much"
        text += f"; a keyword search reaches {keywords.mean:.3f}, {words}"
    return text + "."


def _stale_ranges(run: Run) -> Iterator[str]:
    from assay.gold.git_history import reanchor_hint  # a gate needs no module of gold

    for gold in run.suite.golds:
        stale = run.header.corpora[gold.name].stale if gold.name in run.header.corpora else ()
        if stale:
            ranges = "1 line range" if len(stale) == 1 else f"{len(stale)} line ranges"
            example = f"such as {stale[0]}" if len(stale) > 1 else stale[0]
            yield (
                f"{ranges} of {gold.name} changed since committed, {example}: scores may be wrong; "
                f"run `{reanchor_hint(gold.source or 'SET')}`."
            )


def corpus_notes(run: Run) -> list[str]:
    return [f"{name}: {text}" for name, facts in run.header.corpora.items() for text in facts.notes]


def _gold_warnings(scored: ScoredRun) -> Iterator[str]:
    from assay.gold.query_properties import find_duplicates, have_same_targets

    yield from draft_warnings(count_drafts(scored), len(scored.queries))
    yield from synthetic_notes(scored.run)
    yield from few_queries(len(scored.headline), scored.primary)
    golds = scored.run.suite.golds
    pairs = [pair for gold in golds for pair in find_duplicates(gold.queries) if not have_same_targets(*pair)]
    if pairs:
        one, other = pairs[0]
        many = "1 query has" if len(pairs) == 1 else f"{len(pairs)} queries have"
        yield (
            f"{many} the same words as another query but different targets, such as {other.id} and {one.id}: no "
            f"engine can find both, so even the oracle may score below 1. `assay gold lint` lists them (G401)."
        )
    k = scored.run.k
    deep = sorted({repr(m) for m in evaluation_measures(scored.run.suite) if m.depth > k})
    if deep:
        yield f"The gold set requests {', '.join(deep)}; skipped, because this run has {k} results per query."


def draft_warnings(drafts: int, queries: int) -> tuple[str, ...]:
    verb = "is a draft" if drafts == 1 else "are drafts"
    text = f"{drafts} of {queries} queries {verb}: run `assay gold review` before you rely on them."
    return (text,) if drafts else ()


def _missing_targets(run: Run) -> Iterator[str]:
    problems = [f"{name}: {text}" for name, facts in run.header.corpora.items() for text in facts.problems]
    if problems:
        many = "1 target is" if len(problems) == 1 else f"{len(problems)} targets are"
        skipped = "was skipped" if len(problems) == 1 else "were skipped"
        yield f"{many} not in this corpus and {skipped}, such as {'; '.join(problems[:_SHOWN_PROBLEMS])}."
        yield from corpus_notes(run)


def count_drafts(scored: ScoredRun) -> int:
    return sum(query.tags.get("status") == "draft" for query in scored.queries.values())


def _engine_warnings(
    run: Run, engine: EngineRun, summary: EngineSummary, mismatches: Sequence[PathMismatch]
) -> Iterator[str]:
    if summary.failed:
        kinds = ", ".join(f"{n} {status}" for status, n in summary.statuses.items() if status != Status.OK)
        first = clip(next(r.error for r in engine.rankings if r.status != Status.OK) or "nothing", SHOWN.message)
        failed = f"{engine.name} failed on {summary.failed} of {summary.asked} queries ({kinds})"
        yield f"{failed}; each scores the worst value. First message: {first}"
    reported = {mismatch.gold for mismatch in mismatches if mismatch.engine == engine.name}
    checked = [(run.lines[r.gold], r.hits) for r in engine.rankings if r.gold not in reported and r.hits]
    hits = sum(len(returned) for _, returned in checked)
    strays = [hit.path for lines, returned in checked for hit in returned if hit[0] not in lines]
    if len(strays) > _STRAY_SHARE * hits:
        example = clip(strays[0], SHOWN.example)
        yield f"{engine.name}: {len(strays)} of {hits} results are not in the corpus, such as {example}."


def rank_sentence(counts: Sequence[int], missed: int) -> str:
    total = sum(counts) + missed
    if missed == total:
        return "no target was found; check the paths and the index first."
    top, late = sum(counts[:2]), sum(counts[2:])
    text = f"{counts[0] / total:.0%} at rank 1, {top / total:.0%} in the first two, {missed / total:.0%} not found"
    if missed > total / _MANY_MISSED:
        return f"{text}: many targets are missing; check the index and the query parsing first."
    if late > top / 2:
        return f"{text}: targets are found, but at low ranks; improve the ranking rather than the recall."
    return f"{text}: most targets are at rank 1 or 2" + ("; inspect the missed queries." if missed else ".")


def _mismatch_text(mismatch: PathMismatch) -> str:
    return (
        f"No path of {mismatch.engine} exists in the corpus of {mismatch.gold} ({mismatch.results} results), so no "
        f"result matches. It returned {mismatch.returned}, the corpus has {mismatch.there}: {mismatch.cause}. Paths "
        "must be relative to the corpus root."
    )


#: With fewer queries a single one changes a mean by more than three points (the limit of the Pyckle guide).
FEW_QUERIES = 30
#: Synthetic gold sets that a sentence names.
_NAMED_SETS = 3


def reference_warnings(run: RunLike, scores: Scores, primary: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return a warning if a reference or the floor scores better than the first of `names`."""
    gains = score_gains(scores, primary)
    references = [e.name for e in run.engines if e.role in ("reference", "floor") and e.name not in names]
    best = max((name for name in references if name in gains), key=lambda name: gains[name], default="")
    beaten = [name for name in names if best and name in gains and gains[name] < gains[best]]
    if names[0] not in beaten:
        return ()
    sign = 1.0 if parse_measure(primary).higher_is_better else -1.0
    texts = [f"{name} ({sign * gains[name]:.3f})" for name in (best, *beaten)]
    return (f"{texts[0]} scores better than {' and '.join(texts[1:])}.",)


def few_queries(queries: int, primary: str) -> tuple[str, ...]:
    """Return a warning if a comparison has few queries."""
    if not 0 < queries < FEW_QUERIES:
        return ()
    measure = parse_measure(primary)
    step = (measure.high - measure.low) / queries
    many = count(queries, "query", "queries")
    return (f"Only {many}, fewer than {FEW_QUERIES}: one can change a mean by {step:.2g}.",)


def absent_notes(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    names = {engine.name for engine in run.engines}
    absent = [name for name in plan.family if name not in names]
    return (f"Engines of the declared family that were not run: {', '.join(absent)}.",) if absent else ()


def synthetic_sets(run: Run) -> tuple[str, ...]:
    return tuple(gold.name for gold in run.suite.golds if gold.synthetic)


def synthetic_notes(run: Run) -> tuple[str, ...]:
    """Return a warning if gold sets of a run are synthetic."""
    return notes_on(synthetic_sets(run), [gold.name for gold in run.suite.golds])


def notes_on(synthetic: Iterable[str], golds: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if some gold sets are synthetic."""
    names = list(dict.fromkeys(synthetic))
    if not names:
        return ()
    total = len(set(golds))
    which = "This gold set is" if total == 1 else f"{len(names)} of {total} gold sets are"
    more = f" and {len(names) - _NAMED_SETS} more" if len(names) > _NAMED_SETS else ""
    return (
        f"{which} synthetic ({', '.join(names[:_NAMED_SETS])}{more}): queries generated from code, not written by "
        "people. They can rank engines, but do not predict scores on real queries.",
    )


def mark_synthetic(name: str, synthetic: Collection[str]) -> str:
    """Return the name of a gold set, marked if it is synthetic and the name does not contain the word."""
    return f"{name} (synthetic)" if name in synthetic and "synthetic" not in name else name
