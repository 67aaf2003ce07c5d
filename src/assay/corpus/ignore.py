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
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from assay.errors import CorpusError
from assay.files import open_regular
from assay.records import dataclass
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
#: Names, `*` and sets of characters, separated by slashes; the first name is not `*` alone.
_CHARACTERS: Final = r"(?:[A-Za-z0-9_.@+~-]|\[[A-Za-z0-9]+\])+"
_NAME_PATTERN: Final = rf"\*?{_CHARACTERS}(?:\*{_CHARACTERS})*\*?"
_PLAIN: Final = re.compile(rf"\*|/?{_NAME_PATTERN}(?:/(?:{_NAME_PATTERN}|\*))*")

_STAR: Final = "[^/]*"
#: Characters and sets of characters, in the regexes of pathspec.
_FIXED: Final = re.compile(r"(?:[^\\()\[\]{}|?*+^$./]|\\[^\w/]|\[\^?(?:[^\\\[\]]|\\.)+\])+")
#: Longer ignore files are data.
_MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    ignore: bool  # False for a rule with `!`
    directories_only: bool
    everything: bool  # `*`, `**`
    below: bool  # ends in `/**`: everything inside, not the directory itself
    regex: str
    parts: tuple[str, ...]  # of a pattern with a leading or inner slash, otherwise empty
    literal: str | None  # a name, or `*` and an ending of names; None for other patterns

    def matches(self, path: str, is_directory: bool) -> bool:
        if self.directories_only and not is_directory:
            return False
        if self.everything:
            return True
        if self.literal is not None:
            name = path.rpartition("/")[2]
            return name.endswith(self.literal[1:]) if self.literal[0] == "*" else name == self.literal
        pattern = _compile(self.regex)
        return bool(pattern.search(path) if self.below else pattern.fullmatch(path))

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
class Sieve:
    """A fast filter: passes every path that a rule matches, and few others."""

    names: frozenset[str]
    endings: tuple[str, ...]
    pattern: re.Pattern[str] | None  # of the rules that are not a name or an ending of names

    def may_match(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if name in self.names or name.endswith(self.endings):
            return True
        return self.pattern is not None and self.pattern.match(path) is not None


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    base: str  # relative to the top of the walk, "" for the top itself
    rules: tuple[IgnoreRule, ...]
    sieve: Sieve

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        relative = as_bytes(path[len(self.base) + 1 :] if self.base else path)
        if not self.sieve.may_match(relative):
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
        with open_regular(os.fspath(file)) as stream:
            data = stream.read(_MOST_BYTES)
    except OSError:
        return None
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    rules = tuple(rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r"))))
    return IgnoreFile(base, rules, _make_sieve(rules)) if rules else None


def _make_sieve(rules: Iterable[IgnoreRule]) -> Sieve:
    names: set[str] = set()
    endings: set[str] = set()
    patterns: list[str] = []
    for rule in rules:
        if rule.literal is None:
            patterns.append(rule.regex)
        else:
            (endings if rule.literal.startswith("*") else names).add(rule.literal.removeprefix("*"))
    return Sieve(frozenset(names), tuple(endings), _join_patterns(patterns) if patterns else None)


def _join_patterns(patterns: list[str]) -> re.Pattern[str]:
    everything = re.compile("")
    if not all(pattern.startswith("^") for pattern in patterns):
        return everything
    # A group name may not occur twice in one regex.
    plain = [p.removesuffix(_END) + "(?:/|$)" if p.endswith(_END) else p for p in patterns]
    anywhere = [pattern.removeprefix(_ANYWHERE) for pattern in plain if pattern.startswith(_ANYWHERE)]
    anchored = [pattern for pattern in plain if not pattern.startswith(_ANYWHERE)]
    joined = [*anchored, f"{_ANYWHERE}(?:{'|'.join(anywhere)})"] if anywhere else anchored
    try:
        return _compile("|".join(joined))
    except re.error:
        return everything


@lru_cache(maxsize=4096)
def _compile(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # re warns about `[[` from pathspec
        return re.compile(_bound_stars(pattern), re.DOTALL)


def _bound_stars(pattern: str) -> str:
    """Return an equivalent regex in which only the last `*` of a name backtracks; others keep their first match.

    Otherwise, time grows with the length of a name to the power of the number of `*`.
    """
    first, *pieces = pattern.split(_STAR)
    last = pieces.pop() if pieces else None
    middle = (f"(?>{_STAR}?{piece})" if _FIXED.fullmatch(piece) else _STAR + piece for piece in pieces)
    return pattern if last is None else f"{first}{''.join(middle)}{_STAR}{last}"


def as_bytes(path: str) -> str:
    """Return a path with one character per byte, since git matches bytes: `?` matches one of the two bytes of ü."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _rule(line: str) -> IgnoreRule | None:
    if line.startswith("#"):
        return None
    line = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), _trim(line))
    body = line.removeprefix("!")
    directories_only = body.endswith("/")
    stem = body[:-1] if directories_only else body
    if not stem:
        return None
    plain = _PLAIN.fullmatch(stem) is not None
    if plain:
        regex, ignore = translate_plain(stem), body == line
    else:
        from pathspec.patterns.gitignore import GitIgnorePatternError
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

        try:
            translated, included = GitIgnoreSpecPattern.pattern_to_regex(line[: len(line) - len(body)] + stem)
            if translated is None or included is None:
                return None
            _compile(translated)
        except (GitIgnorePatternError, re.error):  # a reversed range, `[z-a]`
            return None
        regex, ignore = translated, included
    everything, below = regex == ".", stem.endswith("/**")
    parts = tuple(part for part in stem.split("/") if part) if "/" in stem else ()
    literal = (
        stem
        if _PLAIN.fullmatch(stem) and "/" not in stem and not {"*", "["} & set(stem[1:]) and stem[0] != "["
        else None
    )
    return IgnoreRule(ignore, directories_only, everything, below, regex, parts, literal)


def translate_plain(pattern: str) -> str:
    """Return the regex that pathspec has for a pattern of names and single `*`; importing pathspec takes 20 ms."""
    if pattern == "*":
        return "."
    prefix = "^" if "/" in pattern else _ANYWHERE
    names = pattern.removeprefix("/").split("/")
    return prefix + "/".join("[^/]+" if name == "*" else re.sub(r"[.+~@*-]", _translate, name) for name in names) + _END


def _translate(match: re.Match[str]) -> str:
    return "[^/]*" if match[0] == "*" else re.escape(match[0])


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
    from pathspec import GitIgnoreSpec, RegexPattern
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        spec = GitIgnoreSpec.from_lines([glob.removeprefix("./") for glob in globs], backend="simple")
    except GitIgnorePatternError as error:
        raise CorpusError(
            f"invalid glob: {error}", hint="use git-ignore patterns: *.py, src/**/*.go, tests/"
        ) from error
    for pattern in spec.patterns:
        if isinstance(pattern, RegexPattern) and pattern.regex is not None:
            pattern.regex = _compile(pattern.regex.pattern)
    return spec
