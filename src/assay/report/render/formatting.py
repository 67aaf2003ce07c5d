from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Protocol

#: Terminal sequences: colors and cursor moves (CSI), titles and links (OSC), and the two-letter ones.
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]"
)
#: Line ends of all kinds; progress output ends lines with a lone \\r.
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85]")
#: Control characters except tab and newline, overrides of the writing direction, lone surrogates.
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
#: The repository name of a directory: its name and a hash that distinguishes directories of one name.
_FOLDER = re.compile(r"path:(.+)-[0-9a-f]{6}")
#: Text in single backticks; lone and multiple backticks are plain characters.
_CODE = re.compile(r"(?<!`)`([^`\s](?:[^`\n]*[^`\s])?)`(?!`)")
#: The start of a command to GitHub's runner, which skips spaces and takes a lone \\r as a line end.
_COMMANDS = re.compile(r"(?:^|(?<=[\r\n]))\s*:(?=:)")
_NUMBERS = re.compile(r"\d[\d.,]*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class QuoteLimits:
    message: int = 300  # characters of a message: a sentence and a hint
    example: int = 160  # characters of a path
    stderr: int = 4000  # last characters of stderr: a Python traceback with its cause


SHOWN = QuoteLimits()


def strip_control(text: str) -> str:
    """Remove terminal sequences and replace control characters by `�`; newlines and tabs stay."""
    return _UNFIT.sub("\ufffd", _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text)))


def escape_commands(text: str) -> str:
    """Escape commands to GitHub's runner: `::` at the start of a line, `##[` anywhere."""
    return _COMMANDS.sub("\\g<0>\u2060", text).replace("##[", "##\u2060[")


def code_spans(text: str) -> list[tuple[str, bool]]:
    """Split a text at single backticks into parts, each with whether it is code."""
    return [(part, place % 2 == 1) for place, part in enumerate(_CODE.split(text)) if part]


def clip(text: str, most: int) -> str:
    """Return a text as one line; after `most` characters it is cut and ends with the number of omitted characters."""
    if len(text) <= most and text.isprintable() and "  " not in text and text.strip() == text:
        return text  # the usual case: a path
    # only a few times the length is sanitized: an engine may return a megabyte as a path
    flat = " ".join(strip_control(text[: 8 * most]).split())
    kept = flat[:most]
    left = max(len(flat) - most, 0) + max(len(text) - 8 * most, 0)
    return f"{kept}… ({left:,} more characters)" if left else kept


def repository_names(repositories: Iterable[str]) -> dict[str, str]:
    """Return display names of repositories: directories without their hash, unless two have the same name."""
    every = sorted(set(repositories))
    short = {name: found[1] if (found := _FOLDER.fullmatch(name)) else name for name in every}
    many = Counter(short.values())
    return {name: called if many[called] == 1 else name.removeprefix("path:") for name, called in short.items()}


def shape(text: str) -> str:
    """Return a message without numbers and quoted words, to group similar messages."""
    return _NUMBERS.sub("#", _QUOTED.sub("'…'", text))


class HasInterval(Protocol):
    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def format_interval(interval: HasInterval, shape: str = ".3f") -> str:
    return f"[{interval.low:{shape}}, {interval.high:{shape}}]"


def mean_text(mean: float, interval: HasInterval) -> str:
    """Format a mean with its interval; a third digit of the ends would be noise."""
    return f"{mean:.3f} {format_interval(interval, '.2f')}"


def difference_text(difference: float, interval: HasInterval) -> str:
    """Format a difference with its interval, signed; a third digit of the ends would be noise."""
    return f"{difference:+.3f} {format_interval(interval, '+.2f')}"


def signed_ends(interval: HasInterval) -> str:
    return format_interval(interval, "+.3f")


def p_text(value: float | None) -> str:
    """Format a p-value with two significant digits."""
    return "–" if value is None else f"{value:#.2g}" if value >= 0.001 else "<0.001"


def count(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun; the default plural adds an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def plain(value: object) -> object:
    """Convert a value to JSON types, records by field: NaN and infinity to null, lone surrogates to escapes."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, str):
        plain_ascii = type(value) is str and value.isascii()
        return value if plain_ascii else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def format_json(value: object, pad: str = "\n") -> str:
    """Format plain JSON as `json.dumps(value, indent=1, ensure_ascii=False)`, several times as fast."""
    if isinstance(value, dict) and value:
        inner = f",{pad} ".join([f"{_quoted(key)}: {format_json(item, pad + ' ')}" for key, item in value.items()])
        return f"{{{pad} {inner}{pad}}}"
    if isinstance(value, list) and value:
        inner = f",{pad} ".join([format_json(item, pad + " ") for item in value])
        return f"[{pad} {inner}{pad}]"
    if isinstance(value, str):
        return _quoted(value)
    return repr(value) if type(value) in (int, float) else _encoded(value)


_quoted = json.encoder.encode_basestring
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
