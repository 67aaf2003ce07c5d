"""Where things lie, and how they are put there and taken away so that nobody meets half of one.

ROOT/KIND/ab/NAME             a small thing: its bytes behind a checksum
ROOT/KIND/ab/NAME/content/    a folder, made in place, so that it has one address for ever
ROOT/KIND/ab/NAME/finished    its manifest, written last: without it the folder is not there
ROOT/.locks/, ROOT/.tmp/
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from assay.errors import ConfigError, SetupError
from assay.store.manifests import name_of

#: What a disk or a mount refuses; anything else that goes wrong while something is made is the maker's own.
_REFUSED: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
#: How often a write is tried when folders vanish under it: another run into the same folder removes them when it ends.
_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class EntryPath:
    """Where one thing lies."""

    root: Path
    kind: str
    name: str

    @property
    def path(self) -> Path:
        """The file of a small thing, or the folder of a large one; some hundred names a folder at a million things."""
        return self.root / self.kind / self.name[:2] / self.name

    @property
    def content(self) -> Path:
        """What was made, of a large thing."""
        return self.path / "content"

    @property
    def finished(self) -> Path:
        """What says that a large thing is whole."""
        return self.path / "finished"

    @property
    def lock(self) -> Path:
        """What is held by whoever makes it."""
        return self.root / ".locks" / f"{self.kind}.{self.name}"


def place_of(root: Path, kind: str, key: str) -> EntryPath:
    """Find the place of a key."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise ValueError(f"not the name of a kind: {kind!r}")
    return EntryPath(root, kind, name_of(kind, key))


def write_atomic(root: Path, path: Path, data: bytes) -> None:
    """Write a file atomically, creating folders that are missing or that another process removes meanwhile.

    There is no fsync: after a power cut a file may be empty, which its checksum shows.
    """
    spare = root / ".tmp" / f"{path.name}.{secrets.token_hex(8)}"
    try:
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    spare.parent.mkdir(parents=True, exist_ok=True)
                    path.parent.mkdir(parents=True, exist_ok=True)
                with open(spare, "wb") as stream:
                    stream.write(data)
                os.replace(spare, path)
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
    except BaseException:
        with suppress(OSError):
            spare.unlink(missing_ok=True)
        raise


def remove(root: Path, path: Path) -> None:
    """Take something away in one instant, as others see it; what is not there is gone already."""
    grave = root / ".tmp" / f"removed.{secrets.token_hex(8)}"
    grave.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(path, grave)
    except FileNotFoundError:
        return
    if grave.is_dir() and not grave.is_symlink():
        shutil.rmtree(grave, ignore_errors=True)
    else:
        grave.unlink(missing_ok=True)


@contextmanager
def writing(path: Path, *, only: frozenset[int] | None = None) -> Iterator[None]:
    """Turn a cache that cannot be written into an error with a next step; `only` names the errors it is about."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise SetupError(
            f"the cache cannot be written: {error.strerror or error}",
            file=path,
            hint="free some space (`assay cache prune --to 1GB`), or set ASSAY_CACHE_DIR to a folder you can write",
        ) from error


@contextmanager
def made_by_another(path: Path) -> Iterator[None]:
    """Let the maker's own troubles through, and those of the disk as `writing` does."""
    with writing(path, only=_REFUSED):
        yield


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """A kind of thing that is kept, so that it need not be made again."""

    name: str  # of its folder
    about: str
    anew: str  # what it costs when it is gone
    artefact: bool = True  # it lies in `Artefacts`, which keeps to a limit; others are pruned only when named


CELLS: Final = ArtifactKind("cells", "what an engine answered to a gold set", "asking the engine again")
INDEXES: Final = ArtifactKind(
    "indexes", "indexes of other people's tools, for --reuse-index", "indexing again with the tool"
)
TABLES: Final = ArtifactKind(
    "tables", "the built-in engine's index of a corpus", "parsing the corpus: seconds to minutes"
)
VECTORS: Final = ArtifactKind(
    "vectors", "vectors of the units of a table", "embedding again: seconds, hours for a large model"
)
DESCRIPTIONS: Final = ArtifactKind(
    "descriptions", "what a model said of units", "asking the model again", artefact=False
)
EMBEDDINGS: Final = ArtifactKind("embeddings", "what an embedder made of texts", "embedding them again", artefact=False)
INDEX: Final = ArtifactKind(
    "index", "indexes of folders that `assay search` knows", "indexing the folder", artefact=False
)
MIRRORS: Final = ArtifactKind(
    "mirrors", "clones of the git repositories that corpora name", "cloning again", artefact=False
)
TREES: Final = ArtifactKind("trees", "corpora as they were fetched", "fetching and unpacking again", artefact=False)
SEATS: Final = ArtifactKind(
    "seats", "which browser a reviewer sits at", "taking one's name again, by a code", artefact=False
)
UNFINISHED: Final = ArtifactKind(
    "unfinished", "what runs without a folder of results have not finished", "beginning those runs anew", artefact=False
)

KINDS: Final = (CELLS, INDEXES, TABLES, VECTORS, DESCRIPTIONS, EMBEDDINGS, INDEX, MIRRORS, TREES, SEATS, UNFINISHED)


#: The environment variable that says how much may be kept.
VARIABLE: Final = "ASSAY_CACHE_LIMIT"
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_UNITS: Final = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Numbers of the store; none of them decides what is in it, only how long."""

    bytes: int = 10 * 10**9  # a hundred indexes of large repositories with their vectors, or ten million cells
    #: Of the limit: what a process may add before it looks at the sizes of all. A look walks the whole store.
    growth: float = 0.02
    #: Of the limit: how far is pruned when there is too much, so that the next look is not at once too late again.
    low: float = 0.9
    #: Seconds until a use is worth writing down again: who was used last is known to the hour, reading stays cheap.
    touch: float = 3600.0
    #: Seconds after which a temporary file is a leftover: nobody takes an hour to write one.
    leftover: float = 3600.0

    @classmethod
    def wanted(cls) -> Self:
        """Take the limit from the environment, where it says one."""
        said = os.environ.get(VARIABLE, "").strip()
        return cls(bytes=parse_size(said, VARIABLE)) if said else cls()


def parse_size(text: str, where: str) -> int:
    """Read a size: 500MB, 2GB, 1.5GiB, or bytes; `where` begins the message when something is wrong."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None or (found[3] and not found[2]):
        raise ConfigError(f"{where}: {text!r} is no size", hint="such as 500MB, 2GB or 1.5GiB")
    power = "bkmgt".index(found[2] or "b")
    return int(float(found[1]) * (1024**power if found[3] else _UNITS[found[2]]))


def parse_age(text: str, where: str) -> float:
    """Read an age in seconds: 30d, 12h, 90m, 45s."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([dhms])", text.strip().lower())
    if found is None:
        raise ConfigError(f"{where}: {text!r} is no age", hint="such as 30d, 12h or 90m")
    return float(found[1]) * _SECONDS[found[2]]
