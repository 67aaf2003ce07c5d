"""Intents from comments: the first sentence that documents a definition asks for it, without its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay.gold.leaks import leak
from assay.gold.mining.config import CHANGES, DOCS
from assay.gold.mining.drawing import generator, spread
from assay.gold.mining.ground import Ground, Spot, stems
from assay.gold.mining.proposals import Found, Intent, speaks
from assay.gold.mining.questions import question, stands_alone
from assay.gold.review.items import Origin
from assay.gold.synth.comments import documentation
from assay.gold.synth.config import Draw
from assay.gold.synth.doc import doc_question
from assay.gold.synth.survey import ASKED
from assay.syntax.identifiers import parts
from assay.syntax.prose import content

#: What is only declared: others do the work.
_ABSTRACT: Final = re.compile(r"@(?:abc\.)?abstract|\babstract\b|raise NotImplementedError")
VERBATIM: Final = (
    "its words stand in the corpus as they are, so that word search finds them: "
    "once it is accepted, write the question in other words in the gold file"
)


def mine_comments(ground: Ground, wanted: Draw) -> Found:
    """Propose the sentences that document exactly one definition."""
    every = [sentence for path in sorted(ground.files) for sentence in _sentences(ground, path)]
    lonely = _without_twins(every)
    fitting = [intent for sentence in lonely if (intent := _intent(ground, sentence)) is not None]
    if not fitting:
        return Found(notes=("comments: no definition has a comment that says in a sentence what it does",))
    return Found(spread(fitting, wanted, generator(wanted, "comments")))


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What is said of a definition, in which line, and the stems of its words."""

    spot: Spot
    text: str
    line: int
    stems: frozenset[str]


def _sentences(ground: Ground, path: str) -> Iterator[_Sentence]:
    """Yield what the comments of a file say of its definitions."""
    file = ground.files[path]
    documents = documentation(file.definitions, file.comments)
    for position, (definition, comments) in enumerate(zip(file.definitions, documents, strict=True)):
        text = doc_question(comments, definition, file.language) if definition.kind in ASKED and comments else None
        if text:
            said = stems(parts(" ".join(content(text))))
            yield _Sentence(ground.spot(path, position), text, comments[0].start, said)


def _without_twins(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Leave out what is said of two definitions in nearly the same words: no engine can tell which is meant."""
    holders: dict[str, list[_Sentence]] = {}
    for sentence in sentences:
        for word in sentence.stems:
            holders.setdefault(word, []).append(sentence)
    return [one for one in sentences if not any(_alike(one, other) for other in _nearest(one, holders))]


def _nearest(sentence: _Sentence, holders: Mapping[str, list[_Sentence]]) -> list[_Sentence]:
    """Give those that share one of the rarer words; two that are alike share most, so they share one of these."""
    rare = sorted(sentence.stems, key=lambda word: (len(holders[word]), word))
    shared = rare[: 1 + int((1 - DOCS.alike) * len(rare))]
    return [other for word in shared for other in holders[word] if other is not sentence]


def _alike(one: _Sentence, other: _Sentence) -> bool:
    """Tell whether two sentences have most of their words in common."""
    return len(one.stems & other.stems) >= DOCS.alike * len(one.stems | other.stems)


def _intent(ground: Ground, sentence: _Sentence) -> Intent | None:
    """Make a proposal of a sentence, if it asks for code with a body and does not give its name away."""
    spot, asked = sentence.spot, question(sentence.text)
    fits = speaks(sentence.text) and stands_alone(sentence.text) and asked != sentence.text
    body = spot.definition.end - spot.definition.name_line + 1
    if not fits or not ground.answers(spot) or not DOCS.shortest <= body <= CHANGES.longest:
        return None
    target = ground.anchor(spot)
    if target is None or leak(asked, (target,)) >= DOCS.leak or _ABSTRACT.search(ground.text(spot)):
        return None
    return Intent(
        asked, (target,), Origin("comments", f"the comment in line {sentence.line} of {spot.path}"), notes=(VERBATIM,)
    )
