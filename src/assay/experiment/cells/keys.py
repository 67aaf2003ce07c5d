"""Cell keys: equal keys mean equal results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.digests import code_digest, digest_of
from assay.engines.base import FullEngine
from assay.engines.kinds import find_kind
from assay.gold import gold_hash

if TYPE_CHECKING:
    from assay.experiment.cells.records import CorpusSnapshot

#: Raised when what a cell holds, or what its key means, changes.
_FORMAT = 1
#: The code that decides, beside an engine's own, what a cell holds. Words of a report do not.
_DECIDING = (
    "clock.py", "corpus", "engines", "experiment/cells", "experiment/corpora.py",
    "experiment/records/codec.py", "experiment/running", "files.py", "gold/anchors.py", "http.py", "processes",
    "redaction.py", "settings.py", "syntax", "types.py",
)  # fmt: skip


def deciding_code() -> str:
    """Digest the code of Assay that decides what engines answer, beside their own."""
    return code_digest(*_DECIDING)


@dataclass(frozen=True, slots=True)
class CellKey:
    """The name of a cell; only a lasting one means the same next week."""

    digest: str
    lasting: bool


@dataclass(frozen=True, slots=True)
class EngineIdentity:
    """What of an engine decides its cells: worked out once, for it takes a look at code and models."""

    known_by: Sequence[object]
    oversample: int
    lasting: bool  # whether all that decides its answers is known
    told: bool  # whether it is told the answers


def engine_identity(engine: FullEngine, settings: object) -> EngineIdentity:
    """Say who an engine is. One whose identity nobody knows is what is seen of it, until the run is finished."""
    identity, config = engine.identity, engine.config
    kind = find_kind(config.get("kind"))
    known_by = [identity, "", ""] if identity is not None else [engine.fingerprint, dict(config), settings]
    return EngineIdentity(known_by, engine.oversample, identity is not None, kind is not None and kind.uses_gold)


def cell_key(who: EngineIdentity, ground: CorpusSnapshot, k: int) -> CellKey:
    """Name a cell."""
    told = gold_hash(ground.gold) if who.told else ""
    where = [ground.facts.digest, ground.asked, ground.own, told]
    return CellKey(digest_of([_FORMAT, deciding_code(), who.known_by, who.oversample, where, k]), who.lasting)


def turns_key(
    engines: Mapping[str, FullEngine], ground: CorpusSnapshot, k: int, circumstances: Mapping[str, object]
) -> str:
    """Name what engines did that took turns: their times hold for this company and these circumstances only.

    What they did is kept under the name of its gold set, so sets that differ in nothing but their name share no key.
    """
    company = {
        name: [dict(engine.config), engine.identity or engine.fingerprint, engine.oversample]
        for name, engine in engines.items()
    }
    where = [ground.gold.name, ground.facts.digest, ground.asked, ground.own, gold_hash(ground.gold)]
    return digest_of([_FORMAT, deciding_code(), company, where, k, dict(circumstances)])
