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
from typing import TYPE_CHECKING, Final

from assay.errors import CorpusError
from assay.types import CorpusSpec

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


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
#: How pathspec begins a pattern that may match at any depth, and how it ends most.
_ANYWHERE: Final = "^(?:.+/)?"
_END: Final = "(?:(?P<ps_d>/)|$)"


@dataclass(frozen=True, slots=True)
class IgnoreRule:
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
class IgnoreFile:
    """The rules of one file, and the folder they are relative to."""

    base: str  # relative to the top of the walk, "" for the top itself
    rules: tuple[IgnoreRule, ...]
    sieve: re.Pattern[str] | None = None  # lets through every path that a rule matches, and few others

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Say whether the last matching rule ignores; None when no rule matches."""
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        if self.sieve is not None and not self.sieve.match(relative):
            return None
        for rule in reversed(self.rules):
            if rule.matches(relative, folder):
                return rule.ignore
        return None

    def opens(self, path: str) -> bool:
        """Tell whether a rule that takes back names something below this folder."""
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        return any(not rule.ignore and rule.opens(relative) for rule in self.rules)


def verdict(levels: Iterable[IgnoreFile], path: str, folder: bool) -> bool | None:
    """Ask the levels, deepest first: the first that has an opinion decides."""
    for level in levels:
        found = level.verdict(path, folder)
        if found is not None:
            return found
    return None


def read_level(file: str | os.PathLike[str], base: str) -> IgnoreFile | None:
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
    return IgnoreFile(base, rules, _sieve(rules)) if rules else None


def _sieve(rules: Iterable[IgnoreRule]) -> re.Pattern[str] | None:
    patterns = [rule.pattern.pattern for rule in rules]
    if not all(pattern.startswith("^") for pattern in patterns):
        return None
    # A name of a group cannot stand in an expression twice.
    plain = [p.removesuffix(_END) + "(?:/|$)" if p.endswith(_END) else p for p in patterns]
    anywhere = [pattern.removeprefix(_ANYWHERE) for pattern in plain if pattern.startswith(_ANYWHERE)]
    anchored = [pattern for pattern in plain if not pattern.startswith(_ANYWHERE)]
    joined = [*anchored, f"{_ANYWHERE}(?:{'|'.join(anywhere)})"] if anywhere else anchored
    try:
        return _compiled("|".join(joined))
    except re.error:
        return None


def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # re warns of `[[`, which pathspec passes on
        return re.compile(pattern, re.DOTALL)


def as_bytes(path: str) -> str:
    """Write a path with one character a byte: git matches bytes, so its `?` is half an ü."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _spelled_out(pattern: str) -> str:
    return re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), pattern)


def _rule(line: str) -> IgnoreRule | None:
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    line = _spelled_out(_trimmed(line))
    body = line.removeprefix("!")
    folders_only = body.endswith("/")
    stem = body[:-1] if folders_only else body
    if not stem:
        return None
    try:
        regex, ignore = GitIgnoreSpecPattern.pattern_to_regex(line[: len(line) - len(body)] + stem)
        pattern = None if regex is None else _compiled(regex)
    except (GitIgnorePatternError, re.error):  # a range that runs backwards, `[z-a]`
        return None
    if ignore is None or pattern is None:
        return None
    everything, below = pattern.pattern == ".", stem.endswith("/**")
    parts = tuple(part for part in stem.split("/") if part) if "/" in stem else ()
    return IgnoreRule(ignore, folders_only, everything, below, pattern, parts)


def _trimmed(line: str) -> str:
    stripped = line.rstrip(" ")
    kept = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if kept % 2 and len(stripped) < len(line) else stripped


@dataclass(frozen=True, slots=True)
class Globs:
    """Compiled patterns."""

    include: GitIgnoreSpec | None
    exclude: GitIgnoreSpec | None
    takes_back: bool  # an exclude begins with `!`, so a folder it matches may still hold files that count

    def selects(self, path: str) -> bool:
        """Tell whether a file counts."""
        if self.include is not None and not self.include.match_file(path):
            return False
        return self.exclude is None or not self.exclude.match_file(path)

    def prunes(self, folder: str) -> bool:
        """Tell whether nothing below a folder can count."""
        return self.exclude is not None and not self.takes_back and self.exclude.match_file(folder + "/")


def compile_globs(spec: CorpusSpec) -> Globs:
    """Compile the patterns of a corpus."""
    takes_back = any(glob.startswith("!") for glob in spec.exclude)
    return Globs(_compiled_globs(spec.include), _compiled_globs(spec.exclude), takes_back)


def select_paths(globs: tuple[str, ...]) -> Globs:
    """Compile patterns of which one must match."""
    return Globs(_compiled_globs(globs), None, False)


def _compiled_globs(globs: tuple[str, ...]) -> GitIgnoreSpec | None:
    """Compile one list; None when it is empty."""
    if not globs:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return GitIgnoreSpec.from_lines([glob.removeprefix("./") for glob in globs])
    except GitIgnorePatternError as error:
        raise CorpusError(
            f"{error}", hint="include and exclude take git-ignore patterns: *.py, src/**/*.go, tests/"
        ) from error
