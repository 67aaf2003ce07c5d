"""What is left out without being asked, and only when it cannot be source."""

from __future__ import annotations

import os
from typing import Final

#: Folders of tools. Nobody keeps source of their own in one; when git tracks files in them, those count.
ALWAYS: Final = frozenset(
    {
        ".bzr",
        ".direnv",
        ".dart_tool",
        ".eggs",
        ".git",
        ".gradle",
        ".hg",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".jj",
        ".mypy_cache",
        ".next",
        ".nox",
        ".nuxt",
        ".parcel-cache",
        ".pixi",
        ".pytest_cache",
        ".ruff_cache",
        ".stack-work",
        ".svelte-kit",
        ".svn",
        ".terraform",
        ".tox",
        ".turbo",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "_darcs",
        "bower_components",
        "elm-stuff",
        "node_modules",
    }
)

#: Names that are build output in one project and source in the next: left out only where git tracks nothing below.
AMBIGUOUS: Final = frozenset(
    {
        "_build",
        "bin",
        "build",
        "coverage",
        "deps",
        "dist",
        "env",
        "htmlcov",
        "obj",
        "out",
        "output",
        "target",
        "tmp",
        "vendor",
        "venv",
        "Pods",
    }
)

_CACHE_TAG: Final = b"Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/


def marked(real: str, names: frozenset[str]) -> str | None:
    """Say which file inside a folder marks it as a virtual environment or a cache."""
    if "pyvenv.cfg" in names:
        return "a virtual environment (pyvenv.cfg)"
    if "CACHEDIR.TAG" in names and _is_cache(os.path.join(real, "CACHEDIR.TAG")):
        return "a cache (CACHEDIR.TAG)"
    return None


def _is_cache(tag: str) -> bool:
    """Check the signature, as the specification asks."""
    try:
        with open(tag, "rb") as stream:
            return stream.read(len(_CACHE_TAG)) == _CACHE_TAG
    except OSError:
        return False
