"""User-supplied regular expressions, run with a time limit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class PatternLimits:
    """What a pattern of a call may be."""

    length: int = 1_000  # characters: nobody writes more, and what is refused here grows with it
    repeats: int = 10  # times from which `{n,m}` counts as a repetition: below it, time grows by a small factor


LIMITS: Final = PatternLimits()

#: An escape, a set, the head of a group, its end, a repetition with what follows it, a choice; else any character.
_PIECES: Final = re.compile(
    r"""(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<comment>\(\?\#[^)]*\))
    |(?P<open>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[\w-]+[:)])|\?)?)|(?P<close>\))
    |(?P<repeat>[*+]|\{\d*,?\d*\})(?P<manner>[?+]?)|(?P<choice>\|)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _Group:
    """What was seen of a group."""

    final: bool = False  # it never goes back into what it matched
    loose: bool = False  # it may match the same text in several ways


def check_pattern(text: str, limits: PatternLimits = LIMITS) -> None:
    """Refuse a pattern that could take for ever; whether it is one at all is for `re` to say."""
    if len(text) > limits.length:
        raise ConfigError(f"a regex of {len(text):,} characters", hint=f"write one of at most {limits.length:,}")
    stack, closed = [_Group()], _Group()
    for piece in _PIECES.finditer(text):
        if piece["open"]:
            if not piece["open"].endswith(")"):  # `(?i)` is a flag and no group
                stack.append(_Group(final=piece["open"] == "(?>"))
        elif piece["close"] and len(stack) > 1:
            closed = stack.pop()
            stack[-1].loose |= closed.loose and not closed.final
            continue  # what follows at once is about the group
        elif piece["choice"]:
            stack[-1].loose = True
        elif piece["repeat"] and _is_many(piece["repeat"], limits):
            if closed.loose and not closed.final and piece["manner"] != "+":
                raise ConfigError(
                    f"the regex {text[:80]!r} repeats what can match in many ways, which may take for ever",
                    hint="repeat a set of characters, such as [a-z_]+, or write `(?>...)` around the inner part",
                )
            stack[-1].loose |= piece["manner"] != "+"
        closed = _Group()


def _is_many(repeat: str, limits: PatternLimits) -> bool:
    if repeat in "*+":
        return True
    most = repeat.strip("{}").rpartition(",")[2]
    return repeat.endswith(",}") or (most.isdigit() and int(most) > limits.repeats)
