"""The source files that a piece of Python code comes from: its module, its package, and what those import beside it."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

from assay.engines.fingerprints import code_in, file_seen

_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+(\w[\w.]*)[ \t]+import\b", re.MULTILINE)


def sources_seen(*modules: str) -> list[tuple[str, str]]:
    """Digest the source files of modules that are imported; one without a file has none."""
    seen: dict[str, str] = {}
    for module in modules:
        home, files = _files_of(module)
        waiting, met, followed = list(files), set[str](), set[str]()
        while waiting:
            path = waiting.pop()
            if path in met:
                continue
            met.add(path)
            seen[os.path.relpath(path, home)] = file_seen(path)
            news = _imported(path, home) - followed  # each module once: a package imports itself all over
            followed |= news
            waiting += [found for name in sorted(news) for found in _lying(name, home)]
    return sorted(seen.items())


def _files_of(module: str) -> tuple[str, list[str]]:
    """Find the folder that a module is imported from, and its files: all of a package's, or its own."""
    top = sys.modules.get(module.partition(".")[0])
    places = list(getattr(top, "__path__", ()))
    if places:
        own = getattr(sys.modules.get(module), "__file__", None)
        inside = code_in(places[0]) or ([own] if own else [])
        return os.path.dirname(places[0]), inside
    file = getattr(top, "__file__", None)
    return (os.path.dirname(file), [file]) if file and file.endswith(".py") else ("", [])


def _lying(name: str, home: str) -> list[str]:
    """Find the files of a module that lies in a folder; none where it lies elsewhere."""
    file, folder = os.path.join(home, f"{name}.py"), os.path.join(home, name)
    if os.path.isfile(file):
        return [file]
    return list(code_in(folder)) if os.path.isdir(folder) else []


def _imported(path: str, home: str) -> frozenset[str]:
    """List the first names of all modules that a file imports.

    What is installed imports what is installed: that is not followed.
    """
    if "site-packages" in home.split(os.sep) or not path.endswith(".py"):
        return frozenset()
    try:
        facts = os.stat(path)
        return _names_in(os.path.abspath(path), facts.st_size, facts.st_mtime_ns)
    except OSError:
        return frozenset()


@cache
def _names_in(path: str, _size: int, _time: int) -> frozenset[str]:
    """Read what a file imports, again only when it has another size or time; what only looks like it does no harm."""
    text = Path(path).read_text("utf-8", "replace")
    named = [name for line in _IMPORT.findall(text) for name in line.split(",")]
    return frozenset(name.split()[0].partition(".")[0] for name in [*named, *_FROM.findall(text)] if name.split())
