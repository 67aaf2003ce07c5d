"""What speaks for or against a candidate: each a value that can be left out, and a pure function of what was seen."""

from __future__ import annotations

from assay.search.signals.coherence import Coherence
from assay.search.signals.definition import Definition, Scope
from assay.search.signals.identifier import Identifier
from assay.search.signals.lexical import Lexical
from assay.search.signals.neighbours import Neighbours
from assay.search.signals.references import References
from assay.search.signals.stem import FileStem
from assay.search.signals.surroundings import Gaps, PathNoise

__all__ = [
    "Coherence",
    "Definition",
    "FileStem",
    "Gaps",
    "Identifier",
    "Lexical",
    "Neighbours",
    "PathNoise",
    "References",
    "Scope",
]
