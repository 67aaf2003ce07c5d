"""A corpus as far as it lies on this machine: found without asking anybody for anything, read file by file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.corpus.cache import Entry, Fetched, Store, cache_dir
from assay.corpus.config import DEFAULT_LIMITS
from assay.corpus.read import decode_text, inside
from assay.corpus.source import Request, locate
from assay.corpus.spec import is_url
from assay.errors import CorpusError
from assay.types import CorpusSpec


@dataclass(frozen=True, slots=True)
class KeptCorpus:
    """The folder of a corpus; which of its files count is for whoever asks to know."""

    root: str  # real
    revision: str | None

    def text(self, path: str) -> str:
        """Read a file below the root; OSError where it cannot be read."""
        with open(inside(self.root, path), "rb") as stream:
            return decode_text(stream.read())


class _Shut(Store):
    """A cache that fetches nothing."""

    def obtain(self, request: str, fetch: Callable[[Path], Fetched]) -> Entry:  # noqa: ARG002 - a cache's signature
        """Give what is there."""
        found = self.recall(request)
        if found is None:
            raise CorpusError("it is no longer in the cache", hint="a run, or `assay gold lint`, fetches it again")
        return found

    refresh = obtain


def find_kept(
    spec: CorpusSpec, *, base: Path | None = None, cache: Path | None = None, revision: str | None = None
) -> KeptCorpus:
    """Find a corpus on this machine; of a repository here, the revision that was used then."""
    if spec.kind == "git" and revision and not is_url(spec.value):
        spec = CorpusSpec(spec.kind, spec.value, revision, spec.root, spec.include, spec.exclude)
    store = _Shut((cache or cache_dir()).absolute())
    located = locate(Request(spec, (base or Path.cwd()).absolute(), store, DEFAULT_LIMITS))
    return KeptCorpus(os.path.realpath(located.ground.root), located.revision)
