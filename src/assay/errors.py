"""Expected errors and their exit codes.

AssayError                      exit code 4 unless a subclass overrides it
├── InputError                  2   wrong input from the user
│   ├── GoldError                   a gold set that cannot be read or does not fit its corpus
│   ├── ConfigError                 an invalid configuration key, flag, measure or engine setting
│   └── CorpusError                 a corpus that is missing, unreadable or inconsistent
├── EngineError                 4   an engine or server that fails or violates its contract
│   └── EngineTimeoutError          an engine that exceeded its timeout
├── SetupError                  4   a missing tool or extra, a network or file system error
└── NotComparableError          5   results that cannot be compared
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from pathlib import Path


class AssayError(Exception):
    """Base class of expected errors, with the exit code of the command line."""

    exit_code = 4

    def __init__(
        self, message: str, *, file: str | Path | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.hint = hint

    def __str__(self) -> str:
        return f"{located_message(self)}\n  → {self.hint}" if self.hint else located_message(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message), self.__dict__.copy())

    def rewrite(self, change: Callable[[str], str]) -> Self:
        """Return a copy with `change` applied to message and hint, without traceback and cause."""
        # `copy.copy` keeps the traceback where a library registers picklers for exceptions, as Dask does with tblib
        changed: Self = _rebuild(type(self), self.message)
        changed.__dict__.update(self.__dict__)
        changed.message = change(self.message)
        changed.hint = None if self.hint is None else change(self.hint)
        changed.args = (changed.message,)
        return changed


def located_message(error: AssayError) -> str:
    """Return the file and line of an error with its message, without the hint."""
    where = error.file or ""
    if error.line is not None:
        where = f"{where}:{error.line}" if where else f"line {error.line}"
    return f"{where}: {error.message}" if where else error.message


def _rebuild(kind: type[AssayError], message: str) -> Any:  # noqa: ANN401 - of that kind
    return kind.__new__(kind, message)


class InputError(AssayError):
    """Wrong input from the user."""

    exit_code = 2


class GoldError(InputError):
    """A gold set that cannot be read or does not fit its corpus."""


class ConfigError(InputError):
    """An invalid configuration key, flag, measure or engine setting."""

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        hint: str | None = None,
        keys: Iterable[str] = (),
        flag: str = "",
    ) -> None:
        super().__init__(message, file=file, line=line, hint=hint)
        self.keys = tuple(keys)  # dotted keys of the settings at fault, the most likely cause first
        self.flag = flag  # the flag at fault, which the message names


class CorpusError(InputError):
    """A missing, unreadable or inconsistent corpus."""


class EngineError(AssayError):
    """An engine or server that fails or violates its contract."""

    waited: float = 0.0  # seconds before the failure that are not part of the query, such as a restart
    stderr: str = ""  # last stderr output of an engine that did not open
    run: object = None  # the `assay.Run` of all engines, if one engine failed on every query


class EngineTimeoutError(EngineError):
    """An engine that exceeded its timeout."""


class SetupError(AssayError):
    """A missing tool or extra, or an error of the network or the file system."""


class NotComparableError(AssayError):
    """Results that cannot be compared."""

    exit_code = 5


def install_hint(extra: str) -> str:
    return f"pip install '.[{extra}]' in your checkout of Assay"


def closest_match(word: str, known: Iterable[str], most: int = 1) -> tuple[str, ...]:
    """Return up to `most` known names that resemble a misspelled name, ignoring case, the closest first."""
    import difflib

    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    return tuple(folded[near] for near in difflib.get_close_matches(word.casefold(), folded, n=most))


#: Earlier names and their names now: flags, actions of commands, keys of assay.toml, presets.
RENAMED: Final = {
    "--as": "--reviewer", "--least": "--min-votes", "--most": "--limit", "--again": "--allow-duplicate",
    "--forget": "--drop-stale", "--fresh": "--no-cache", "--without-pooled": "--exclude-pooled",
    "--forms": "--phrasings", "--way": "--strategy", "--knob": "--param",
    "ask": "query", "look": "show", "looks": "access-log",
    "knobs": "params", "way": "strategy", "forms": "phrasings", "give_up": "max_timeouts",
    "git-grep": "keywords", "ripgrep-keywords": "keywords",
}  # fmt: skip


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the hint `renamed to 'NAME'` or `did you mean 'NAME'?`, or an empty string if no known name is similar."""
    known = list(known)
    if (new := RENAMED.get(word)) in known:
        return f"renamed to {new!r}"
    near = closest_match(word, known)
    return f"did you mean {near[0]!r}?" if near else ""
