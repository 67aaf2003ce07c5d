"""What comments, subjects and headings say, as somebody might type it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from assay.search.query import parse_query
from assay.search.words import folder_name, runs, stem_name, terms
from assay.syntax.prose import content, is_idle, is_prose, is_trivial, plain_subject, sentences, without_leading_name
from assay.training.config import PairRules
from assay.training.repositories import LICENCE_TEXT

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


_REMEMBERED: Final = 300_000  # runs; those of the largest repositories, some 100 MB
_LONGEST: Final = 64  # characters of a run; longer ones are data: hashes, base64


class _Terms(dict[str, tuple[str, ...]]):
    """Remember the terms of runs, bounded."""

    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(run) > _LONGEST:
            return ()
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[run] = terms(run)
        return found


_TERMS: Final = _Terms()


def code_terms(counted: Mapping[str, int]) -> dict[str, int]:
    """Count the terms of runs."""
    found: dict[str, int] = {}
    for run, count in counted.items():
        for term in _TERMS[run]:
            found[term] = found.get(term, 0) + count
    return found


def query_terms(text: str) -> tuple[str, ...]:
    """Give the terms that a search for a text looks up."""
    return parse_query(text).terms


def path_terms(path: str) -> tuple[str, ...]:
    """Give the terms of a file's name and folders, each once."""
    words = runs(f"{stem_name(path)} {folder_name(path)}")
    return tuple(dict.fromkeys(term for run in words for term in _TERMS[run]))
