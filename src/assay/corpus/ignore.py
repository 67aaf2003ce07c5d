"""Apply git-ignore rules in a top-down walk; match include and exclude globs.

git decides on each name separately: it never enters an ignored directory, and inside an entered directory only rules
for the name itself apply. pathspec translates the patterns, but its matcher applies rules for directories to
everything below, which is wrong with rules from several .gitignore files. Here each rule is applied to one name.
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
#: The prefix of pathspec's regexes that match at any depth, and their usual suffix.
_ANYWHERE: Final = "^(?:.+/)?"
_END: Final = "(?:(?P<ps_d>/)|$)"


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    ignore: bool  # False for a rule with `!`
    directories_only: bool
    everything: bool  # `*`, `**`
    below: bool  # ends in `/**`: everything inside, not the directory itself
    pattern: re.Pattern[str]
    parts: tuple[str, ...]  # of a pattern with a leading or inner slash, otherwise empty

    def matches(self, path: str, is_directory: bool) -> bool:
        if self.directories_only and not is_directory:
            return False
        if self.everything:
            return True
        return bool(self.pattern.search(path) if self.below else self.pattern.fullmatch(path))

    def opens(self, path: str) -> bool:
        """Return whether the rule is anchored (by a slash, and not by `**/`) and may match below a directory."""
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
    base: str  # relative to the top of the walk, "" for the top itself
    rules: tuple[IgnoreRule, ...]
    sieve: re.Pattern[str] | None = None  # a fast filter: matches every path that a rule matches, and few others

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        if self.sieve is not None and not self.sieve.match(relative):
            return None
        for rule in reversed(self.rules):
            if rule.matches(relative, is_directory):
                return rule.ignore
        return None

    def opens(self, path: str) -> bool:
        """Return whether an anchored rule with `!` may match below a directory, which must then be entered."""
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        return any(not rule.ignore and rule.opens(relative) for rule in self.rules)


def verdict(levels: Iterable[IgnoreFile], path: str, is_directory: bool) -> bool | None:
    """Return the verdict of the first ignore file with a matching rule, or None; the deepest file must come first."""
    for level in levels:
        decision = level.verdict(path, is_directory)
        if decision is not None:
            return decision
    return None


def read_level(file: str | os.PathLike[str], base: str) -> IgnoreFile | None:
    """Read an ignore file; return None if it is unreadable, without rules, or a symbolic link (git ignores those)."""
    try:
        data = b"" if os.path.islink(file) else Path(file).read_bytes()
    except OSError:
        return None
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    rules = tuple(rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r"))))
    return IgnoreFile(base, rules, _make_sieve(rules)) if rules else None


def _make_sieve(rules: Iterable[IgnoreRule]) -> re.Pattern[str] | None:
    patterns = [rule.pattern.pattern for rule in rules]
    if not all(pattern.startswith("^") for pattern in patterns):
        return None
    # A group name may not occur twice in one regex.
    plain = [p.removesuffix(_END) + "(?:/|$)" if p.endswith(_END) else p for p in patterns]
    anywhere = [pattern.removeprefix(_ANYWHERE) for pattern in plain if pattern.startswith(_ANYWHERE)]
    anchored = [pattern for pattern in plain if not pattern.startswith(_ANYWHERE)]
    joined = [*anchored, f"{_ANYWHERE}(?:{'|'.join(anywhere)})"] if anywhere else anchored
    try:
        return _compile("|".join(joined))
    except re.error:
        return None


def _compile(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # re warns about `[[` from pathspec
        return re.compile(pattern, re.DOTALL)


def as_bytes(path: str) -> str:
    """Return a path with one character per byte, since git matches bytes: `?` matches one of the two bytes of ü."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _rule(line: str) -> IgnoreRule | None:
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    line = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), _trim(line))
    body = line.removeprefix("!")
    directories_only = body.endswith("/")
    stem = body[:-1] if directories_only else body
    if not stem:
        return None
    try:
        regex, ignore = GitIgnoreSpecPattern.pattern_to_regex(line[: len(line) - len(body)] + stem)
        pattern = None if regex is None else _compile(regex)
    except (GitIgnorePatternError, re.error):  # a reversed range, `[z-a]`
        return None
    if ignore is None or pattern is None:
        return None
    everything, below = pattern.pattern == ".", stem.endswith("/**")
    parts = tuple(part for part in stem.split("/") if part) if "/" in stem else ()
    return IgnoreRule(ignore, directories_only, everything, below, pattern, parts)


def _trim(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped


@dataclass(frozen=True, slots=True)
class Globs:
    include: GitIgnoreSpec | None
    exclude: GitIgnoreSpec | None
    takes_back: bool  # an exclude glob begins with `!`, so an excluded directory may contain included files

    def selects(self, path: str) -> bool:
        if self.include is not None and not self.include.match_file(path):
            return False
        return self.exclude is None or not self.exclude.match_file(path)

    def prunes(self, directory: str) -> bool:
        return self.exclude is not None and not self.takes_back and self.exclude.match_file(directory + "/")


def compile_globs(spec: CorpusSpec) -> Globs:
    takes_back = any(glob.startswith("!") for glob in spec.exclude)
    return Globs(_compile_list(spec.include), _compile_list(spec.exclude), takes_back)


def select_paths(globs: tuple[str, ...]) -> Globs:
    return Globs(_compile_list(globs), None, False)


def _compile_list(globs: tuple[str, ...]) -> GitIgnoreSpec | None:
    if not globs:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return GitIgnoreSpec.from_lines([glob.removeprefix("./") for glob in globs])
    except GitIgnorePatternError as error:
        raise CorpusError(
            f"invalid glob: {error}", hint="use git-ignore patterns: *.py, src/**/*.go, tests/"
        ) from error
