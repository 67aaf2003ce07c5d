"""`assay train --adapt` without its flags: mine, split, learn, choose, test; the old model stays unless beaten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from assay.errors import InputError
from assay.stats.config import DEFAULT
from assay.training.adapting.asking import Questions, find_questions, grade
from assay.training.adapting.config import AdaptConfig
from assay.training.adapting.judging import BETTER, Judgement, judge
from assay.training.adapting.mined import Miner
from assay.training.adapting.parent import Parent, extend, new_terms, place_new, read_parent, translations_of
from assay.training.adapting.splitting import hold_out_files
from assay.training.bags import row_keys
from assay.training.config import HeldOutConfig
from assay.training.mining.repositories import Repository, list_files, open_repository
from assay.training.packing import pack, quantise, write_model
from assay.training.pairs import Pairs, encode, kinds_of
from assay.training.run import MODEL, WORK, alone
from assay.training.shards import KINDS, Shard
from assay.training.sparse import Products
from assay.training.stages import Start, Tell, code_digests, key_of, start_digest
from assay.training.vectors import Report, Table, limited, train_vectors
from assay.training.vocabulary import Vocabulary

_DOC: Final = KINDS.index("doc")
#: Documented files below which there is no test: it needs six, and they must not be more than half.
_FEWEST: Final = 2 * DEFAULT.p_value_clusters
_SERVED: Final = "a code base with so few comments is served by the model as it is"

_LICENCE: Final = """\
# Licence of this model

