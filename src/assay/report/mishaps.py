"""What went wrong beside the ranking: queries without an answer, broken contracts, paths of another tree, stderr."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from assay.report.pages.texts import SHOWN, clip, shape, tame
from assay.report.results import Breach, Mishap, Said, Strayed
from assay.types import EngineRun, Ranking, Run, Status

NOT_OPENED = "could not be opened"
#: In this order: what is nearest to "nothing was measured" first.
_KINDS = (NOT_OPENED, *(str(status) for status in (Status.CRASH, Status.TIMEOUT, Status.ERROR)))
#: How the harness counts what it survived in one answer: "3 of 10 paths not in the corpus, e.g. x".
_COUNTED = re.compile(r"(\d+) of (\d+) (.+)", re.DOTALL)
_EXAMPLE = ", e.g. "


def mishaps(run: Run) -> tuple[Mishap, ...]:
    """Count the queries that got no answer, by engine, kind and message."""
    return tuple(mishap for engine in run.engines for mishap in _mishaps(engine, _opened(engine, run)))


def _opened(engine: EngineRun, run: Run) -> frozenset[str]:
    """Name the gold sets that an engine was opened on; without times, those where not all failed in the same words."""
    if engine.index_seconds or run.header.timed:
        return frozenset(engine.index_seconds)
    said: dict[str, set[str | None]] = {}
    for ranking in engine.rankings:
        said.setdefault(ranking.gold, set()).add(None if ranking.status == Status.OK else ranking.error or "")
    return frozenset(gold for gold, errors in said.items() if None in errors or len(errors) > 1)


def _mishaps(engine: EngineRun, opened: frozenset[str]) -> list[Mishap]:
    """Count one engine's, the gravest kind first and the most frequent message first in it."""
    found: dict[tuple[str, str], Mishap] = {}
    for ranking in engine.rankings:
        if ranking.status == Status.OK:
            continue
        kind = _kind(ranking, opened)
        message = clip(ranking.error or "", SHOWN.message)
        key = (kind, shape(message))
        asked = f"{ranking.gold}/{ranking.query} ({ranking.form})"
        known = found.get(key) or Mishap(engine.name, kind, 0, 0.0, message, asked)
        count = known.queries + 1
        found[key] = replace(known, queries=count, share=count / len(engine.rankings))
    return sorted(found.values(), key=lambda m: (_KINDS.index(m.kind), -m.queries, m.message, m.first))


def _kind(ranking: Ranking, opened: frozenset[str]) -> str:
    """Name how a query failed; one whose engine was never opened was not even asked."""
    return str(ranking.status) if ranking.gold in opened else NOT_OPENED


def breaches(run: Run) -> tuple[Breach, ...]:
    """Count the broken contracts that were survived, by engine and kind, the most frequent first."""
    return tuple(breach for engine in run.engines for breach in _breaches(engine))


def _breaches(engine: EngineRun) -> list[Breach]:
    """Count one engine's."""
    found: dict[str, Breach] = {}
    for ranking in engine.rankings:
        for note in ranking.notes:
            said, _, example = note.partition(_EXAMPLE)
            counted = _COUNTED.fullmatch(said)
            kind = clip(counted[3] if counted else said, SHOWN.message)
            known = found.get(shape(kind)) or Breach(engine.name, kind, 0, 0, 0, clip(example, SHOWN.example))
            times, of = (int(counted[1]), int(counted[2])) if counted else (0, 0)
            found[shape(kind)] = replace(known, queries=known.queries + 1, times=known.times + times, of=known.of + of)
    return sorted(found.values(), key=lambda b: (-b.queries, b.kind))


def strayed(run: Run) -> tuple[Strayed, ...]:
    """Find the engines that name no file of a corpus at all: they look at another tree, or name it otherwise."""
    return tuple(
        _stray(run, engine.name, gold.name, paths)
        for engine in run.engines
        for gold in run.suite.golds
        if (paths := _paths(engine, gold.name)) and not any(path in run.lines[gold.name] for path in paths)
    )


def _paths(engine: EngineRun, gold: str) -> list[str]:
    """List the paths that an engine returned on one gold set."""
    return [hit.path for ranking in engine.rankings if ranking.gold == gold for hit in ranking.hits]


def _stray(run: Run, engine: str, gold: str, paths: Sequence[str]) -> Strayed:
    """Describe it, with a path that shows the likely cause where there is one."""
    pair = next(_alike(paths, run.lines[gold]), None)
    returned, there = pair or (paths[0], next(iter(run.lines[gold]), ""))
    cause = clip(_cause(returned, there), SHOWN.message)
    return Strayed(engine, gold, len(paths), clip(returned, SHOWN.example), clip(there, SHOWN.example), cause)


def _alike(paths: Iterable[str], known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pair paths that are the same but for folders in front."""
    by_name: dict[str, list[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    for path in dict.fromkeys(paths):
        for there in by_name.get(path.rpartition("/")[2], ()):
            if path.endswith(f"/{there}") or there.endswith(f"/{path}"):
                yield path, there


def _cause(returned: str, there: str) -> str:
    """Guess why no path fits."""
    if returned.startswith("/"):
        return "its paths are absolute and lie outside the corpus, as if it searched another copy"
    if there and returned.endswith(f"/{there}"):
        return f"its paths begin with {returned.removesuffix(there)}, as if its root were a folder above the corpus"
    if there.endswith(f"/{returned}"):
        return f"its paths lack {there.removesuffix(returned)}, as if its root were a folder inside the corpus"
    return "nothing in them is alike, as if it searched another tree or returned something else than paths"


def stray_sentence(found: Strayed) -> str:
    """Say it so that nobody takes the score for a measure of its search."""
    return (
        f"No path of {found.engine} exists in the corpus of {found.gold} ({found.results} results): it is scored as if "
        f"it had found nothing. It returned {found.returned}, the corpus has {found.there}: {found.cause}. "
        "Paths are compared exactly: let it name files from the corpus root."
    )


def said(run: Run) -> tuple[Said, ...]:
    """Take the end of what engines wrote to stderr."""
    return tuple(
        Said(engine.name, gold, tame(text[-SHOWN.stderr :]).strip("\n"))
        for engine in run.engines
        for gold, text in engine.stderr.items()
        if text.strip()
    )
