from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from assay.corpus_changes import changed_names
from assay.experiment.records.codec import config_hash, join_sets, named_lines
from assay.types import EngineRun, Run, sort_phrasings

#: Reasons why an earlier row is not comparable, beside those of `Comparability`; rows.json stores them.
UNDECLARED = "no longer declared"
RESET = "its settings changed since"
TOOL = "the tool changed since"
CODE = "Assay's code changed since"
#: The reasons that remain valid in later runs.
LASTING = (UNDECLARED, RESET, TOOL, CODE)


@dataclass(frozen=True, slots=True)
class Comparability:
    """Properties that runs must share for their engines to be compared."""

    gold_hash: str
    corpora: Mapping[str, str]  # gold set -> digest of its corpus
    k: int
    forms: tuple[str, ...]  # phrasings that were run

    def difference(self, now: Comparability) -> str:
        """Return the reasons why earlier results are not comparable with `now`; empty if they are."""
        changed = changed_names(self.corpora, now.corpora)
        reasons = [
            "the gold set changed since" if self.gold_hash != now.gold_hash else "",
            f"the corpus changed since ({', '.join(changed)})" if changed else "",
            "it was run on other gold sets" if self.corpora.keys() != now.corpora.keys() else "",
            f"it was run with k = {self.k}, not {now.k}" if self.k != now.k else "",
            f"it was run with other phrasings ({', '.join(self.forms)})" if self.forms != now.forms else "",
        ]
        return "; ".join(filter(None, reasons))


def comparability_of(run: Run) -> Comparability:
    forms = sort_phrasings(ranking.form for engine in run.engines for ranking in engine.rankings)
    corpora = {name: facts.digest for name, facts in run.header.corpora.items()}
    return Comparability(run.header.gold_hash, corpora, run.k, forms)


@dataclass(frozen=True, slots=True)
class RetainedEngine:
    """Current settings of an engine that is not rerun; empty values are unknown."""

    config_hash: str = ""
    fingerprint: str = ""  # of the tool and models


@dataclass(frozen=True, slots=True)
class Merged:
    run: Run
    stale: Mapping[str, str] = field(default_factory=dict)  # engine that is not comparable -> reason
    kept: tuple[str, ...] = ()  # engines that were not rerun


def merge_runs(old: Run | None, new: Run, declared: Mapping[str, RetainedEngine] | None = None) -> Merged:
    """Add the engines of an earlier run that were not rerun and are still comparable.

    `declared` has the engines that may be added, in the order shown; None allows all.
    """
    if old is None:
        return Merged(new)
    names = {engine.name for engine in new.engines}
    absent = [engine for engine in old.engines if engine.name not in names]
    changed = comparability_of(old).difference(comparability_of(new))
    stale = {engine.name: why for engine in absent if (why := _stale_reason(engine, new, changed, declared))}
    kept = {engine.name: _with_origin(engine, old, new) for engine in absent if engine.name not in stale}
    names |= kept.keys()
    skipped = {
        name: why
        for name, why in old.header.skipped.items()
        if name not in names and (declared is None or name in declared)
    }
    header = replace(new.header, skipped=skipped | dict(new.header.skipped))
    if not kept:
        return Merged(replace(new, header=header), stale)
    engines = {engine.name: engine for engine in new.engines} | kept
    order = dict.fromkeys((*(declared or (engine.name for engine in old.engines)), *engines))
    ordered = tuple(engines[name] for name in order if name in engines)
    lines = named_lines(join_sets(old.lines, new.lines), new.suite, ordered)
    header = replace(header, timed=False)  # timings from separate runs are not comparable
    return Merged(replace(new, engines=ordered, lines=lines, header=header), stale, tuple(kept))


def _stale_reason(engine: EngineRun, new: Run, changed: str, declared: Mapping[str, RetainedEngine] | None) -> str:
    if engine.name in new.header.skipped:
        return skipped_reason(new.header.skipped[engine.name])
    if declared is not None and engine.name not in declared:
        return UNDECLARED
    now = RetainedEngine() if declared is None else declared[engine.name]
    if changed:
        return changed
    if _differ(now.config_hash, config_hash(engine.config)):
        return RESET
    if _differ(now.fingerprint, engine.fingerprint):
        return TOOL
    return CODE if any(_differ(engine.code, other.code) for other in new.engines) else ""


def _differ(one: str, other: str) -> bool:
    return bool(one and other) and one != other


def skipped_reason(reason: str) -> str:
    """Return the stale reason of an engine that this run skipped."""
    return f"not run this time: {reason}"


def _with_origin(engine: EngineRun, old: Run, new: Run) -> EngineRun:
    """Return an engine with its date and, where they differ from `new`, its Assay version and environment."""
    assay = engine.assay or old.header.assay
    environment = engine.environment or old.header.environment
    return replace(
        engine,
        date=day_of(engine, old),
        assay="" if assay == new.header.assay else assay,
        environment={} if environment == new.header.environment else environment,
    )


def day_of(engine: EngineRun, run: Run) -> str:
    """Return the day on which an engine was run."""
    return engine.date or run.header.date.partition("T")[0]
