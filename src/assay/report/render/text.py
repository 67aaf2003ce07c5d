"""Sanitize text from engines, tools and gold files for display."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

#: Terminal sequences: colours and cursor moves (CSI), titles and links (OSC), and the two-letter ones.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]"
)
#: A line end of any kind; progress is written with the lone one.
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85]")
#: Controls but tab and newline, overrides of the direction of writing, halves of characters.
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
#: How records name a folder: its name, and a hash that tells it from others of that name.
_FOLDER = re.compile(r"path:(.+)-[0-9a-f]{6}")
#: What stands in single backticks; a lone one and several together are no more than characters.
_CODE = re.compile(r"(?<!`)`([^`\s](?:[^`\n]*[^`\s])?)`(?!`)")
#: How a command to GitHub's runner begins; it looks behind spaces, and takes a lone \\r for the end of a line.
_COMMANDS = re.compile(r"(?:^|(?<=[\r\n]))\s*:(?=:)")
_NUMBERS = re.compile(r"\d[\d.,]*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class QuoteLimits:
    """How much of what engines say a report repeats; the records hold the rest."""

    message: int = 300  # characters of a message: the sentence and its next step
    example: int = 160  # characters of a path
    stderr: int = 4000  # the last characters of what an engine wrote to stderr: a Python traceback with its cause


SHOWN = QuoteLimits()


def strip_control(text: str) -> str:
    """Take out what steers a terminal and show what has no shape as `�`; lines and tabs stay."""
    return _UNFIT.sub("\ufffd", _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text)))


def escape_commands(text: str) -> str:
    """Keep text in the log of GitHub's runner from being a command: `::` that begins a line, `##[` anywhere."""
    return _COMMANDS.sub("\\g<0>\u2060", text).replace("##[", "##\u2060[")


def code_spans(text: str) -> list[tuple[str, bool]]:
    """Cut a text into words and what stands in single backticks, and say of each part whether it is code."""
    return [(part, place % 2 == 1) for place, part in enumerate(_CODE.split(text)) if part]


def clip(text: str, most: int) -> str:
    """Put a text on one line of bounded length, and say how much is missing."""
    if len(text) <= most and text.isprintable() and "  " not in text and text.strip() == text:
        return text  # most are paths, and there are many
    # More than a few times the length need not be read: an engine may return a megabyte as a path.
    flat = " ".join(strip_control(text[: 8 * most]).split())
    kept = flat[:most]
    left = max(len(flat) - most, 0) + max(len(text) - 8 * most, 0)
    return f"{kept}… ({left:,} more characters)" if left else kept


def repository_names(repositories: Iterable[str]) -> dict[str, str]:
    """Name repositories for people: a folder by its name, with its hash where two have the same one."""
    every = sorted(set(repositories))
    short = {name: found[1] if (found := _FOLDER.fullmatch(name)) else name for name in every}
    many = Counter(short.values())
    return {name: called if many[called] == 1 else name.removeprefix("path:") for name, called in short.items()}


def shape(text: str) -> str:
    """Reduce a message to what it has in common with its like: numbers and quoted words are left out."""
    return _NUMBERS.sub("#", _QUOTED.sub("'…'", text))


class HasInterval(Protocol):
    """Whatever has two ends: an interval, or a row that carries one."""

    @property
    def low(self) -> float:
        """The lower end."""
        ...

    @property
    def high(self) -> float:
        """The upper end."""
        ...


def format_interval(interval: HasInterval, shape: str = ".3f") -> str:
    """Write an interval."""
    return f"[{interval.low:{shape}}, {interval.high:{shape}}]"


def mean_text(mean: float, interval: HasInterval) -> str:
    """Write a mean with its interval; the third digit of an end would say more than is known."""
    return f"{mean:.3f} {format_interval(interval, '.2f')}"


def difference_text(difference: float, interval: HasInterval) -> str:
    """Write a difference with its interval, signs and all."""
    return f"{difference:+.3f} {signed_ends(interval)}"


def signed_ends(interval: HasInterval) -> str:
    """Write the interval of a difference."""
    return format_interval(interval, "+.3f")


def count(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun; most take an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
