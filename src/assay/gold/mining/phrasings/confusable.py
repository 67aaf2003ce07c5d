"""Terms that people take for one another: the table, and the forms of its words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Slip:
    """A word, the one it is taken for, and why."""

    word: str
    wrong: str
    kind: str  # noun, verb or word
    why: str


@cache
def slips() -> Mapping[str, Slip]:
    """Read the table: every form of every word, each with the first word it is taken for."""
    text = resources.files("assay.data").joinpath("mining", "confusable.toml").read_text(encoding="utf-8")
    found: dict[str, Slip] = {}
    for pair in tomllib.loads(text)["pair"]:
        for one, other in _forms(pair):
            found.setdefault(one, Slip(one, other, pair["kind"], pair["why"]))
            found.setdefault(other, Slip(other, one, pair["kind"], pair["why"]))
    return found


def _forms(pair: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the forms of both words side by side."""
    one, other = str(pair["one"]), str(pair["other"])
    listed = pair.get("forms")
    if isinstance(listed, list):
        yield from ((str(left), str(right)) for left, right in listed)
        return
    yield one, other
    if pair["kind"] != "word":
        yield _plural(one), _plural(other)
    if pair["kind"] == "verb":
        yield _past(one), _past(other)
        yield _lasting(one), _lasting(other)


def _plural(word: str) -> str:
    """Give the plural of a noun, which is the third person of a verb."""
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def _past(word: str) -> str:
    """Give the past of a regular verb."""
    return f"{word}d" if word.endswith("e") else f"{word}ed"


def _lasting(word: str) -> str:
    """Give the -ing of a regular verb."""
    return f"{word[:-1]}ing" if word.endswith("e") else f"{word}ing"
