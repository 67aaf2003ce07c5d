"""The model that ships with Assay: a vector for each word, and the words that mean the same.

Made by `assay train`; numpy alone reads it. Its words are the index's own terms, so a corpus is embedded from its
postings, and no text is read a second time.
"""

from assay.search.static.embedder import StaticEmbedder
from assay.search.static.model import StaticModel, open_static, read_words
from assay.search.static.paths import PathWords, path_words
from assay.search.static.thesaurus import Thesaurus
from assay.search.static.units import UnitVectors, unit_vectors

__all__ = [
    "PathWords",
    "StaticEmbedder",
    "StaticModel",
    "Thesaurus",
    "UnitVectors",
    "open_static",
    "path_words",
    "read_words",
    "unit_vectors",
]
