"""What comments, subjects and headings say, as somebody might type it."""

from __future__ import annotations

from itertools import islice
from typing import Final

from assay.syntax.prose import content, is_idle, is_prose, is_trivial, plain_subject, sentences, without_leading_name
from assay.training.mining.config import PairRules
from assay.training.mining.licences import LICENCE_TEXT

_ENGLISH: Final = 0.9  # least share of ASCII among the characters; below, it is another language or a picture


def ask_comment(comment: str, name: str, rules: PairRules) -> str | None:
    """Give the first sentence of a comment, and the next where that is short, without the name that it begins with."""
    said: list[str] = []
    for sentence in islice(sentences(comment), rules.sentences):
        if not is_prose(sentence, rules.most):
            break
        said.append(sentence if said else without_leading_name(sentence, name))
        if len(content(" ".join(said))) >= rules.short:
            break
    text = ". ".join(said)
    return text if tells(text, rules.fewest) and not is_idle(text) and not LICENCE_TEXT.search(text) else None


def ask_subject(subject: str, rules: PairRules) -> str | None:
    """Take off a subject what only people of the project read; None when nothing is left that tells."""
    asked = plain_subject(subject)
    if is_trivial(subject) or not asked.isprintable() or not is_prose(asked, rules.most):
        return None
    return asked if tells(asked, rules.fewest) else None


def tells(text: str, fewest: int) -> bool:
    """Tell whether a text may be English and has enough words that say something."""
    return is_english(text) and len(content(text)) >= fewest


def is_english(text: str) -> bool:
    """Tell whether a text may be English, by its letters."""
    return sum(map(str.isascii, text)) >= _ENGLISH * len(text)
