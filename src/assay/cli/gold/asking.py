"""A dialogue on the terminal: one thing after the other, a value, a reason; back, skip and end at any time."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from assay.cli.common.output import counted, say, warn
from assay.cli.gold.desk import ask_line

if TYPE_CHECKING:
    from assay.gold.review.reviewers import Said

T = TypeVar("T")

#: A value that stands for "show me the one before again".
BACK = "back"
#: What may be typed besides a value; each also by its first letter.
HELP = "Enter or s skips, b goes back, q ends"
_WORDS = {"": "", "s": "", "skip": "", "b": BACK, "back": BACK}
_END = ("q", "quit")


def walk(things: Sequence[T], ask: Callable[[T, str], Said | None], keep: Callable[[T, Said], object]) -> int:
    """Ask about thing after thing and keep each answer before the next; give how many were answered."""
    kept: set[int] = set()
    at = 0
    try:
        while at < len(things):
            said = ask(things[at], f"{at + 1}/{len(things)}")
            if said is None:
                break
            if said.value == BACK:
                at = max(0, at - 1)
                continue
            if said.value:
                keep(things[at], said)
                kept.add(at)
            at += 1
    except KeyboardInterrupt:
        warn(f"\n{counted(len(kept), 'answer')} kept; only the one that was being given is lost")
        raise
    return len(kept)


def ask_said(args: argparse.Namespace, item: str, question: str, values: Sequence[str]) -> Said | None:
    """Ask for a value and a reason; an empty value skips, None ends."""
    from assay.gold.review.reviewers import Said

    while True:
        answer = ask_line(f"{question} ({HELP}): ")
        if answer is None or answer.casefold() in _END:
            return None
        if answer.casefold() in _WORDS:
            return Said(item, _WORDS[answer.casefold()], "")
        value = meant(answer, values)
        if value is not None:
            break
        say(args, f"'{answer}' is none of {', '.join(values)}")
    while not (reason := ask_line("why: ")):
        if reason is None:
            return None
        say(args, "a few words, please: without a reason nobody can settle a dispute later")
    return Said(item, value, reason)


def meant(answer: str, values: Sequence[str]) -> str | None:
    """Find the value that was typed: in any case, or so much of it that it can be no other."""
    found = [value for value in values if value.startswith(answer.casefold())]
    return found[0] if len(found) == 1 else None
