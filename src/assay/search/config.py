"""Every number that shapes a ranking of the reference engine, with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from assay.search.chunking import ChunkConfig
from assay.search.laws import check_laws
from assay.search.models import DenseSettings, DescriptionSettings, RerankSettings, TranslationSettings
from assay.search.names import GraphConfig
from assay.search.results import SpanGrowth
from assay.search.signals import (
    AdjacentChunks,
    Bm25,
    Coherence,
    DeclarationPenalty,
    DefinitionName,
    FileStem,
    Identifier,
    PathNoise,
    References,
    ScopeName,
)


@dataclass(frozen=True, slots=True)
class FieldConfig:
    """How often a word counts, by where it stands."""

    body: float = field(default=1.0, metadata={"about": "in the lines of the unit, comments included"})
    name: float = field(
        default=2.0,  # +.011 on octocode's code, +.023 on its docs
        metadata={"about": "in the names that the unit defines, or in its heading"},
    )
    scope: float = field(default=1.0, metadata={"about": "in the names around the unit"})
    signature: float = field(default=1.0, metadata={"about": "in the signature"})
    doc: float = field(
        default=0.0,  # it stands in the lines already; counted once more it cost .003 on octocode's code
        metadata={"about": "once more in the comment that documents the unit"},
    )
    stem: float = field(default=1.0, metadata={"about": "in the name of the file"})
    folder: float = field(default=1.0, metadata={"about": "in the names of its folders"})


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """What shapes the index; the rest is decided when a query comes."""

    chunks: ChunkConfig = field(default_factory=ChunkConfig)
    fields: FieldConfig = field(default_factory=FieldConfig)
    longest_word: int = field(
        default=100,  # beyond it is data (base64, hashes) that nobody types
        metadata={"about": "characters of the longest ASCII run that is a word"},
    )
    description: DescriptionSettings = field(default_factory=DescriptionSettings)


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """One value that, with the corpus, decides every answer."""

    index: IndexConfig = field(default_factory=IndexConfig)
    lexical: Bm25 = field(default_factory=Bm25)
    translation: TranslationSettings = field(default_factory=TranslationSettings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    coherence: Coherence = field(default_factory=Coherence)
    neighbours: AdjacentChunks = field(default_factory=AdjacentChunks)
    stem: FileStem = field(default_factory=FileStem)
    definition: DefinitionName = field(default_factory=DefinitionName)
    scope: ScopeName = field(default_factory=ScopeName)
    references: References = field(default_factory=References)
    graph: GraphConfig = field(default_factory=GraphConfig)
    identifier: Identifier = field(default_factory=Identifier)
    noise: PathNoise = field(default_factory=PathNoise)
    gaps: DeclarationPenalty = field(default_factory=DeclarationPenalty)
    growth: SpanGrowth = field(default_factory=SpanGrowth)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    without: tuple[str, ...] = field(default=(), metadata={"about": "signals to leave out, by name"})

    def __post_init__(self) -> None:
        """Refuse values that would silently mean something else."""
        check_laws(self)

    def as_dict(self) -> Mapping[str, Any]:
        """Give the settings by name, for records and hashes; addresses without what may be a secret."""
        index = replace(self.index, description=self.index.description.shown())
        return asdict(replace(self, index=index, dense=self.dense.shown(), rerank=self.rerank.shown()))
