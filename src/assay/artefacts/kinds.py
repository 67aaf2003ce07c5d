"""What lies in the cache: every kind of thing, what it is, and what it costs to have it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that is kept, so that it need not be made again."""

    name: str  # of its folder
    about: str
    anew: str  # what it costs when it is gone
    artefact: bool = True  # it lies in `Artefacts`, which keeps to a limit; others are pruned only when named


CELLS: Final = Kind("cells", "what an engine answered to a gold set", "asking the engine again")
INDEXES: Final = Kind("indexes", "indexes of other people's tools, for --reuse-index", "indexing again with the tool")
TABLES: Final = Kind("tables", "the built-in engine's index of a corpus", "parsing the corpus: seconds to minutes")
VECTORS: Final = Kind("vectors", "vectors of the units of a table", "embedding again: seconds, hours for a large model")
DESCRIPTIONS: Final = Kind("descriptions", "what a model said of units", "asking the model again", artefact=False)
EMBEDDINGS: Final = Kind("embeddings", "what an embedder made of texts", "embedding them again", artefact=False)
INDEX: Final = Kind("index", "indexes of folders that `assay search` knows", "indexing the folder", artefact=False)
MIRRORS: Final = Kind("mirrors", "clones of the git repositories that corpora name", "cloning again", artefact=False)
TREES: Final = Kind("trees", "corpora as they were fetched", "fetching and unpacking again", artefact=False)
SEATS: Final = Kind("seats", "which browser a reviewer sits at", "taking one's name again, by a code", artefact=False)
UNFINISHED: Final = Kind(
    "unfinished", "what runs without a folder of results have not finished", "beginning those runs anew", artefact=False
)

KINDS: Final = (CELLS, INDEXES, TABLES, VECTORS, DESCRIPTIONS, EMBEDDINGS, INDEX, MIRRORS, TREES, SEATS, UNFINISHED)
