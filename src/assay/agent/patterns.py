"""Rejection of regular expressions that could backtrack without end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from assay.errors import ConfigError

LENGTH: Final = 1_000  # characters; real patterns are shorter, and matching time grows with the length
REPEATS: Final = 10  # `{n,m}` counts as a repetition above this: below, time grows by a small factor

#: An escape, a set, the start of a group, its end, a repetition with its suffix, a choice; else any character.
_PIECES: Final = re.compile(
    r"""(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<comment>\(\?\#[^)]*\))
    |(?P<open>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[\w-]+[:)])|\?)?)|(?P<close>\))
    |(?P<repeat>[*+]|\{\d*,?\d*\})(?P<suffix>[?+]?)|(?P<choice>\|)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _Group:
    atomic: bool = False  # never backtracks into its match
    ambiguous: bool = False  # may match the same text in several ways


def check_pattern(text: str) -> None:
    """Raise ConfigError for a repetition of an ambiguous group; syntax errors are left to `re`."""
    if len(text) > LENGTH:
        raise ConfigError(f"a regex of {len(text):,} characters", hint=f"write one of at most {LENGTH:,}")
    stack, closed = [_Group()], _Group()  # `closed` is the group that ends right before this piece
    for piece in _PIECES.finditer(text):
        if piece["open"]:
            if not piece["open"].endswith(")"):  # `(?i)` is a flag, not a group
                stack.append(_Group(atomic=piece["open"] == "(?>"))
        elif piece["close"] and len(stack) > 1:
            closed = stack.pop()
            stack[-1].ambiguous |= closed.ambiguous and not closed.atomic
            continue
        elif piece["choice"]:
            stack[-1].ambiguous = True
        elif piece["repeat"] and _is_many(piece["repeat"]):
            possessive = piece["suffix"] == "+"
            if closed.ambiguous and not closed.atomic and not possessive:
                raise ConfigError(
                    f"the regex {text[:80]!r} repeats an ambiguous group, which can take exponential time",
                    hint="repeat a set of characters, such as [a-z_]+, or write `(?>...)` around the inner part",
                )
            stack[-1].ambiguous |= not possessive
        closed = _Group()


def _is_many(repeat: str) -> bool:
    if repeat in "*+":
        return True
    most = repeat.strip("{}").rpartition(",")[2]
    return repeat.endswith(",}") or (most.isdigit() and int(most) > REPEATS)
