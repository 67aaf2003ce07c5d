"""What decides a cell, as a digest: the same digest, the same answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.engines.base import FullEngine
from assay.experiment.environment import code_digest
from assay.gold import gold_hash

if TYPE_CHECKING:
    from assay.experiment.cells.records import Ground

#: Raised when what a cell holds, or what its key means, changes.
_FORMAT = 1
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


def cell_key(engine: FullEngine, settings: object, ground: Ground, k: int) -> Key:
    """Name a cell. An engine whose identity nobody knows is known by its settings, until the run is finished."""
    identity = engine.identity
    who = [identity, "", ""] if identity is not None else ["", dict(engine.config), settings]
    told = gold_hash(ground.gold) if engine.config.get("kind") in _TOLD else ""
    where = [ground.facts.digest, ground.asked, ground.own, told]
    digest = digest_of([_FORMAT, code_digest(), who, engine.oversample, where, k])
    return Key(digest, identity is not None)


def turns_key(engines: Mapping[str, FullEngine], ground: Ground, k: int, circumstances: Mapping[str, object]) -> str:
    """Name what engines did that took turns: their times hold for this company and these circumstances only."""
    company = {name: [dict(engine.config), engine.identity, engine.oversample] for name, engine in engines.items()}
    where = [ground.facts.digest, ground.asked, ground.own, gold_hash(ground.gold)]
    return digest_of([_FORMAT, code_digest(), company, where, k, dict(circumstances)])
