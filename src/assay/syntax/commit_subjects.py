from __future__ import annotations

import re
from typing import Final

from assay.syntax.prose import strip_markup

#: Prefixes such as `[tag] `, `feat(parser)!: ` and `net/http: `.
_PREFIX: Final = re.compile(r"^(?:\[[^\]]*\]\s*|[\w./,*-]+(?:\([^()]*\))?!?:\s+)+")
#: Prefixes with a blank, which `_PREFIX` does not match: `feat (WIP): `, `code cleanup: `.
_KIND: Final = re.compile(r"^\W*\w+\s*\([^()]*\)\s*!?:\s+|^[a-z]+ [a-z]+: ")
_NUMBER: Final = re.compile(r"\s*[(\[]?(?:(?:closes|fixes|refs?|gh)?[ -]?#\d+)(?:,\s*#\d+)*[)\]]?", re.IGNORECASE)
#: Commit subjects that do not describe behavior.
_TRIVIAL: Final = re.compile(
    r"^(?:revert|reapply|merge|bump|release|prepare|update (?:depend|version|changelog|readme)|wip|initial|backport)\b"
    r"|^\W*v?\d+\.\d+|\b(?:typos?|changelog|readme|lint(?:er|ing)?|whitespace|copyright|licen[cs]e|reformat|gofmt"
    r"|rustfmt|clippy|mypy|ruff|flake8|black|formatting|code style|dependabot|renovate|spelling|docstrings?|comments?"
    r"|docs|documentation|warnings?|pre-commit|typing|type hints?|annotations?|refactor\w*)\b",
    re.IGNORECASE,
)
#: Subjects of changes that do not affect behavior, for mined queries; stricter than `_TRIVIAL`.
_NO_BEHAVIOR: Final = re.compile(
    r"^(?:remove|drop|delete|rename|move|reorder|clean|cleanup|tidy|simplify|tweak|polish|minor|misc|more|some|small"
    r"|improve|optimi[sz]e|speed|micro|port|migrate|rework|rewrite|restructure|reorganize|extract|inline|split|modernize"
    r"|nit|oops|attempt|try|temporar\w*|address|apply|respond|follow|update|upgrade|switch|start|begin|finish|tests?"
    r"|deprecate|unused|make \w+ (?:private|public|internal|happy)|merge|sync)\b"
    r"|\b(?:tests?|testing|coverage|ci|benchmarks?|bench|examples?|review|feedback|suggestions?|imports?|msrv|nightly"
    r"|edge cases?|(?:add|fix|include)(?:s|ed|ing)? (?:an? |the |some )?missing|typings?|typed"
    r"|(?<!content[ -])(?<!mime )(?<!media )(?<!file )(?<!data )(?<!column )types?"
    r"|python ?[23]|py[23]\d?|rust ?\d|deps?|dependenc\w+|crates?|packag(?:e|ing)|compile|compilation|builds?|makefile"
    r"|docs?|doc|docstring|regression|version|todo|cleanups?|renam\w+|unused|deprecat\w+|edition|pylint|pyright)\b",
    re.IGNORECASE,
)


def strip_subject(subject: str) -> str:
    """Remove prefixes (`feat: `), issue numbers, markup and outer punctuation from a commit subject."""
    return strip_markup(_NUMBER.sub("", _PREFIX.sub("", subject))).strip(" \t.:;-")


def is_trivial(subject: str) -> bool:
    """Return whether a commit subject is about a release, merge, documentation or code style rather than behavior."""
    return _TRIVIAL.search(subject) is not None or _TRIVIAL.search(strip_subject(subject)) is not None


def strip_kind(subject: str) -> str:
    """Remove a prefix that contains a blank (`feat (WIP): `), which `strip_subject` keeps."""
    return _KIND.sub("", subject)


def is_internal(subject: str) -> bool:
    return _NO_BEHAVIOR.search(subject) is not None
