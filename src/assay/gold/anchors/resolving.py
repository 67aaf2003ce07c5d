"""Does the gold fit the code? Every path, range and symbol is looked up before anything is measured with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.errors import GoldError
from assay.gold.anchors.lines import AnchorLines
from assay.gold.anchors.lookup import Library, Missing
from assay.types import Adversary, Corpus, Gold, Query, Target


@dataclass(frozen=True, slots=True)
class CorpusGuess:
    """When missing paths say that the gold was made for other code, not that files moved."""

    share: float = 0.5  # more than half of the paths: a refactoring seldom moves that much, a wrong corpus always does
    least: int = 3  # with one or two paths a typing error looks the same


@dataclass(frozen=True, slots=True)
class Problem:
    """An anchor that does not hold, and what to do about it; `code` is a word to count by."""

    code: str
    query: str
    anchor: str
    message: str
    file: str | None = None
    line: int | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """A gold set whose anchors all hold, and what had to be left out for it."""

    gold: Gold
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()  # sentences about what holds, but not where it was written


def resolve(gold: Gold, corpus: Corpus, *, missing: Literal["error", "report"] = "error") -> Resolution:
    """Fill in the lines and units of targets and adversaries; what is missing is an error, or is left out and told."""
    library = Library(corpus)
    checks = _check(gold, library)
    problems = tuple(_problems(gold, checks))
    if problems and missing == "error":
        raise _error(problems)
    queries = [kept for query in gold.queries if (kept := _kept(query, checks)) is not None]
    judged = tuple(replace(query, irrelevant=tuple(_irrelevant(query, library))) for query in queries)
    notes = (*_notes(checks), *_gone(gold, queries, judged))
    return Resolution(replace(gold, queries=judged), problems, notes)


_Checks = Mapping[Target, Target | Missing]


def _anchored(query: Query) -> Iterator[Target]:
    """Yield all that a query points to."""
    yield from query.targets
    yield from (adversary.target for adversary in query.adversaries)


def _check(gold: Gold, library: Library) -> _Checks:
    """Look every distinct target up once."""
    return {target: library.look_up(target) for query in gold.queries for target in _anchored(query)}


def _kept(query: Query, checks: _Checks) -> Query | None:
    """Give the query with what was found; none without a primary."""
    again = {target for target, _ in _same_places(query, checks)}
    targets = tuple(found for t in query.targets if t not in again and isinstance(found := checks[t], Target))
    if not any(isinstance(checks[target], Target) for target in query.primaries):
        return None
    left = [adversary for adversary in query.adversaries if adversary.target not in again]
    adversaries = [kept for adversary in left if (kept := _kept_adversary(adversary, checks)) is not None]
    return replace(query, targets=targets, adversaries=tuple(adversaries))


def _same_places(query: Query, checks: _Checks) -> Iterator[tuple[Target, Target]]:
    """Yield what names the place of an earlier target or adversary through a symbolic link, with that earlier one."""
    found = [(target, there) for target in _anchored(query) if isinstance(there := checks[target], Target)]
    if not any(there.link for _, there in found):
        return
    right = len([target for target in query.targets if isinstance(checks[target], Target)])
    for number, (target, there) in enumerate(found):
        for place, (other, first) in enumerate(found[:number]):
            # a wrong answer cannot be in a file that is right as a whole, nor the other way round
            opposed = number >= right > place and (_is_whole(target) or _is_whole(other))
            same = replace(there, link=None).anchor == replace(first, link=None).anchor
            if target.span.path != other.span.path and there.span.path == first.span.path and (same or opposed):
                yield target, other
                break


def _is_whole(target: Target) -> bool:
    """Return whether a target is a whole file."""
    return target.symbol is None and target.span.start is None


def _kept_adversary(adversary: Adversary, checks: _Checks) -> Adversary | None:
    """Give the adversary with what was found, if it was."""
    found = checks[adversary.target]
    return replace(adversary, target=found) if isinstance(found, Target) else None


def _irrelevant(query: Query, library: Library) -> Iterator[Target]:
    """Yield the judged irrelevant targets that the corpus has: no engine can return the others."""
    there = (target for target in query.irrelevant if library.listed(target.span.path))
    return (found for target in there if isinstance(found := library.look_up(target), Target))


def _gone(gold: Gold, before: Sequence[Query], after: Sequence[Query]) -> Iterator[str]:
    """Count the judged irrelevant targets that were left out."""
    every, kept = (sum(len(query.irrelevant) for query in queries) for queries in (before, after))
    if kept < every:
        yield f"{every - kept} of {every} irrelevant targets of '{gold.name}' are not in the corpus and are left out"


def _notes(checks: _Checks) -> Iterator[str]:
    """Tell which line anchors were found elsewhere in their file by what they say."""
    for target, found in checks.items():
        if isinstance(found, Target) and target.digest is not None and found.span != target.span:
            yield f"{target.anchor} was found at {found.span} by its content; `assay gold reanchor` writes that down"


def _problems(gold: Gold, checks: _Checks) -> Iterator[Problem]:
    """Yield what is wrong, in gold order, a wrong corpus before everything else."""
    yield from _other_corpus(gold, checks)
    lines = AnchorLines(gold)
    for query in gold.queries:
        for target in _anchored(query):
            missing = checks[target]
            if isinstance(missing, Missing):
                line = lines.find(query, target.anchor)
                yield Problem(missing.code, query.id, target.anchor, missing.message, gold.source, line, missing.hint)
        for target, other in _same_places(query, checks):
            message = f"query '{query.id}' names one place twice: {other.anchor} and {target.anchor} are the same file"
            line = lines.find(query, target.anchor)
            yield Problem("link", query.id, target.anchor, message, gold.source, line, "keep one of them")
        if _kept(query, checks) is None:
            message = f"query '{query.id}' has no primary target left"
            yield Problem("no-primary", query.id, "", message, gold.source, query.line, "anchor it anew or remove it")


def _other_corpus(gold: Gold, checks: _Checks, guess: CorpusGuess | None = None) -> Iterator[Problem]:
    """Yield the suspicion that the gold was made for other code."""
    guess = guess or CorpusGuess()
    absent = {t.span.path for t, found in checks.items() if isinstance(found, Missing) and found.code == "path"}
    paths = {target.span.path for target in checks}
    if len(absent) >= guess.least and len(absent) > guess.share * len(paths):
        message = (
            f"{len(absent)} of the {len(paths)} paths of '{gold.name}' are not in the corpus: "
            "this looks like a gold set for another corpus"
        )
        hint = f"this corpus is {gold.corpus.repository}; name the one it was written for, its revision and its root"
        first = next(query for query in gold.queries if any(t.span.path in absent for t in _anchored(query)))
        yield Problem("other-corpus", "", "", message, gold.source, first.line, hint)


#: Problems that are listed behind the first; more are counted.
_LISTED = 9


def _error(problems: tuple[Problem, ...]) -> GoldError:
    """Make an error of the first problem that lists the others, so that one look mends them all."""
    first = problems[0]
    others = [problem for problem in problems[1:] if problem.anchor]  # a query without primary is a consequence
    if not others:
        return GoldError(first.message, file=first.file, line=first.line, hint=first.hint)
    listed = [f"  {problem.file}:{problem.line}: {problem.message}" for problem in others[:_LISTED]]
    if len(others) > _LISTED:
        listed.append(f"  … and {len(others) - _LISTED} more")
    count = f"(and {len(others)} more {'problem' if len(others) == 1 else 'problems'})"
    return GoldError(
        "\n".join([f"{first.message} {count}", *listed]), file=first.file, line=first.line, hint=first.hint
    )
