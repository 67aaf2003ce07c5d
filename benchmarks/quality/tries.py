"""What was tried to win what lexical search loses, wins and losses alike: `python -m benchmarks tries`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from assay.types import Scores
from benchmarks.pages import Section, difference_text, table
from benchmarks.quality.gathering import gather
from benchmarks.quality.halves import Split, split_all, unseen_text
from benchmarks.quality.measuring import by_repository, difference
from benchmarks.quality.model import DEFAULT, LEXICAL, WORDS, engine, identity, lacking, tried
from benchmarks.quality.pool import CODE, POOLED, STDLIB, SYNTHETIC, TUNING, VISIBLE, Answers, answer, only_lost
from benchmarks.quality.sources import say
from benchmarks.quality.variants import Changes, Variant


@dataclass(frozen=True, slots=True)
class Try:
    """Something that was changed, of what it is compared with."""

    name: str
    changes: Changes = field(default_factory=dict)
    against: str = DEFAULT
    kept: bool = False

    @property
    def variant(self) -> Variant:
        """The engine."""
        return engine(self.name, self.changes)


def translated(weight: float) -> Changes:
    """Trust translations otherwise."""
    return {"translation.language": weight, "translation.keywords": weight}


TRIES: Final = (
    Try("translations alone", {"dense.model": ""}, LEXICAL, kept=True),
    Try("vector alone", {"translation.model": ""}, LEXICAL, kept=True),
    Try("both: the default", against=LEXICAL, kept=True),
    Try("no feedback: spans are asked for once", {"dense.feedback.weight": 0.0}),
    Try("feedback from ten units", {"dense.feedback.units": 10}),
    Try("the vector weighs twice as much where no word is found", {"dense.rise": 1.0}),
    Try("the vector's weight is the same for files", {"dense.files": 1.0}),
    Try("the vector's weight is the same for names", {"dense.symbol": 0.5}),
    Try("path words weigh four times as much in the vector of a file", {"dense.path": 4.0}),
    Try("all units set the scale of meaning", {"dense.reach": 10_000_000}),
    Try("the nearest 100 units set it", {"dense.reach": 100}),
    Try("fused by relative scores", {"dense.fusion": "relative"}),
    Try("fused by z-scores", {"dense.fusion": "zscore"}),
    Try("fused by ranks", {"dense.fusion": "rrf"}),
    Try("20 translations of a word", {"translation.most": 20}),
    Try("translations worth 0.3", translated(0.3)),
    Try("translations worth 0.9", translated(0.9)),
    Try("a model of 111 repositories, 600 steps", tried("dropout-half-111")),
    Try("a model of 111 repositories, 800 steps, shared words never dropped", tried("dropout-none-111")),
    Try("a model learned at five times the rate, 1,000 steps", tried("rate-0.01")),
    Try("translations with less smoothing (5)", tried("smoothing-5")),
)


def main() -> Section:
    """Try everything on every set."""
    model = identity()
    tries, notes = tuple(_at_hand()), tuple(_missing())
    here = gather(tuning=True)
    sources = tuple(only_lost(one) if one.part in (STDLIB, SYNTHETIC) else one for one in here.sources)
    variants = [engine(DEFAULT, {}), engine(LEXICAL, WORDS), *(one.variant for one in tries)]
    answers = Answers(sources, answer(sources, variants))
    return section(answers, tries, model, (*here.notes, *notes))


def _at_hand() -> Iterator[Try]:
    """Give the tries whose model is here."""
    return (one for one in TRIES if lacking(one.variant) is None)


def _missing() -> Iterator[str]:
    """Say whose is not."""
    for one in TRIES:
        folder = lacking(one.variant)
        if folder:
            yield say(f"{one.name} is left out: there is no model in {folder.name}")


def section(answers: Answers, tries: Sequence[Try], model: str, notes: Sequence[str]) -> Section:
    """Write what was seen."""
    found = _tables(answers)
    splits = split_all(sorted({unit.repository for unit in found[VISIBLE].units}))
    header = ("tried", "compared with", *found, f"{VISIBLE}, unseen halves of {len(splits)} splits", "kept")
    lines = (
        f"Model `{model}`. Paired differences with their 95 % intervals, by repository where there are six, else by "
        f"intent; not adjusted for the number of rows. {VISIBLE} is macro, by files; the rest is by lines.",
        "",
        *notes,
        "",
        *table(header, [_row(one, found, splits) for one in tries]),
    )
    return Section(lines)


def _tables(answers: Answers) -> Mapping[str, Scores]:
    """Choose what every try is judged on."""
    visible = answers.whole(VISIBLE)
    found = {
        "what lexical search loses": answers.pool(),
        VISIBLE: by_repository(visible) if visible else None,
        CODE: answers.whole(CODE),
        TUNING: answers.whole(TUNING),
    }
    return {name: scores for name, scores in found.items() if scores is not None}


def _row(one: Try, found: Mapping[str, Scores], splits: Sequence[Split]) -> tuple[str, ...]:
    """Write one try."""
    changes = (difference_text(difference(scores, one.name, one.against, POOLED)) for scores in found.values())
    halves = unseen_text(found[VISIBLE], one.name, one.against, splits)
    return one.name, one.against, *changes, halves, "yes" if one.kept else "no"
