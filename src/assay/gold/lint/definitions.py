"""Where is a name at home? A cheap look at the text decides which files are parsed at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.gold.lint.view import Shelf
from assay.syntax.identifiers import split
from assay.syntax.outline import Definition, Outline
from assay.types import SourceFile

#: What makes a file the home of a name; a method, a field or a constant of that name is a namesake.
_HOMES = frozenset({"class", "interface", "enum", "type", "function", "macro"})
#: Words that stand before the name of a definition in the languages that have a grammar here.
_KEYWORDS = (
    r"actor|class|concept|data|def|defmacro|defmodule|defprotocol|defstruct|enum|fn|fun|func|function|interface"
    r"|macro_rules!|mixin|module|newtype|object|protocol|record|struct|trait|type|typealias|typedef|union|using|#define"
)
_NO_KEYWORD = frozenset({"c", "cpp", "csharp", "dart", "java"})  # where a function has only its type before it
#: An addition to something that is defined elsewhere.
_ADDITION = re.compile(r"^\W*(?:[@#]?\w+(?:\([^)]*\))?\s+)*?(?:impl|extension|extend|defimpl|instance)\b")
_DEEPEST = 2  # parts of an Elixir module's name: Phoenix.Channel is Channel, Mix.Tasks.Phx.Gen.Channel is another
_TESTS = re.compile(r"tests?|spec|benches", re.IGNORECASE)
_JOINTS = re.compile(r"::|\.|#")
_SIGNS = "$_@"
_SIGNED = re.compile(r"[$@]")
#: Words that may stand before a name to which something is assigned.
_ASSIGNING = r"(?:export|default|pub|public|private|internal|protected|static|final|const|let|var|val|readonly|type)"


@dataclass(frozen=True, slots=True, order=True)
class Home:
    """A place where a name is defined at the top of a file."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def simple(name: str) -> str:
    """Take scopes and type arguments off the name of a definition."""
    return _JOINTS.split(name.partition("<")[0])[-1]


def defines(outline: Outline, text: str, path: str, name: str, *, exact: bool) -> bool:
    """Tell whether a file may be taken for the home of a name; any doubt is for it.

    Unless it is looked for exactly, `$Name` and `_name` are homes of `Name` and `name` too.
    """
    signs = "" if exact else _SIGNS
    if "".join(split(PurePosixPath(path).stem)) == "".join(split(name)) and not _SIGNED.search(name):
        return True
    if any(simple(one.name).strip(signs) == name.strip(signs) for one in outline.definitions if not _adds(one)):
        return True
    quoted = re.escape(name)
    assigned = rf"^\s*(?:{_ASSIGNING}\s+|[\w$]+\.)*{quoted}\s*(?::[^=\n]*)?:?=(?![=>])"
    return bool(re.search(rf"{assigned}|\bas\s+{quoted}(?![\w$])", text, re.MULTILINE))


def adds_to(outline: Outline, text: str, name: str) -> bool:
    """Tell whether a file holds a part of what a name stands for: an `impl`, an `extension`, methods of a Go type."""
    if any(simple(one.name) == name for one in outline.definitions):
        return True
    quoted = re.escape(name)
    return bool(
        re.search(rf"^func\s*\([^)\n]*\b{quoted}\b[^)\n]*\)|\b{quoted}(?:<[^>\n]*>)?::~?\w+\s*\(", text, re.MULTILINE)
    )


def mentions(text: str, name: str) -> bool:
    """Tell whether a text holds a name as a word."""
    return bool(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text))


def homes(shelf: Shelf, names: Sequence[str], skip: Iterable[str] = ()) -> dict[str, tuple[Home, ...]]:
    """Find where names are defined in the code of a corpus, some of its files left out."""
    found: dict[str, set[Home]] = {name: set() for name in names}
    left_out = frozenset(skip)
    for file in shelf.corpus.files:
        if file.kind != "code" or file.path in left_out:
            continue
        for name in _candidates(shelf, file, names):
            found[name].update(_homes(shelf, file, name))
    return {name: tuple(sorted(places)) for name, places in found.items()}


def _candidates(shelf: Shelf, file: SourceFile, names: Sequence[str]) -> Iterator[str]:
    """Yield the names that a file may define, by the look of its text."""
    text = shelf.text(file.path)
    for name in names:
        if name not in text:
            continue
        quoted = re.escape(name)
        called = rf"|\b{quoted}\s*\(" if file.language in _NO_KEYWORD else ""
        if re.search(rf"(?:{_KEYWORDS})\b[^\n;={{}}]{{0,160}}?(?<![\w$]){quoted}(?![\w$]){called}", text):
            yield name


def _homes(shelf: Shelf, file: SourceFile, name: str) -> Iterator[Home]:
    """Yield the definitions of a name at the top of a file."""
    outline = shelf.outline(file)
    if outline is None:
        return
    for one in outline.definitions:
        if simple(one.name) == name and _is_home(one, outline, file):
            yield Home(file.path, one.name_line)


def _is_home(one: Definition, outline: Outline, file: SourceFile) -> bool:
    """Tell a definition of its own from an addition, a specialisation, an alias, and what lies inside another."""
    modules = {"module"} if file.language == "elixir" and len(_JOINTS.split(one.name)) <= _DEEPEST else set()
    if one.kind not in _HOMES | modules or _adds(one):
        return False
    name = re.escape(simple(one.name))
    if file.language in ("cpp", "c") and re.search(rf"\b{name}\s*<|\)[^{{]*;", one.signature):
        return False  # a specialisation, or a function that is only declared
    if re.search(rf"=\s*(?:type\s+)?[\w.$:]*\b{name}\b", one.signature):
        return False
    return _at_top(one, outline)


def _at_top(one: Definition, outline: Outline) -> bool:
    """Tell whether only modules, none of them of tests, stand around a definition."""
    while one.parent >= 0:
        one = outline.definitions[one.parent]
        if one.kind != "module" or _TESTS.search(one.name):
            return False
    return True


def _adds(one: Definition) -> bool:
    """Tell an `impl`, an `extension` and their like."""
    return bool(_ADDITION.match(one.signature))