It was made from the model {parent} by learning from the code and the history of {repository}, whatever their licence.
vocabulary.txt names words of that code. Give this folder to nobody to whom you would not give the code.
"""


@dataclass(frozen=True, slots=True)
class Order:
    """What to adapt, to what, and where to."""

    repository: Path
    out: Path
    model: Path | None = None  # the one that ships with Assay


@dataclass(frozen=True, slots=True)
class Adapted:
    """How it went; `folder` is the new model, None when the old one is kept.

    `earlier` is then the model that an earlier run left in its place.
    """

    repository: Repository
    parent: str
    terms: int  # that are new
    pairs: dict[str, int]  # that were learned from
    judgement: Judgement
    folder: Path | None
    earlier: Path | None

    def about(self) -> dict[str, Any]:
        """Say how it was made, and how it does."""
        return {
            "repository": {"name": self.repository.name, "url": self.repository.url, "commit": self.repository.commit},
            "parent": self.parent, "new_terms": self.terms, "pairs": self.pairs,
            "test": self.judgement.to_json(),
        }  # fmt: skip


def adapt(order: Order, config: AdaptConfig, tell: Tell) -> Adapted:
    """Adapt a model to a repository, and write it if it is better there; nobody else works in the folder meanwhile."""
    with alone(order.out):
        return _adapted(order, config, tell)


def _adapted(order: Order, config: AdaptConfig, tell: Tell) -> Adapted:
    """Mine, learn, test, and write."""
    parent, repository = read_parent(order.model), open_repository(order.repository)
    miner = Miner(repository, config.mining, order.out / WORK)
    whole = miner.mine()
    paths = tuple(entry.path for entry in list_files(repository))
    held = _held_out(whole, paths, config)
    tell(f"mined {len(whole):,} pairs of {repository.name}: {len(held)} files are kept for the test")
    shard = miner.mine(held)
    start = extend(parent, new_terms(parent, shard, config.terms))
    course = _Course(config, start, _encoded(shard, start.vocabulary), _encoded(whole, start.vocabulary), paths)
    tell(f"learning from {len(course.learned):,} pairs, {len(start.vocabulary) - len(parent.terms):,} words are new")
    asked = course.ask(held)
    with limited(config.threads) as products:
        end = course.learn(parent, order.out / WORK, products, tell)
        table = mix(start.table, end, config.learning.blend)
        judgement = course.test(asked, table, products)
    place, better = order.out / MODEL, judgement.verdict == BETTER
    adapted = Adapted(
        repository, parent.identity, len(start.vocabulary) - len(parent.terms), kinds_of(course.learned),
        judgement, place if better else None, place if place.exists() and not better else None,
    )  # fmt: skip
    if adapted.folder:
        _write(adapted, adapted.folder, table, start.vocabulary, parent, config)
    return adapted


def _held_out(whole: Shard, paths: Sequence[str], config: AdaptConfig) -> frozenset[str]:
    """Draw the documented files that are not learned from; `paths` are those of all files by number."""
    documented = {paths[number] for number in np.unique(whole.file[whole.kind == _DOC]).tolist()}
    if len(documented) < _FEWEST:
        problem = f"too few pairs: {len(documented)} files have comments that could be questions, {_FEWEST} are needed"
        raise InputError(problem, hint=_SERVED)
    return hold_out_files(documented, config.held, config.seed)


def _encoded(shard: Shard, vocabulary: Vocabulary) -> Pairs:
    """Write pairs in the rows of a model."""
    return encode([shard], vocabulary, HeldOutConfig(share=0.0))


@dataclass(frozen=True, slots=True)
class _Course:
    """From the start of an adaptation to its test."""

    config: AdaptConfig
    start: Start
    learned: Pairs
    whole: Pairs
    paths: Sequence[str]

    def learn(self, parent: Parent, work: Path, products: Products, tell: Tell) -> Table:
        """Move the model, from wherever an earlier run left it."""
        table = place_new(parent, self.start, self.learned, products)
        pairs = self.learned
        config = self.config.training(parent.model.dimension, len(pairs))
        columns = (pairs.query_key, pairs.code_key, row_keys(pairs.path), pairs.kind, pairs.file)
        learned = [column.tolist() for column in columns]
        start = start_digest(Start(self.start.vocabulary, table))
        keep = work / f"adapted-{key_of(code_digests(), start, asdict(self.config), learned)}.assay"
        return train_vectors(pairs, table, config, keep=keep, tell=lambda at: tell(_line(at))).table

    def test(self, asked: Questions, table: Table, products: Products) -> Judgement:
        """Compare with the old model on files that had no part in anything."""
        named = [self.paths[number] for number in asked.files.tolist()]
        old, new = (grade(asked, one, products) for one in (self.start.table, table))
        return judge(named, old, new, seed=self.config.seed)

    def ask(self, files: Collection[str]) -> Questions:
        """Ask with the comments of some files; refuse before anything is learned what could not be tested."""
        numbers = [number for number, path in enumerate(self.paths) if path in files]
        asked = find_questions(self.whole, numbers, self.learned)
        if len(np.unique(asked.files)) < DEFAULT.p_value_clusters:
            problem = f"too few pairs: {len(self.learned)} to learn from, {len(asked.asked)} questions for the test"
            raise InputError(problem, hint=_SERVED)
        return asked


def mix(old: Table, new: Table, share: float) -> Table:
    """Go a share of the way from one table to another, with vectors as a model's folder can hold them."""
    vectors, asked, said = (
        (one + np.float32(share) * (other - one)).astype(np.float32)
        for one, other in ((old.vectors, new.vectors), (old.asked, new.asked), (old.said, new.said))
    )
    small, scale = quantise(vectors)
    return Table(small * scale[:, None], asked, said)


def _line(at: Report) -> str:
    """Say where the learning is."""
    return f"step {at.step}/{at.steps}: loss {at.loss:.3f}"


def _write(
    adapted: Adapted, folder: Path, table: Table, vocabulary: Vocabulary, parent: Parent, config: AdaptConfig
) -> None:
    """Write the folder of the adapted model."""
    packed = pack(table, vocabulary, translations_of(parent, vocabulary))
    about = {"settings": asdict(config), "terms": len(vocabulary), **adapted.about()}
    manifest = {"parent": adapted.parent, "repositories": [about["repository"] | {"pairs": adapted.pairs}]}
    licence = _LICENCE.format(parent=adapted.parent, repository=adapted.repository.name)
    write_model(folder, packed, vocabulary, about, manifest, licence)
