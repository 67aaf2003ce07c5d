"""Two runs as one: the engines of both on the queries that are still the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.errors import NotComparableError
from assay.experiment.spec.claim import claim_of
from assay.report.case import contestants
from assay.report.comparing import changed_corpora, refuse_unlike
from assay.stats.records import Names
from assay.stats.runs import shared_sentence
from assay.types import Claim, EngineRun, Gold, Query, Ranking, Run

#: One form of one query: gold set, query, form.
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Both runs in one, what is claimed of it, and what must be known about it."""

    run: Run
    claim: Claim
    notes: tuple[str, ...]
    origins: Mapping[str, tuple[int, str]]  # engine -> which of the two runs it is of, and its name there


class CorpusChangedError(NotComparableError):
    """Two runs on a corpus that changed between them: they are compared only where somebody wants it all the same."""


def pair_runs(old: Run, new: Run, names: Names, *, moved: bool = False) -> Pair:
    """Put two runs side by side; those that must not be compared are refused, as `assay compare` does.

    `moved` allows a corpus that changed, and says so.
    """
    refuse_unlike(old, new, moved=True)
    changed = changed_corpora(old, new)
    if changed and not moved:
        hint = "a difference between the runs may come from the code that was searched, not from the engines"
        raise CorpusChangedError(" ".join(changed), hint=hint)
    shared = _asked(old) & _asked(new)
    sentence = _sentence(old, new, shared, names)
    taken = _taken(old, new, names)
    run = replace(
        new,
        suite=replace(new.suite, golds=tuple(gold for one in new.suite.golds if (gold := _only(one, shared)).queries)),
        engines=tuple(_renamed((old, new)[side], name, called, shared) for called, (side, name) in taken.items()),
        lines={gold: {**old.lines.get(gold, {}), **lines} for gold, lines in new.lines.items()},
        header=replace(new.header, skipped={}, timed=old.header.timed and new.header.timed),
    )
    claim = _claim(old, new, names)
    notes = (*changed, sentence, *_set_anew(old, new))
    return Pair(replace(run, header=replace(run.header, claim=claim)), claim, notes, taken)


def _set_anew(old: Run, new: Run) -> list[str]:
    """Say whose settings changed between the runs."""
    was = {engine.name: engine.config for engine in old.engines}
    changed = [engine.name for engine in new.engines if engine.name in was and was[engine.name] != engine.config]
    return [f"Settings changed between the runs: {', '.join(changed)}."] if changed else []


def _asked(run: Run) -> set[tuple[_Key, str]]:
    """List what every engine of a run was asked, with the hash of the query: no hash agrees with nothing."""
    of_each = [{(ranking.gold, ranking.query, ranking.form) for ranking in engine.rankings} for engine in run.engines]
    asked = set.intersection(*of_each) if of_each else set()
    known = ((key, run.hashes.get(f"{key[0]}/{key[1]}", "")) for key in asked)
    return {(key, sha) for key, sha in known if sha}


def _sentence(old: Run, new: Run, shared: set[tuple[_Key, str]], names: Names) -> str:
    """Say how many queries are the same; refuse when too few are."""
    intents = {key[:2] for key, _ in shared}
    return shared_sentence(len(intents), max(len(old.hashes), len(new.hashes)), names)


def _only(gold: Gold, shared: set[tuple[_Key, str]]) -> Gold:
    """Keep the queries and forms that both runs asked."""
    keys = {key for key, _ in shared}
    kept = (_only_forms(gold, query, keys) for query in gold.queries)
    return replace(gold, queries=tuple(query for query in kept if query.forms))


def _only_forms(gold: Gold, query: Query, keys: set[_Key]) -> Query:
    """Keep the forms of a query that both runs asked."""
    return replace(
        query, forms={form: text for form, text in query.forms.items() if (gold.name, query.id, form) in keys}
    )


def _taken(old: Run, new: Run, names: Names) -> dict[str, tuple[int, str]]:
    """Name the engines of both runs; a reference that answered the same in both stands for both."""
    same = {
        engine.name
        for engine in new.engines
        if engine.role != "contestant"
        and _answers(engine) in [_answers(one) for one in old.engines if one.name == engine.name]
    }
    taken: dict[str, tuple[int, str]] = {}
    for side, (run, called) in enumerate(((old, names.old), (new, names.new))):
        for engine in run.engines:
            if engine.name not in same:
                taken[f"{engine.name} @ {called}"] = (side, engine.name)
    return taken | {name: (1, name) for name in (engine.name for engine in new.engines) if name in same}


def _answers(engine: EngineRun) -> dict[_Key, object]:
    """Give all that an engine answered."""
    return {(one.gold, one.query, one.form): (one.hits, one.status) for one in engine.rankings}


def _renamed(run: Run, name: str, called: str, shared: set[tuple[_Key, str]]) -> EngineRun:
    """Give an engine its name beside those of the other run, with what it was asked in both."""
    engine = next(one for one in run.engines if one.name == name)
    keys = {key for key, _ in shared}
    kept: list[Ranking] = [one for one in engine.rankings if (one.gold, one.query, one.form) in keys]
    tail = called.removeprefix(name)
    return replace(
        engine,
        name=called,
        rankings=tuple(kept),
        variation=engine.variation and replace(engine.variation, base=engine.variation.base + tail),
        date=engine.date or run.header.date,
        assay=engine.assay or run.header.assay,
        environment=engine.environment or run.header.environment,
    )


def _claim(old: Run, new: Run, names: Names) -> Claim:
    """Compare with the first run: with the engine that both have, the best known of the second before others."""
    before, after = contestants(old), contestants(new)
    shared = [name for name in after if name in before]
    if not before or not after:
        raise NotComparableError("one of the runs has no engine under test", hint="run one more engine")
    declared = [name for name in claim_of(new).family if name in shared]
    baseline = (declared or shared or [before[0]])[0]
    return replace(claim_of(new), baseline=f"{baseline} @ {names.old}", family=(), tables=())
