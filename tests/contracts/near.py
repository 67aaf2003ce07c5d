"""Recorded contracts with numbers that differ in the last bits between BLAS builds."""

from __future__ import annotations

import math
import re
from itertools import zip_longest

from tests.contracts import snapshot

#: A float in text, but not inside a digest, version or file name.
_FLOAT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)(?![\w.])")


def check_near(name: str, value: object, *, relative: float = 1e-5, absolute: float = 5e-6) -> None:
    """Check a contract, treating numbers close to the recorded ones as equal.

    Rounding is not enough: a value on a rounding boundary prints differently on another machine.
    """
    text = value if isinstance(value, str) else snapshot.to_json(value)
    path = snapshot.RECORDED / name
    recorded = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = zip_longest(text.split("\n"), recorded.split("\n"), fillvalue="")
    settled = [_settled(line, other, relative, absolute) for line, other in lines]
    snapshot.check(name, "\n".join(settled).rstrip("\n"))


def _settled(line: str, recorded: str, relative: float, absolute: float) -> str:
    if _FLOAT.sub("#", line) != _FLOAT.sub("#", recorded):
        return line
    expected = iter(_FLOAT.findall(recorded))

    def keep(match: re.Match[str]) -> str:
        other = next(expected)
        close = math.isclose(float(match[0]), float(other), rel_tol=relative, abs_tol=absolute)
        return other if close else match[0]

    return _FLOAT.sub(keep, line)
