"""The kinds of corpus there are.

A new one is a line here, its name in `types.CorpusKind`, a module, and what `CorpusSpec.repository` calls its identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from assay.types import CorpusKind

_SELECTION: Final = ("root", "include", "exclude")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of corpus: its module has `locate(request) -> Located`, and is imported when it is named."""

    name: CorpusKind
    module: str
    word: str  # what it looks like as one word on a command line
    keys: tuple[str, ...]  # what a gold file may say about it, beside its name

    @property
    def has_prefix(self) -> bool:
        """Whether it is written `name:value`."""
        return self.word.startswith(f"{self.name}:")

    @property
    def has_revision(self) -> bool:
        """Whether a revision can be named apart from the value."""
        return "rev" in self.keys


_ALL = (
    Kind("path", "assay.corpus.folder", "a folder", _SELECTION),
    Kind("stdlib", "assay.corpus.stdlib", "stdlib", _SELECTION),
    Kind("git", "assay.corpus.git.commit", "git:URL@REV", ("rev", *_SELECTION)),
    Kind("pypi", "assay.corpus.pypi.package", "pypi:NAME==VERSION", _SELECTION),
    Kind("npm", "assay.corpus.npm", "npm:NAME@VERSION", _SELECTION),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ALL})


def words() -> str:
    """List what each kind looks like, for a hint."""
    *most, last = (kind.word for kind in KINDS.values())
    return f"{', '.join(most)} or {last}"
