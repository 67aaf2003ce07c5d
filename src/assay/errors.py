"""Everything Assay raises on purpose.

AssayError                      exit code 4 unless a subclass says otherwise
├── InputError                  2   the user gave us something wrong; says where and what to do next
│   ├── GoldError                   a gold set that cannot be read or does not fit its corpus
│   ├── ConfigError                 assay.toml, a flag, a measure or an engine setting
│   └── CorpusError                 a corpus that is missing, unreadable or not what it says
├── EngineError                 4   an engine cannot be opened, or broke its contract
│   └── EngineTimeout               ... or did not answer in time
├── EnvironmentFailure          4   a tool, an extra or a network the user's machine lacks
└── NotComparableError          5   two results that must not be compared
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class AssayError(Exception):
    """Base of every expected failure; carries the exit code the command line ends with."""

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.hint = hint

    def __str__(self) -> str:
        """`file:line: what is wrong` and, on a line of its own, what to do next."""
        where = self.file or ""
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        head = f"{where}: {self.message}" if where else self.message
        return f"{head}\n  → {self.hint}" if self.hint else head

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip between processes with file, line and hint."""
        return (_rebuild, (type(self), self.message, self.file, self.line, self.hint))


def _rebuild(kind: type[AssayError], message: str, file: str | None, line: int | None, hint: str | None) -> AssayError:
    return kind(message, file=file, line=line, hint=hint)


class InputError(AssayError):
    """The user's input is wrong."""

    exit_code = 2


class GoldError(InputError):
    """A gold set cannot be read, or does not fit its corpus."""


class ConfigError(InputError):
    """A configuration key, a flag, a measure or an engine setting is wrong."""


class CorpusError(InputError):
    """A corpus is missing, unreadable, or not what it says."""


class EngineError(AssayError):
    """An engine cannot be opened, or broke its contract."""

    waited: float = 0.0  # seconds before it that were no part of the answer, such as those of a restart
    stderr: str = ""  # the end of what its programs wrote there, where it did not open and nobody can ask later
    run: object = None  # the `assay.Run` of all engines, where one of them failed on every query


class EngineTimeoutError(EngineError):
    """An engine did not answer in time."""


class SetupError(AssayError):
    """The machine lacks a tool, an extra or a network."""


class NotComparableError(AssayError):
    """Two results that must not be compared."""

    exit_code = 5


def install_hint(extra: str) -> str:
    """Say how to get the packages of an extra: from a checkout, which everybody who has Assay has."""
    return f"pip install '.[{extra}]' in your checkout of Assay"


def closest_match(word: str, known: Iterable[str], most: int = 1) -> tuple[str, ...]:
    """Find what a misspelt name may have been meant for, whatever its case; nothing when nothing is near."""
    import difflib

    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    return tuple(folded[near] for near in difflib.get_close_matches(word.casefold(), folded, n=most))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Ask whether a near name was meant, for a hint; empty when nothing is near."""
    near = closest_match(word, known)
    return f"did you mean {near[0]!r}?" if near else ""
