"""The kinds of corpora.

A new kind needs a line here, its name in `types.CorpusKind`, a module, and its identity in `CorpusSpec.repository`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from assay.corpus.config import ArchiveLimits
from assay.corpus.tree_cache import FetchedTree, TreeCache
from assay.corpus.walk import WalkRoot
from assay.errors import CorpusError
from assay.types import CorpusKind, CorpusSpec

_SELECTION: Final = ("root", "include", "exclude")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of corpus; its module has `locate` (see `CorpusSource`) and is imported on use."""

    name: CorpusKind
    module: str
    word: str  # example for the command line
    keys: tuple[str, ...]  # options in a gold file

    @property
    def has_prefix(self) -> bool:
        """Whether it is written `name:value`."""
        return self.word.startswith(f"{self.name}:")

    @property
    def has_revision(self) -> bool:
        """Whether it takes a revision beside the value."""
        return "rev" in self.keys


_ALL = (
    Kind("path", "assay.corpus.folder", "a folder", _SELECTION),
    Kind("stdlib", "assay.corpus.stdlib", "stdlib", _SELECTION),
    Kind("git", "assay.corpus.git_source", "git:URL@REV", ("rev", *_SELECTION)),
    Kind("pypi", "assay.corpus.pypi", "pypi:NAME==VERSION", _SELECTION),
    Kind("npm", "assay.corpus.npm", "npm:NAME@VERSION", _SELECTION),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ALL})


def kind_examples() -> str:
    """Return examples of all kinds, for a hint."""
    *most, last = (kind.word for kind in KINDS.values())
    return f"{', '.join(most)} or {last}"


@dataclass(frozen=True, slots=True)
class CorpusRequest:
    """A requested corpus, with cache and limits."""

    spec: CorpusSpec
    base: Path  # of relative directories
    trees: TreeCache
    limits: ArchiveLimits


@dataclass(frozen=True, slots=True)
class LocatedCorpus:
    """A corpus on this machine."""

    ground: WalkRoot
    revision: str | None = None
    notes: tuple[str, ...] = ()
    entry: FetchedTree | None = None  # in the cache, for fetched trees


class CorpusSource(Protocol):
    """The interface of the module of a kind."""

    def locate(self, request: CorpusRequest) -> LocatedCorpus:
        """Fetch a corpus of this kind if necessary."""


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Fetch a corpus if necessary, and return where it is."""
    kind = KINDS.get(request.spec.kind)
    if kind is None:
        raise CorpusError(f"unknown kind of corpus {request.spec.kind!r}", hint=f"known: {', '.join(KINDS)}")
    if request.spec.rev is not None and not kind.has_revision:
        raise CorpusError(
            f"a corpus of kind {kind.name!r} has no revision", hint=f"for a commit write git:{request.spec.value}@REV"
        )
    source: CorpusSource = importlib.import_module(kind.module)
    return source.locate(request)


def from_entry(
    request: CorpusRequest, entry: FetchedTree, *, built_in: bool, notes: tuple[str, ...] = ()
) -> LocatedCorpus:
    """Return the corpus of a cached tree; its .gitignore does not apply, since all files were published."""
    tree = entry.tree.resolve()
    top = tree / entry.root if entry.root else tree
    published = frozenset(f"{tree}/{path}" for path in entry.manifest)
    ground = WalkRoot(subfolder(request.spec, top), top, git=False, built_in=built_in, published=published)
    return LocatedCorpus(ground, entry.revision, (*entry.notes, *notes), entry)


def subfolder(spec: CorpusSpec, top: Path) -> Path:
    """Return the subdirectory that becomes the corpus root."""
    if spec.root is None:
        return top
    parts = [part for part in spec.root.split("/") if part not in ("", ".")]
    if spec.root.startswith("/") or ".." in parts or "\0" in spec.root:
        raise CorpusError(f"root {spec.root!r} is not inside the corpus", hint="name a folder below it, such as src")
    found = top.joinpath(*parts).resolve()
    if not found.is_dir() or not found.is_relative_to(top):
        names = sorted(child.name for child in top.iterdir() if child.is_dir()) if top.is_dir() else []
        hint = f"its folders are: {', '.join(names)}" if names else "it has no folders"
        raise CorpusError(f"root {spec.root!r} is not a folder of the corpus", file=top, hint=hint)
    return found
