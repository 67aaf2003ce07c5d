"""The first sentence of a documentation comment, and the unit that it documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.gold.synth.comments import Stretch, documentation
from assay.gold.synth.config import SENTENCES, TARGETS, Draw
from assay.gold.synth.drawing import Asked, draw
from assay.gold.synth.sentences import first_sentence
from assay.gold.synth.survey import ASKED, Parsed, Survey, is_aside
from assay.syntax.prose import content, names_it, without_leading_name

if TYPE_CHECKING:
    import numpy as np

    from assay.syntax.outline import Definition


@dataclass(frozen=True, slots=True)
class Documented:
    """Sentences that were drawn, and the comments they stand in, by path: those leave the corpus."""

    asked: tuple[Asked, ...]
    comments: Mapping[str, tuple[Stretch, ...]]


def documented(survey: Survey, wanted: Draw, rng: np.random.Generator) -> Documented:
    """Draw sentences that stand over exactly one definition of the corpus."""
    every = dict(pair for file in survey.files for pair in _sentences(file))
    times = Counter(asked.text.lower() for asked in every)
    fit = [asked for asked in every if times[asked.text.lower()] == 1 and not is_aside(asked.path)]
    drawn = draw(fit, wanted, rng)
    comments: dict[str, tuple[Stretch, ...]] = {}
    for asked in drawn:
        comments[asked.path] = (*comments.get(asked.path, ()), *every[asked])
    return Documented(drawn, comments)


def _sentences(file: Parsed) -> Iterator[tuple[Asked, tuple[Stretch, ...]]]:
    """Yield the sentences of a file with the comments that they come from."""
    found = documentation(file.definitions, file.comments)
    for definition, comments in zip(file.definitions, found, strict=True):
        if definition.kind not in ASKED or not comments:
            continue
        sentence = doc_question(comments, definition, file.language)
        start = _first_line(definition, comments)
        if sentence and TARGETS.shortest_documented <= definition.end - start + 1 <= TARGETS.longest:
            yield Asked(file.path, start, definition.end, sentence), comments


def doc_question(comments: Sequence[Stretch], definition: Definition, language: str) -> str | None:
    """Make a question of a comment, if it has words enough and does not give the name away."""
    sentence = first_sentence("\n".join(comment.text for comment in comments))
    if sentence and language == "go":
        sentence = without_leading_name(sentence, definition.name)
    if not sentence or names_it(sentence, definition.name) or len(content(sentence)) < SENTENCES.fewest:
        return None
    return sentence


def _first_line(definition: Definition, comments: Sequence[Stretch]) -> int:
    """Find where a definition begins once its comments are gone."""
    gone = {line for c in comments if not c.inside for line in range(c.start, c.end + 1)}
    return next(line for line in range(definition.start, definition.end + 2) if line not in gone)
