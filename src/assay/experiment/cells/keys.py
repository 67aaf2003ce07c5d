"""What decides a cell, as a digest: the same digest, the same answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.artefacts import code_digest
from assay.engines.base import FullEngine
from assay.gold import gold_hash

if TYPE_CHECKING:
    from assay.experiment.cells.records import Ground

#: Raised when what a cell holds, or what its key means, changes.
_FORMAT = 1
#: The code that decides, beside an engine's own, what a cell holds. Words of a report do not.
_DECIDING = (
    "clock.py", "corpus", "engines", "experiment/cells", "experiment/places", "experiment/running", "files.py",
    "gold/anchors", "http", "processes", "redaction.py", "syntax", "types.py",
)  # fmt: skip
#: Kinds that are told the answers: for them a changed target is another question.
_TOLD = ("oracle", "runfile")


@dataclass(frozen=True, slots=True)
class Key:
    """The name of a cell; only a lasting one means the same next week."""

    digest: str
    lasting: bool


def digest_of(value: object) -> str:
    """Digest a value that JSON can hold, or that says what it is as text."""
    plain = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Who:
    """What of an engine decides its cells: worked out once, for it takes a look at code and models."""

    known_by: Sequence[object]
    oversample: int
    lasting: bool  # whether all that decides its answers is known
    told: bool  # whether it is told the answers


def who_is(engine: FullEngine, settings: object) -> Who:
    """Say who an engine is. One whose identity nobody knows is known by its settings, until the run is finished."""
    identity, config = engine.identity, engine.config
    known_by = [identity, "", ""] if identity is not None else ["", dict(config), settings]
    return Who(known_by, engine.oversample, identity is not None, config.get("kind") in _TOLD)


def cell_key(who: Who, ground: Ground, k: int) -> Key:
    """Name a cell."""
    told = gold_hash(ground.gold) if who.told else ""
    where = [ground.facts.digest, ground.asked, ground.own, told]
    return Key(digest_of([_FORMAT, code_digest(*_DECIDING), who.known_by, who.oversample, where, k]), who.lasting)


def turns_key(engines: Mapping[str, FullEngine], ground: Ground, k: int, circumstances: Mapping[str, object]) -> str:
    """Name what engines did that took turns: their times hold for this company and these circumstances only."""
    company = {name: [dict(engine.config), engine.identity, engine.oversample] for name, engine in engines.items()}
    where = [ground.facts.digest, ground.asked, ground.own, gold_hash(ground.gold)]
    return digest_of([_FORMAT, code_digest(*_DECIDING), company, where, k, dict(circumstances)])
