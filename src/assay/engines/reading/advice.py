"""What to declare, deduced from an answer that could not be read as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.engines.reading.selectors import Selector

#: Where a path may stand besides the names that are read without being declared.
_SELDOM = ("uri", "location", "loc", "source", "document", "name", "id")
_FILE = re.compile(r"(?:file://)?\S*\w\.[A-Za-z]\w{0,7}(?::\d+.*)?|\S+/\S+")
# Whole words of letters: no part of a secret may be left that is no longer known as one.
_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){0,3}(?=\s|[.,:;!]*(?:\s|$))")


@dataclass(frozen=True, slots=True)
class AdviceLimits:
    """How far an answer is looked at to say what to declare."""

    depth: int = 6  # tables and lists in each other: no tool nests its results deeper
    keys: int = 8  # that a message names


ADVICE = AdviceLimits()


def there_is(document: object, field: Selector) -> str:
    """Say what stands where a field was looked for in the first result, from the place where it goes astray."""
    value, done = document, list[str]()
    for step in field.steps:
        inner = _step(value, step)
        if inner is None:
            break
        value = inner
        done.append(step)
    keys = ", ".join(sorted(map(str, value))[: ADVICE.keys]) if isinstance(value, dict) else type(value).__name__
    return f"{Selector(tuple(done)) if done else 'its top'} has: {keys}"


def _step(value: object, step: str) -> object:
    """Go one step down; into the first item of a list."""
    if step == "[]":
        return value[0] if isinstance(value, list) and value else None
    if isinstance(value, list) and step.isdecimal():
        return value[int(step)] if int(step) < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def propose_path(document: object, names: Sequence[str]) -> str:
    """Give the setting that would find paths in a document, behind `path = `; empty when none is seen."""
    ranks = {name: rank for rank, name in enumerate((*names, *_SELDOM))}
    found = [
        (ranks.get(steps[-1], len(ranks)), len(steps), steps)
        for steps, text in _leaves(document, ())
        if "[]" in steps and _FILE.fullmatch(text)
    ]
    return f'path = "{Selector(min(found)[2])}"' if found else ""


def _leaves(value: object, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """List the texts in a document with their places; of a list the first item stands for all."""
    if isinstance(value, str):
        yield steps, value
    elif len(steps) < ADVICE.depth * 2 and isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*steps, str(key)))
    elif len(steps) < ADVICE.depth * 2 and isinstance(value, list) and value:
        yield from _leaves(value[0], (*steps, "[]"))


def propose_words(text: str) -> str:
    """Give a regular expression, quoted as in TOML, for how a text begins."""
    match = _WORDS.match(text)
    return f"'^{match[0]}'" if match else "'…'"
