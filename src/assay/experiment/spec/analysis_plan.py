"""Analysis plan of a run: its measures, its baseline, and the engines that get a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from assay.errors import ConfigError, did_you_mean
from assay.experiment.spec.engine_entries import REFERENCES
from assay.types import AnalysisPlan, Run, Suite

#: The baseline of a run that declares none.
BASELINE = "keywords"


def make_measures(k: int, primary: str | None, others: Sequence[str], level: str = "file") -> tuple[str, ...]:
    """Return the full names of the measures, the primary one first; without `others`, the usual ones at k."""
    from assay.scoring import parse_measure

    usual = [f"nDCG@{k}", f"RR@{k}", f"Hit@{min(5, k)}", f"R@{k}"]
    if level == "lines":
        by_lines = [f"nDCG(level=lines)@{k}", f"RR(level=lines)@{k}", f"Hit(level=lines)@{min(5, k)}"]
        usual = [*by_lines, f"R(level=lines)@{k}", usual[0], f"SpanR(iou=0.3)@{k}", "RecallAtTokens(2000)"]
    named = [primary or usual[0], *(others or usual)]
    return tuple(dict.fromkeys(repr(parse_measure(name)) for name in named))


def at_level(measures: Iterable[str], level: str) -> tuple[str, ...]:
    """Return the full names of measures, with `level` for those that name no level."""
    from assay.scoring.measures import default_level, parse_measure

    return tuple(repr(default_level(parse_measure(name), level)) for name in measures)


def default_baseline(tested: Sequence[str], names: Sequence[str]) -> str:
    """Return the first of two tested engines, or keywords for one; empty means the runner-up of more engines."""
    if len(tested) > 2:
        return ""
    return tested[0] if len(tested) == 2 else BASELINE if BASELINE in names else names[0]


def analysis_plan_of(run: Run, *others: Run) -> AnalysisPlan:
    """Return the analysis plan of a run, or the default plan if it declares none, at a level that all runs have."""
    names = [engine.name for engine in run.engines]
    tested = [engine.name for engine in run.engines if engine.role == "candidate"]
    measures = make_measures(run.k, None, (), run.suite.level)
    plan = AnalysisPlan(measures, default_baseline(tested, names), auto_level=True)
    return fall_back_to_files(run.header.analysis_plan or plan, run, *others)


def fall_back_to_files(plan: AnalysisPlan, *runs: Run) -> AnalysisPlan:
    """Return the plan, at file level if its level is automatic and an engine under test returns no lines.

    A path alone matches no target with lines: at line level such an engine would lose only by its output format.
    """
    from assay.scoring import parse_measure

    if not plan.auto_level or parse_measure(plan.primary).level == "file" or not any(map(without_lines, runs)):
        return plan
    return replace(plan, measures=make_measures(runs[0].k, None, ()))


def without_lines(run: Run) -> tuple[str, ...]:
    """Return the engines under test that return results, but never lines."""
    hits = {e.name: [h for ranking in e.rankings for h in ranking.hits] for e in run.engines if e.role == "candidate"}
    return tuple(name for name, found in hits.items() if found and all(hit.start is None for hit in found))


def change_plan(
    plan: AnalysisPlan,
    k: int,
    *,
    measures: Sequence[str] | None = None,
    primary: str | None = None,
    level: str | None = None,
    family: Sequence[str] | None = None,
    **others: Any,  # noqa: ANN401 - values of fields of the plan
) -> AnalysisPlan:
    """Return a plan with some fields changed; None leaves a field unchanged."""
    changes = {key: value for key, value in others.items() if value is not None}
    if family is not None:
        changes["family"] = tuple(family)
    if level or primary or measures:
        from assay.scoring import parse_measure

        chosen = level or parse_measure(plan.primary).level
        named = at_level(measures, chosen) if measures else () if level else plan.measures
        first = at_level([primary], chosen)[0] if primary else None if level else plan.primary
        changes["measures"] = make_measures(k, first, named, chosen)
        changes["auto_level"] = False
    return replace(plan, **changes)


def check_plan(plan: AnalysisPlan, k: int, engines: Sequence[str]) -> AnalysisPlan:
    """Return the plan; raise ConfigError if it is incompatible with the engines or k of the run."""
    from assay.scoring import parse_measure
    from assay.stats.config import CompareSettings, compare_options

    CompareSettings(**compare_options(plan))
    deepest = max(parse_measure(measure).depth for measure in plan.measures)
    if deepest > k:
        hint = "increase k, or lower the cutoff of the measure"
        raise ConfigError(f"k = {k}: a measure needs {deepest} results", hint=hint, keys=["k"])
    if plan.baseline and plan.baseline not in engines:
        message = f"baseline = {plan.baseline!r} is not an engine of this run"
        raise ConfigError(message, hint=known_names(plan.baseline, engines), keys=["baseline"])
    match_names(plan.family, engines, "family")
    if plan.baseline in plan.family:
        hint = "remove it: the other engines are compared with the baseline"
        raise ConfigError(f"family contains the baseline {plan.baseline!r}", hint=hint, keys=["family"])
    return plan


def check_suite(cluster: str, suite: Suite) -> None:
    """Raise ConfigError for a cluster tag that no query has."""
    from assay.stats.config import check_tag

    check_tag(cluster, (tag for gold in suite.golds for query in gold.queries for tag in query.tags))


def resolve_family(patterns: Sequence[str], engines: Sequence[str], baseline: str) -> tuple[str, ...]:
    """Return the engines that match names or globs; globs never match the baseline or a reference."""
    return match_names(patterns, engines, "family", exclude=(baseline, *REFERENCES))


def match_names(
    patterns: Sequence[str], names: Sequence[str], key: str, *, exclude: Sequence[str] = (), kind: str = "engine"
) -> tuple[str, ...]:
    """Return the `names` that match names or globs; raise ConfigError for a pattern without a match."""
    chosen: set[str] = set()
    for pattern in patterns:
        matched = {pattern} & set(names) or {n for n in names if n not in exclude and fnmatchcase(n, pattern)}
        if not matched:
            raise ConfigError(f"{key} = {pattern!r} matches no {kind}", hint=known_names(pattern, names), keys=[key])
        chosen |= matched
    return tuple(name for name in names if name in chosen)


def split_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Split a comma-separated list, except at the commas of a known name such as `w:a=1,b=2`."""
    pieces = [piece.strip() for piece in text.split(",")]
    found, start = [], 0
    while start < len(pieces):
        ends = (end for end in range(len(pieces), start, -1) if ",".join(pieces[start:end]) in names)
        end = next(ends, start + 1)
        found.append(",".join(pieces[start:end]))
        start = end
    return tuple(filter(None, found))


def known_names(name: str, names: Iterable[str]) -> str:
    return did_you_mean(name, names) or f"known: {', '.join(names)}"
