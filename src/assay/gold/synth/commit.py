"""The subject of a commit, and the definitions that it changed, where they are now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.corpus.git.worktree import find_top
from assay.errors import EnvironmentFailure
from assay.gold.history import Commit, list_commits
from assay.gold.synth.changed import Touched, touched
from assay.gold.synth.config import COMMITS, SENTENCES, TARGETS, Draw
from assay.gold.synth.drawing import Answer, Asked, draw
from assay.gold.synth.survey import Parsed, Survey, is_aside
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
    answers: dict[str, list[Answer]] = {}
    for commit, found in touched(root, ids, now).items():
        places = [_place(one, now) for one in found]
        if None not in places:
            answers[commit] = [place for place in places if place is not None]
    return answers


def _place(one: Touched, now: Mapping[str, Parsed]) -> Answer | None:
    """Give where a definition is now; None for one that is gone or too long."""
    if one.position is None:
        return None
    here = now[one.path].definitions[one.position]
    return Answer(one.path, here.start, here.end) if here.end - here.start < TARGETS.longest else None
