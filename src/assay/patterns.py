"""Regular expressions from users, matched within a time limit by the `regex` package."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from assay.errors import AssayError, ConfigError
from assay.records import dataclass

if TYPE_CHECKING:
    from regex import Match, Pattern

#: CPU seconds for all texts together; a search for a common pattern in 100 MB takes less than one.
SECONDS: Final = 2.0
_LEAST: Final = 0.001  # seconds; 0 would be no limit
_SHOWN: Final = 80  # characters of a pattern in a message
#: What `re` and `regex` read alike, with the next characters that they may not: `{` and, in sets, `[`.
_PARTS: Final = re.compile(
    r"\\N\{[^}]*\}|\\.|\(\?#[^)]*\)|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\}|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<brace>\{)",
    re.DOTALL,
)
_VERBOSE: Final = re.compile(rf"#[^\n]*|{_PARTS.pattern}", re.DOTALL)
_NESTED: Final = re.compile(r"(\\.)|\[", re.DOTALL)


@dataclass(slots=True)
class UserPattern:
    """A compiled pattern; `seconds` are the CPU time that is left for its searches."""

    text: str
    where: str = ""  # prefix of messages
    keys: tuple[str, ...] = ()
    timeout: type[AssayError] = ConfigError
    seconds: float = SECONDS
    after: str | None = None  # for bytes: what follows the pattern
    compiled: Pattern[Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        import regex  # 20 ms

        try:
            flags = re.compile(self.text if self.after is None else self.text.encode()).flags  # `regex` accepts more
            text = as_regex(self.text, verbose=bool(flags & re.VERBOSE))
            pattern = text if self.after is None else f"(?:{text}){self.after}".encode()
            self.compiled = regex.compile(pattern, regex.MULTILINE)
        except Exception as error:  # the errors of `re` and `regex` have no other common base
            message = f"{self.where}invalid regular expression {self.text[:_SHOWN]!r}: {error}"
            raise ConfigError(message, hint="use the syntax of Python's `re` module", keys=self.keys) from error

    def fresh(self) -> UserPattern:
        """Return a copy with all of its time, for the next output."""
        return copy(self)

    def search(self, text: str | bytes | bytearray, start: int = 0) -> Match[Any] | None:
        begin = time.thread_time()
        try:
            return self.compiled.search(text, start, timeout=max(self.seconds, _LEAST), concurrent=True)
        except TimeoutError:
            self._give_up()
        finally:
            self.seconds -= time.thread_time() - begin

    def finditer(self, text: str) -> Iterator[Match[str]]:
        try:
            yield from self.compiled.finditer(text, timeout=max(self.seconds, _LEAST), concurrent=True)
        except TimeoutError:
            self._give_up()

    def _give_up(self) -> NoReturn:
        raise self.timeout(
            f"{self.where}the regular expression {self.text[:_SHOWN]!r} takes more than {SECONDS:g} s",
            hint="repeat a set of characters, such as [a-z_]+, instead of a group with repetitions",
        )


def as_regex(text: str, *, verbose: bool = False) -> str:
    """Return a pattern of `re` for `regex`, which reads `a{e}` as an approximate match and `[[:alpha:]]` as a class."""

    def escape(part: re.Match[str]) -> str:
        if part["brace"]:
            return "\\{"
        if part["set"]:
            return "[" + _NESTED.sub(lambda inner: inner[1] or "\\[", part["set"][1:])
        return part[0]

    return (_VERBOSE if verbose else _PARTS).sub(escape, text)
