"""What is a definition called in an anchor? Its scopes joined by dots, in every language, in characters one can write.

- A receiver or a qualifier is a scope: Go's `func (b *Basket) Count`, C++'s `int Basket::count()`, Lua's `M:close`,
  Kotlin's `fun Basket.sell()`, Ruby's `module Geometry::Shapes` are `Basket.Count`, `Basket.count`, `M.close`, ...
  Type arguments are left out, and so are words that name no scope (`self`, `exports`, `prototype`).
- A Rust impl, a Swift extension and the like are scopes named after their type; `companion` and `namespace` by name.
- Blanks become `_`, quotes around a name go, and what an anchor cannot hold is written as in a URL: `%3A` for a colon,
  `%2E` for a dot that joins nothing (`.cart` of CSS), `%7E` for a `~` that would read as a number (`x~2`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from assay.syntax.outline import Definition

_ARGUMENTS = r"(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)"
#: grammar -> what joins a qualifier to the name it stands before.
_JOINTS: Final[Mapping[str, str]] = {
    "cpp": "::",
    "javascript": r"\.",
    "kotlin": r"\.",
    "lua": "[.:]",
    "ruby": r"::|\.",
    "sql": r"\.",
    "tsx": r"\.",
    "typescript": r"\.",
}
#: Words that stand before a name and are no scope a reader would look for.
_NO_SCOPE: Final = frozenset({"exports", "module", "prototype", "self", "this"})
_WORD = r"[\w$]+"
_RECEIVER = re.compile(r"func\s*\(\s*(?:\w+\s+)?\**\s*(\w+)")
_BLANKS = re.compile(r"\s+")
_UNWRITABLE = re.compile(r"[:\x00-\x1f\x7f]|(?:^|(?<=\.))\.|\.(?=\.|$)|~(?=[0-9]+$)")


def qualified_names(definitions: Sequence[Definition], grammar: str) -> tuple[str, ...]:
    """Name each definition with its scopes; an outer one stands before what lies in it."""
    names: list[str] = []
    for one in definitions:
        outer = names[one.parent] if one.parent >= 0 else ""
        names.append(f"{outer}.{_own(one, grammar, outer)}" if outer else _own(one, grammar, ""))
    return tuple(names)


def _own(one: Definition, grammar: str, outer: str) -> str:
    """Name a definition inside its parent: with its qualifier, unless the parent says it already."""
    name = _writable(one.name)
    scopes = ".".join(_writable(scope) for scope in _scopes(one, grammar))
    if not scopes or f".{outer}".endswith(f".{scopes}"):
        return name
    return f"{scopes}.{name}"


def _scopes(one: Definition, grammar: str) -> list[str]:
    """List the scopes that a definition is written with, from its signature."""
    if grammar == "go":
        receiver = _RECEIVER.match(one.signature) if one.kind == "method" else None
        return [receiver[1]] if receiver else []
    joint = _JOINTS.get(grammar)
    found = _before(one.name, joint).search(one.signature) if joint else None
    words = re.findall(rf"({_WORD}){_ARGUMENTS}?\??(?:{joint})", found["scopes"]) if found else []
    return [word for word in words if word not in _NO_SCOPE]


def _before(name: str, joint: str | None) -> re.Pattern[str]:
    """Make the pattern of a name with what qualifies it; a name that itself qualifies another is not it."""
    step = rf"{_WORD}{_ARGUMENTS}?\??(?:{joint})"
    return re.compile(rf"(?<![\w$])(?P<scopes>(?:{step})*){re.escape(name)}(?![\w$])(?!{_ARGUMENTS}?(?:{joint})[\w~])")


def _writable(name: str) -> str:
    """Write a name so that an anchor can hold it."""
    bare = name[1:-1] if len(name) > 2 and name[0] == name[-1] and name[0] in "'\"`" else name
    joined = _BLANKS.sub("_", bare.replace("::", "."))
    return _UNWRITABLE.sub(lambda found: f"%{ord(found[0]):02X}", joined)
