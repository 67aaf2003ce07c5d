"""From shards to a model, stage by stage; each keeps its result under a name that says what it was made from.

    WORK/vocabulary-KEY.txt      WORK/pairs-KEY.assay          WORK/hard-KEY.assay
    WORK/vectors-KEY.assay       WORK/translations-KEY.assay

A stage whose file is there is not done again, and training goes on from its last checkpoint; so whatever is interrupted
is begun again by the same call, and ends in the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Final

import numpy as np

from assay.artefacts import code_digest
from assay.digests import digest_of
from assay.errors import InputError
from assay.training.config import TrainConfig
from assay.training.hard_negatives import HardNegatives, find_hard, read_hard, write_hard
from assay.training.pairs import Pairs, encode, kinds_of, read_pairs, write_pairs
from assay.training.shards import read_shard
from assay.training.translations import Translations, learn_translations, read_translations, write_translations
from assay.training.vectors import Report, Table, Trained, random_table, train_vectors
from assay.training.vocabulary import Vocabulary, choose_vocabulary, read_vocabulary, write_vocabulary

Tell = Callable[[str], None]
_PACKAGES: Final = ("numpy", "scipy")
_NAMED: Final = 16  # digits of a key: 64 bits, and a folder holds a few dozen files


@dataclass(frozen=True, slots=True)
class Learned:
    """All that a model is made of."""

    vocabulary: Vocabulary
    pairs: Pairs
    trained: Trained
    translations: Translations

    def about(self, config: TrainConfig) -> dict[str, Any]:
        """Say how it was made, and how it does on what was held out."""
        pairs = self.pairs
        return {
            "settings": asdict(config),
            "terms": len(self.vocabulary),
            "repositories": len(pairs.repositories),
            "held_out": sorted({pairs.repositories[one] for one in np.unique(pairs.repository[pairs.held_out])}),
            "pairs": kinds_of(pairs),
            "translations": {"terms": len(self.translations.source), "entries": len(self.translations.target)},
            "temperature": round(self.trained.temperature, 6),
            "reports": [asdict(report) for report in self.trained.reports],
        }


@dataclass(frozen=True, slots=True)
class Start:
    """A model to start from in place of random numbers: its terms, and what is known of them."""

    vocabulary: Vocabulary
    table: Table


def learn(shards: Sequence[Path], config: TrainConfig, work: Path, tell: Tell, start: Start | None = None) -> Learned:
    """Learn everything from the shards; what is in `work` already is taken from there."""
    base = key_of(_digests(shards), code_digests(), {} if start is None else start_digest(start))
    vocabulary = _vocabulary(shards, config, work, base, tell) if start is None else start.vocabulary
    within = key_of(base, asdict(config.vocabulary), asdict(config.held_out))
    pairs = _pairs(shards, vocabulary, config, work / f"pairs-{within}.assay", tell)
    hard = _hard(pairs, config, work, within, tell)
    table = random_table(pairs, len(vocabulary), config.vectors, config.seed) if start is None else start.table
    key = key_of(within, asdict(config.vectors), asdict(config.kinds), config.seed, config.threads)
    keep = work / f"vectors-{key}.assay"
    trained = train_vectors(pairs, table, config, hard, keep=keep, tell=lambda at: tell(_line(at)))
    return Learned(vocabulary, pairs, trained, _translations(pairs, len(vocabulary), config, work, within, tell))


def _vocabulary(shards: Sequence[Path], config: TrainConfig, work: Path, base: str, tell: Tell) -> Vocabulary:
    """Choose the vocabulary, or read it."""
    path = work / f"vocabulary-{key_of(base, asdict(config.vocabulary))}.txt"
    if path.exists():
        return read_vocabulary(path)
    vocabulary = choose_vocabulary(map(read_shard, shards), config.vocabulary)
    write_vocabulary(path, vocabulary)
    tell(f"vocabulary: {len(vocabulary):,} terms")
    return vocabulary


def _pairs(shards: Sequence[Path], vocabulary: Vocabulary, config: TrainConfig, path: Path, tell: Tell) -> Pairs:
    """Encode the pairs; they are mapped from their file, which may be larger than the memory."""
    if not path.exists():
        pairs = encode(map(read_shard, shards), vocabulary, config.held_out)
        write_pairs(path, pairs)
        tell(f"pairs: {len(pairs):,} of {len(pairs.repositories)} repositories, {pairs.held_out.sum():,} held out")
    return read_pairs(path)


def _hard(pairs: Pairs, config: TrainConfig, work: Path, within: str, tell: Tell) -> HardNegatives | None:
    """Find hard negatives, if the recipe wants any."""
    own = config.vectors
    if not own.hard.share:
        return None
    path = work / f"hard-{key_of(within, asdict(own.hard) | {'share': 0}, own.same_file, config.seed)}.assay"
    if not path.exists():
        write_hard(path, find_hard(pairs, own.same_file, own.hard, config.seed))
        tell(f"hard negatives: of {len(read_hard(path).rows):,} questions")
    return read_hard(path)


def _translations(pairs: Pairs, terms: int, config: TrainConfig, work: Path, within: str, tell: Tell) -> Translations:
    """Learn the translations, or read them."""
    path = work / f"translations-{key_of(within, asdict(config.translations))}.assay"
    if not path.exists():
        write_translations(path, learn_translations(pairs, terms, config.translations))
        tell(f"translations: of {len(read_translations(path).source):,} terms")
    return read_translations(path)


def _line(at: Report) -> str:
    """Say where a training is."""
    seen = at.grade
    return (
        f"step {at.step}/{at.steps}: loss {at.loss:.3f}, temperature {at.temperature:.4f}; {seen.questions} held-out "
        f"questions: {seen.first:.3f} right at once, MRR {seen.reciprocal:.3f}; "
        f"without shared words {seen.bare_first:.3f}, {seen.bare_reciprocal:.3f}"
    )


def _digests(shards: Sequence[Path]) -> list[str]:
    """Name shards by their bytes."""
    if not shards:
        raise InputError("there is nothing to train on", hint="name a folder of permissively licensed repositories")
    return sorted(blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in shards)


def start_digest(start: Start) -> list[str]:
    """Name a start by its bytes."""
    own = start.table
    arrays = (start.vocabulary.hashes, own.vectors, own.asked, own.said)
    return [blake2b(np.ascontiguousarray(one).data, digest_size=16).hexdigest() for one in arrays]


def code_digests() -> dict[str, str]:
    """Name the code that learns and the packages it computes with; the code that mines has a name of its own."""
    home = resources.files("assay").joinpath("training")
    modules = [f"training/{one.name}" for one in home.iterdir() if one.name.endswith(".py")]
    return {"code": code_digest(*modules)} | {name: metadata.version(name) for name in _PACKAGES}


def key_of(*facts: object) -> str:
    """Name a result by what it was made from."""
    return digest_of(facts)[:_NAMED]
