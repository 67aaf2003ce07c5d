"""The subject of a commit, and the definitions that it changed, where they are now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.corpus.git.worktree import find_top
from assay.errors import EnvironmentFailure
from assay.gold.synth.config import COMMITS, SENTENCES, TARGETS, Draw
from assay.gold.synth.drawing import Answer, Asked, draw
from assay.gold.synth.history import Change, Commit, changes, list_commits, old_texts
from assay.gold.synth.survey import ASKED, Parsed, Survey, is_aside
from assay.syntax.outline import Definition, outline
from assay.syntax.prose import content, is_prose, is_trivial, plain_subject

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np


@dataclass(frozen=True, slots=True)
class History:
    """Subjects that were drawn, and why there are none."""

    asked: tuple[Asked, ...] = ()
    notes: tuple[str, ...] = ()


def commits(survey: Survey, wanted: Draw, rng: np.random.Generator) -> History:
    """Draw commits that changed a few definitions which are still there."""
    corpus = survey.corpus
    if corpus.spec.kind != "path" or find_top(corpus.root.resolve()) is None:
        return History(notes=("commit: not a git work tree, so there is no such set",))
    try:
        candidates = _candidates(survey, wanted, rng)
    except EnvironmentFailure as error:
        return History(notes=(f"commit: {error.message}, so there is no such set",))
    return History(draw(candidates, wanted, rng))


def _candidates(survey: Survey, wanted: Draw, rng: np.random.Generator) -> list[Asked]:
    """Look a sample of the fitting commits up, several times as many as are wanted: most code has moved since."""
    root = survey.corpus.root.resolve()
    now = {file.path: file for file in survey.files if not is_aside(file.path)}
    fitting = _fitting(list_commits(root, COMMITS.looked_at), now)
    sample = [fitting[i] for i in rng.permutation(len(fitting))[: COMMITS.tried * wanted.count]]
    answers = _answers(root, [commit.id for commit in sample], now)
    return [
        Asked(first.path, first.start, first.end, plain_subject(commit.subject), tuple(others))
        for commit in sample
        if 0 < len(places := answers.get(commit.id, ())) <= COMMITS.definitions
        for first, *others in [sorted(places)]
    ]


def speaks(subject: str) -> bool:
    """Tell whether a subject says what changed."""
    asked = plain_subject(subject)
    plain = asked.isprintable() and is_prose(asked, SENTENCES.most) and not is_trivial(subject)
    return plain and len(content(asked)) >= SENTENCES.fewest


def _fitting(found: Sequence[Commit], now: Mapping[str, Parsed]) -> list[Commit]:
    """Keep narrow commits to source that is still there, whose subject says something that no other says."""
    times = Counter(plain_subject(commit.subject).lower() for commit in found)
    return [
        commit
        for commit in found
        if not now.keys().isdisjoint(commit.paths)
        and sum(not is_aside(path) for path in commit.paths) <= COMMITS.files
        and times[plain_subject(commit.subject).lower()] == 1
        and speaks(commit.subject)
    ]


def _answers(root: Path, ids: Sequence[str], now: Mapping[str, Parsed]) -> dict[str, list[Answer]]:
    """Find, commit by commit, where the definitions are that it changed; one that cannot be an answer spoils it."""
    written = [change for change in changes(root, ids) if change.path in now]
    then = old_texts(root, written)
    answers: dict[str, list[Answer]] = {}
    spoilt: set[str] = set()
    for change in written:
        places = list(_places(change, then[change], now[change.path])) if change in then else [None]
        answers.setdefault(change.commit, []).extend(place for place in places if place is not None)
        spoilt |= {change.commit} if None in places else set()
    return {commit: places for commit, places in answers.items() if commit not in spoilt}


def _places(change: Change, text: str, file: Parsed) -> Iterator[Answer | None]:
    """Yield where each definition that a change touched is now; None for one that is gone or too long."""
    before = outline(text, file.language).definitions
    touched = {_innermost(before, line) for line in change.lines} - {-1}
    names = [_qualified(file.definitions, i) for i in range(len(file.definitions))]
    for name in sorted({_qualified(before, position) for position in touched}):
        here = [file.definitions[i] for i, known in enumerate(names) if known == name]
        fits = len(here) == 1 and here[0].end - here[0].start < TARGETS.longest
        yield Answer(file.path, here[0].start, here[0].end) if fits else None


def _innermost(definitions: Sequence[Definition], line: int) -> int:
    """Find the definition that a line belongs to."""
    around = [i for i, d in enumerate(definitions) if d.kind in ASKED and d.start <= line <= d.end]
    return around[-1] if around else -1


def _qualified(definitions: Sequence[Definition], position: int) -> tuple[str, ...]:
    """Name a definition with those around it."""
    names: list[str] = []
    while position >= 0:
        names.append(definitions[position].name)
        position = definitions[position].parent
    return tuple(reversed(names))
