"""git-ignore rules as a walk from the top down asks for them.

git decides about each name on the way down by itself: a folder that is left out is never entered, and inside one that
is entered only rules for the name itself count. pathspec translates the patterns; its own matcher lets a rule for a
folder speak for everything below, which is wrong as soon as rules of several .gitignore files meet, so here each rule
is asked about the one name only.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

_CLASSES: Final = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\r\n\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: what it matches and whether it leaves out or takes back."""

    ignore: bool
    folders_only: bool
    everything: bool  # `*`, `**`
    below: bool  # ends in `/**`: everything inside, not the folder itself
    pattern: re.Pattern[str]
    parts: tuple[str, ...]  # of an anchored pattern; empty when it may match at any depth

    def matches(self, path: str, folder: bool) -> bool:
        """Ask about one path, relative to the file the rule stands in."""
        if self.folders_only and not folder:
            return False
        if self.everything:
            return True
        return bool(self.pattern.search(path) if self.below else self.pattern.fullmatch(path))

    def opens(self, path: str) -> bool:
        """Tell whether an anchored rule names something below a folder, so that the folder has to be entered."""
        for index, part in enumerate(path.split("/")):
            if index >= len(self.parts):
                return False
            if self.parts[index] == "**":
                return index > 0
            if not fnmatchcase(part, self.parts[index]):
                return False
        return len(self.parts) > path.count("/") + 1


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one file, and the folder they are relative to."""

    base: str  # relative to the top of the walk, "" for the top itself
    rules: tuple[Rule, ...]

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Say whether the last matching rule ignores; None when no rule matches."""
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        for rule in reversed(self.rules):
            if rule.matches(relative, folder):
                return rule.ignore
        return None

    def opens(self, path: str) -> bool:
        """Tell whether a rule that takes back names something below this folder."""
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        return any(not rule.ignore and rule.opens(relative) for rule in self.rules)


def verdict(levels: Iterable[Level], path: str, folder: bool) -> bool | None:
    """Ask the levels, deepest first: the first that has an opinion decides."""
    for level in levels:
        found = level.verdict(path, folder)
        if found is not None:
            return found
    return None


def read_level(file: str | os.PathLike[str], base: str) -> Level | None:
    """Read an ignore file; one that is not there, or is a link, as git has it, has no rules."""
    try:
        if Path(file).is_symlink():
            return None
        with open(file, "rb") as stream:
            data = stream.read()
    except OSError:
        return None
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    rules = tuple(rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r"))))
    return Level(base, rules) if rules else None


def as_bytes(path: str) -> str:
    """Write a path with one character a byte: git matches bytes, so its `?` is half an ü."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _spelled_out(pattern: str) -> str:
    """Write `[[:alpha:]]` as `[a-zA-Z]`, which pathspec knows."""
    return re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), pattern)


def _rule(line: str) -> Rule | None:
    """Translate a line; a blank, a comment or a pattern git discards is None."""
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    line = _spelled_out(_trimmed(line))
    body = line.removeprefix("!")
    folders_only = body.endswith("/")
    stem = body[:-1] if folders_only else body
    if not stem:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # re warns of `[[`, which pathspec passes on
            translated = GitIgnoreSpecPattern(line[: len(line) - len(body)] + stem)
            pattern = re.compile(translated.regex.pattern, re.DOTALL) if translated.regex else None
    except GitIgnorePatternError:
        return None
    if translated.include is None or pattern is None:
        return None
    everything, below = pattern.pattern == ".", stem.endswith("/**")
    parts = tuple(part for part in stem.split("/") if part) if "/" in stem else ()
    return Rule(translated.include, folders_only, everything, below, pattern, parts)


def _trimmed(line: str) -> str:
    """Cut trailing spaces that no backslash keeps."""
    stripped = line.rstrip(" ")
    kept = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if kept % 2 and len(stripped) < len(line) else stripped
