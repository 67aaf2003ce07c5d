"""Targets as they are written: `path`, `path:10-42`, `path:10-42#0123456789ab`, `path::Scope.symbol`, `...symbol~2`."""

from __future__ import annotations

import re

from assay.gold.anchors.digests import DIGEST_LENGTH
from assay.gold.place import Place
from assay.types import PRIMARY, Span, Target

_SYNTAX = "a target is written path, path:10-42 or path::Scope.symbol"
_RANGE = re.compile(r"(?P<path>.*):(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9})(?:#(?P<digest>.*))?", re.DOTALL)
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_LENGTH}}}")
_REPEAT = re.compile(r"~([0-9]+)$")


def parse_target(text: str, place: Place, *, grade: int = PRIMARY) -> Target:
    """Read a target; a symbol anchor has no lines yet."""
    path, colons, symbol = text.partition("::")
    if colons:
        return Target(Span(check_path(path, place)), grade, _check_symbol(symbol, text, place))
    ranged = _RANGE.fullmatch(text)
    if ranged is None:
        return Target(Span(check_path(text, place)), grade)
    span = ranged_span(ranged["path"], int(ranged["start"]), int(ranged["end"]), place)
    return Target(span, grade, digest=_check_digest(ranged["digest"], text, place))


def ranged_span(path: str, start: int, end: int, place: Place) -> Span:
    """Make the span of lines `start` to `end`, both counted from 1 and both included."""
    if start < 1:
        raise place.error(f"'{path}:{start}-{end}' begins before line 1", "lines are counted from 1")
    if start > end:
        raise place.error(f"'{path}:{start}-{end}' ends before it begins", f"write {path}:{end}-{start}?")
    return Span(check_path(path, place), start, end)


def check_path(path: str, place: Place) -> str:
    """Give back a path that is POSIX, relative to the corpus root, and cannot leave it."""
    problem = path_problem(path)
    if problem:
        raise place.error(f"'{path}' {problem}", f"{_SYNTAX}; paths are relative to the corpus root, with '/'")
    return place.text(path, "the path of a target")


def path_problem(path: str) -> str | None:
    """Say what is wrong with a path, if anything."""
    checks = {
        "has no path": not path,
        "has a backslash in it": "\\" in path,
        "is an absolute path": path.startswith("/"),
        "has blanks around its path": path != path.strip(),
        "has a control character in its path": any(ord(character) < 32 or character == "\x7f" for character in path),
        "names a folder": path.endswith("/"),
        "has a ':' in its path": ":" in path,
        "climbs with '..'": ".." in path.split("/"),
        "has an empty or '.' step in its path": not {"", "."}.isdisjoint(path.split("/")),
    }
    return next((problem for problem, found in checks.items() if found), None)


def _check_digest(digest: str | None, text: str, place: Place) -> str | None:
    """Give back the hash of the content, if there is one and it is one."""
    if digest is not None and not _DIGEST.fullmatch(digest):
        message = f"'{text}' has no content hash of {DIGEST_LENGTH} hex digits behind its '#'"
        raise place.error(message, "leave it out, and let `assay gold reanchor --digest` write it")
    return digest


def _check_symbol(symbol: str, text: str, place: Place) -> str:
    """Give back a symbol whose scopes are joined by dots and whose repeat number says something."""
    if ":" in symbol:
        raise place.error(f"'{text}' has a ':' in its symbol", f"scopes are joined by '.': {symbol.replace('::', '.')}")
    if not all(symbol.split(".")) or any(character.isspace() for character in symbol):
        raise place.error(f"'{text}' does not name a symbol", _SYNTAX)
    repeat = _REPEAT.search(symbol)
    if repeat and (repeat[1].startswith("0") or repeat[1] == "1"):
        raise place.error(f"'{text}' counts from ~2", "the first definition of a name has no number")
    return place.text(symbol, "the symbol of a target")
