"""Merge a run with earlier results of engines that were not rerun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.experiment.records.codec import config_hash, join_sets, named_lines
from assay.types import EngineRun, Run, sort_phrasings

#: Why a row of an earlier run takes no part in this one, beside what its footing says.
UNDECLARED = "no longer declared"
RESET = "its settings changed since"
TOOL = "the tool changed since"
CODE = "Assay's code changed since"
#: Those that stay true when the row is carried on.
LASTING = (UNDECLARED, RESET, TOOL, CODE)


@dataclass(frozen=True, slots=True)
class Comparability:
    """What engines must share to stand in one table."""

    gold_hash: str
    corpora: Mapping[str, str]  # gold name -> digest
    k: int
    forms: tuple[str, ...]  # that were asked

    def left_by(self, now: Comparability) -> str:
        """Say why what stood on this footing does not stand on another; nothing where it does."""
        moved = sorted(name for name in self.corpora.keys() & now.corpora if self.corpora[name] != now.corpora[name])
        reasons = [
            "the gold set changed since" if self.gold_hash != now.gold_hash else "",
            f"the corpus changed since ({', '.join(moved)})" if moved else "",
            "it was asked on other gold sets" if self.corpora.keys() != now.corpora.keys() else "",
            f"it was asked for {self.k} results, not {now.k}" if self.k != now.k else "",
            f"it was asked in other forms ({', '.join(self.forms)})" if self.forms != now.forms else "",
        ]
        return "; ".join(reason for reason in reasons if reason)


@dataclass(frozen=True, slots=True)
class RetainedEngine:
    """What is known now of an engine that stays though it is not asked."""

    config_hash: str = ""  # of its settings; empty: not known, it cannot be made here
    fingerprint: str = ""  # of the tool and models; empty: not known

    def left_by(self, engine: EngineRun) -> str:
        """Say what changed since an engine was asked; what is not known of either has not."""
        if self.config_hash not in ("", config_hash(engine.config)):
            return RESET
        return TOOL if _differ(self.fingerprint, engine.fingerprint) else ""


def _differ(one: str, other: str) -> bool:
    return bool(one and other) and one != other


@dataclass(frozen=True, slots=True)
class Merged:
    """A run with the engines of an earlier one that stand on its footing, and why the others do not."""

    run: Run
    stale: Mapping[str, str] = field(default_factory=dict)  # engine -> reason
    kept: tuple[str, ...] = ()  # engines that were not asked now


def comparability_of(run: Run) -> Comparability:
    """Say what the engines of a run were asked, and on what."""
    forms = sort_phrasings(ranking.form for engine in run.engines for ranking in engine.rankings)
    corpora = {name: facts.digest for name, facts in run.header.corpora.items()}
    return Comparability(run.header.gold_hash, corpora, run.k, forms)


def merge_runs(old: Run | None, new: Run, declared: Mapping[str, RetainedEngine] | None = None) -> Merged:
    """Let engines of an earlier run that were not asked now take part, where they can be compared.

    `declared` has every engine that may stay, in the order they are shown; without it every engine of the earlier run
    may.
    """
    if old is None:
        return Merged(new)
    asked = {engine.name for engine in new.engines}
    absent = [engine for engine in old.engines if engine.name not in asked]
    moved = comparability_of(old).left_by(comparability_of(new))
    stale = {engine.name: why for engine in absent if (why := _why_not(engine, new, moved, declared))}
    kept = [_signed(engine, old, new) for engine in absent if engine.name not in stale]
    if not kept:
        return Merged(replace(new, header=replace(new.header, skipped=_skipped(old, new, (), declared))), stale)
    engines = _ordered(old, [*new.engines, *kept], declared)
    names = tuple(engine.name for engine in kept)
    # Times of engines that did not run beside each other say nothing of the engines.
    header = replace(new.header, timed=False, skipped=_skipped(old, new, names, declared))
    lines = named_lines(join_sets(old.lines, new.lines), new.suite, engines)
    return Merged(replace(new, engines=engines, lines=lines, header=header), stale, names)


def _why_not(engine: EngineRun, new: Run, moved: str, declared: Mapping[str, RetainedEngine] | None) -> str:
    if engine.name in new.header.skipped:
        return skipped_now(new.header.skipped[engine.name])
    if declared is not None and engine.name not in declared:
        return UNDECLARED
    known = RetainedEngine() if declared is None else declared[engine.name]
    return moved or known.left_by(engine) or (CODE if _code_moved(engine, new) else "")


def _code_moved(engine: EngineRun, new: Run) -> bool:
    return any(_differ(engine.code, asked.code) for asked in new.engines)


def skipped_now(reason: str) -> str:
    """Say that an engine with an earlier row could not be run this time."""
    return f"not run this time: {reason}"


def _signed(engine: EngineRun, old: Run, new: Run) -> EngineRun:
    """Write down when and with what an engine was asked, where the new run says otherwise."""
    assay = engine.assay or old.header.assay
    environment = engine.environment or old.header.environment
    return replace(
        engine,
        date=day_of(engine, old),
        assay="" if assay == new.header.assay else assay,
        environment={} if environment == new.header.environment else environment,
    )


def day_of(engine: EngineRun, run: Run) -> str:
    """Name the day that an engine was asked."""
    return engine.date or run.header.date.partition("T")[0]


def _ordered(
    old: Run, engines: Sequence[EngineRun], declared: Mapping[str, RetainedEngine] | None
) -> tuple[EngineRun, ...]:
    names = [*(declared or (engine.name for engine in old.engines)), *(engine.name for engine in engines)]
    place = {name: at for at, name in reversed(list(enumerate(names)))}
    return tuple(sorted(engines, key=lambda engine: place[engine.name]))


def _skipped(
    old: Run, new: Run, kept: Sequence[str], declared: Mapping[str, RetainedEngine] | None
) -> Mapping[str, str]:
    there = {*kept, *(engine.name for engine in new.engines)}
    before = {
        name: why
        for name, why in old.header.skipped.items()
        if name not in there and (declared is None or name in declared)
    }
    return before | dict(new.header.skipped)
