"""The modules of a page as one script: a file that is opened from a disk cannot import others.

Modules are written in a small part of what ES modules may be, so that joining them is no more than leaving out their
imports: named imports of other modules, without new names, one behind the other; `export` before a declaration.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

_IMPORT = re.compile(r'^import \{\s+([\w$,\s]+?),?\s+\} from "(\.{1,2}/[\w./-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class)\b)", re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:async function\*?|function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async function\*?|function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
#: What ends an inline script for a browser, or keeps its end from being one (HTML, script data states).
_ENDING = re.compile(r"</script|<!--|<script", re.IGNORECASE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


class BundleError(Exception):
    """A module is written in a way that cannot be joined with others: a mistake in Assay's own scripts."""


@cache
def bundle(entry: str) -> str:
    """Join a module and all that it imports, each once, what is imported first."""
    order: list[str] = []
    _visit(entry, order, ())
    _check_names(order)
    joined = "\n".join(f"// {name}\n{_inlined(name)}" for name in order)
    if _ENDING.search(joined):
        raise BundleError(f"{entry}: its script would end, or hide its end, in the middle of a page: {_ENDING.pattern}")
    return joined


@cache
def read(name: str) -> str:
    """Read a script or a style of this room."""
    return (files("assay.browser") / name).read_text(encoding="utf-8")


def _visit(name: str, order: list[str], way: tuple[str, ...]) -> None:
    """Put a module behind all that it imports."""
    if name in way:
        raise BundleError(f"{name} imports itself: {' → '.join((*way, name))}")
    if name in order:
        return
    for names, target in _IMPORT.findall(read(name)):
        other = _resolved(name, target)
        _visit(other, order, (*way, name))
        known = set(_EXPORTED.findall(read(other)))
        missing = [one for one in re.split(r",\s*", names.strip(", ")) if one not in known]
        if missing:
            raise BundleError(f"{name} imports {', '.join(missing)}, which {other} does not export")
    order.append(name)


def _resolved(name: str, target: str) -> str:
    """Name the module that an import means."""
    parts: list[str] = []
    for part in (*PurePosixPath(name).parent.parts, *PurePosixPath(target).parts):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _inlined(name: str) -> str:
    """Give a module without its imports and exports."""
    text = _EXPORT.sub("", _IMPORT.sub("", read(name)))
    left = _OTHER.search(text)
    if left:
        raise BundleError(f"{name} has an import or export that cannot be joined: {left[0]}")
    return text.strip() + "\n"


def _check_names(order: list[str]) -> None:
    """Refuse a name that two modules declare: they share one scope once they are joined."""
    owners: dict[str, str] = {}
    for name in order:
        for declared in _DECLARED.findall(read(name)):
            if declared in owners:
                raise BundleError(f"{declared} is declared in {owners[declared]} and in {name}")
            owners[declared] = name
