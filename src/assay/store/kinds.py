from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Self

from assay.errors import ConfigError
from assay.records import dataclass

#: The environment variable with the size limit of the store.
VARIABLE: Final = "ASSAY_CACHE_LIMIT"
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def cache_dir() -> Path:
    """Return the cache directory: $ASSAY_CACHE_DIR, else $XDG_CACHE_HOME/assay, else ~/.cache/assay."""
    if own := os.environ.get("ASSAY_CACHE_DIR"):
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification requires relative paths to be ignored.
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "assay"


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    name: str  # also of the directory
    about: str
    anew: str  # how to restore a removed entry
    workspace: bool = False  # directories that are changed in place, without a manifest


CELLS: Final = ArtifactKind("cells", "results of an engine on a gold set", "rerunning the engine")
INDEXES: Final = ArtifactKind("indexes", "third-party indexes, for --reuse-index", "indexing again with the tool")
TABLES: Final = ArtifactKind("tables", "indexes of the built-in engine", "parsing the corpus: seconds to minutes")
VECTORS: Final = ArtifactKind("vectors", "embeddings of all chunks of a corpus", "embedding: seconds to hours")
DESCRIPTIONS: Final = ArtifactKind("descriptions", "model-written descriptions of chunks", "querying the model again")
EMBEDDINGS: Final = ArtifactKind("embeddings", "embeddings of single files", "embedding them again")
ENCODINGS: Final = ArtifactKind("encodings", "vectors of contextual encoders", "encoding them again", workspace=True)
MODELS: Final = ArtifactKind("models", "installed encoders", "`assay model install NAME`")
INDEX: Final = ArtifactKind("index", "indexes for `assay search`", "indexing the directory again", workspace=True)
MIRRORS: Final = ArtifactKind("mirrors", "clones of git repositories of corpora", "cloning again", workspace=True)
TREES: Final = ArtifactKind("trees", "fetched corpora", "fetching and unpacking again")
REFS: Final = ArtifactKind("refs", "revisions of fetched corpora", "resolving them again")
SEATS: Final = ArtifactKind("seats", "signed-in reviewers", "signing in again with a code", workspace=True)
UNFINISHED: Final = ArtifactKind(
    "unfinished", "interrupted runs without a results directory", "starting those runs again", workspace=True
)

#: Kinds to which the size limit applies; others are pruned only on request.
LIMITED: Final = (CELLS, INDEXES, TABLES, VECTORS, EMBEDDINGS)
KINDS: Final = (
    CELLS, INDEXES, TABLES, VECTORS, DESCRIPTIONS, EMBEDDINGS, ENCODINGS, MODELS, INDEX, MIRRORS, TREES, REFS,
    SEATS, UNFINISHED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoreLimits:
    bytes: int = 10 * 10**9  # a hundred indexes of large repositories with their vectors, or ten million cells
    #: Share of the limit that a process may add before it measures the store again by walking all files.
    growth: float = 0.02
    #: Share of the limit that pruning leaves, so that the next write does not prune again.
    low: float = 0.9
    #: Minimum seconds between updates of the time of use of an entry, so that most reads do not write.
    touch: float = 3600.0
    #: Seconds after which a temporary file counts as left over from a killed process: no write takes an hour.
    leftover: float = 3600.0

    @classmethod
    def from_environment(cls) -> Self:
        limit = os.environ.get(VARIABLE, "").strip()
        return cls(bytes=parse_size(limit, VARIABLE)) if limit else cls()


def parse_size(text: str, where: str) -> int:
    """Parse a size such as 500MB, 1.5GiB or 1000 into bytes; error messages begin with `where`."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if match is None or (match[3] and not match[2]):
        raise ConfigError(f"{where}: expected a size, got {text!r}", hint="use a size such as 500MB, 2GB or 1.5GiB")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** "bkmgt".index(match[2] or "b"))


def parse_age(text: str, where: str) -> float:
    """Parse an age such as 30d, 12h, 90m or 45s into seconds; error messages begin with `where`."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([dhms])", text.strip().lower())
    if match is None:
        raise ConfigError(f"{where}: expected an age, got {text!r}", hint="use an age such as 30d, 12h or 90m")
    return float(match[1]) * _SECONDS[match[2]]
