"""The first sentence of a documentation comment, as somebody might have asked for the code under it."""

from __future__ import annotations

from assay.gold.synth.config import SENTENCES
from assay.syntax.prose import is_idle, is_prose, sentences


def first_sentence(comment: str) -> str | None:
    """Give the first sentence of a comment without its markers and markup, if it is one."""
    sentence = next(sentences(comment), "")
    return sentence if is_prose(sentence, SENTENCES.most) and not is_idle(sentence) else None
