"""A model made fit for one code base, if a test shows that it is the better one there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError, InputError, SetupError
from assay.search.static import StaticModel, open_static
from assay.search.vectors import unit_rows
from assay.search.words import term_hash
from assay.stats import ComparisonRow, QueryValue, RunNames, ValueRange, Verdict, compare_values
from assay.stats.config import DEFAULT
from assay.syntax.grammars import GRAMMARS, load_grammar
from assay.training.bags import Products, as_matrix, join_rows, pool, row_keys, take_rows
from assay.training.config import HeldOutConfig, KindWeights, MiningConfig, TrainConfig, VectorTrainConfig
from assay.training.dataset import TF_POWER, Pairs, Vocabulary, encode, kinds_of, make_vocabulary
from assay.training.exclusion import OPEN
from assay.training.forks import WorkerTask, run_tasks
from assay.training.mine import mine_repository, shard_identity
from assay.training.pipeline import (
    MODEL_DIR,
    TERMS,
    WORK,
    InitialModel,
    Tell,
    alone,
    code_digests,
    key_of,
    pack,
    quantise,
    start_digest,
    write_model,
)
from assay.training.repositories import GitRepo, LearningScope, list_files, open_repository
from assay.training.sampling import draw_rank
from assay.training.shards import KINDS, Bags, PairShard, read_shard, write_shard
from assay.training.translations import Translations
from assay.training.vectors import EmbeddingTable, TrainProgress, limited, train_vectors

DEPTH = 10
_DOC, _NAME = KINDS.index("doc"), KINDS.index("name")


@dataclass(frozen=True, slots=True)
class Questions:
    """Rows that ask, and rows whose code may answer, in the pairs of a whole code base."""

    pairs: Pairs
    asked: NDArray[np.int64]
    codes: NDArray[np.int64]

    @property
    def files(self) -> NDArray[np.int32]:
        """The file of each question."""
        found: NDArray[np.int32] = self.pairs.file[self.asked]
        return found


def find_questions(pairs: Pairs, files: Collection[int], learned: Pairs) -> Questions:
    """Ask with the comments of some files; what was learned from elsewhere word for word is no question."""
    known = np.isin(pairs.query_key, learned.query_key) | np.isin(pairs.code_key, learned.code_key)
    asks = (pairs.kind == _DOC) & np.isin(pairs.file, sorted(files)) & ~known
    return Questions(pairs, np.flatnonzero(asks), np.flatnonzero(np.isin(pairs.kind, (_DOC, _NAME))))


def grade(questions: Questions, table: EmbeddingTable, products: Products) -> NDArray[np.float64]:
    """Give nDCG@10 of each question, which has one answer: 1 / log2(1 + its rank)."""
    pairs, asked, codes = questions.pairs, questions.asked, questions.codes
    size = len(table.vectors)
    query = pool(as_matrix(take_rows(pairs.query, asked), size), table.asked, table.vectors, products).unit
    code = pool(as_units(pairs, codes, size), table.said, table.vectors, products).unit
    scores = query @ code.T
    own = scores[np.arange(len(asked)), np.searchsorted(codes, asked)][:, None]
    wrong = ~_may_be_right(pairs, asked, codes)
    rank = 1 + ((scores > own) & wrong).sum(axis=1) + ((scores == own) & wrong).sum(axis=1) / 2
    found: NDArray[np.float64] = np.where(rank <= DEPTH, 1 / np.log2(1 + rank), 0.0)
    return found


def as_units(pairs: Pairs, rows: NDArray[np.int64], terms: int) -> Any:  # noqa: ANN401 - scipy has no stubs
    """Count the words of codes and their paths together, as an index does, and weigh the counts as a search does."""
    code = take_rows(pairs.code, rows)
    counts = Bags(code.offset, code.term, code.count ** (1 / TF_POWER))
    found = as_matrix(join_rows(counts, take_rows(pairs.path, rows)), terms)
    found.sum_duplicates()
    found.data = found.data**TF_POWER
    return found


def _may_be_right(pairs: Pairs, asked: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    right: NDArray[np.bool_] = pairs.code_key[asked][:, None] == pairs.code_key[codes][None, :]
    right |= pairs.query_key[asked][:, None] == pairs.query_key[codes][None, :]
    right |= (pairs.file[asked][:, None] == pairs.file[codes][None, :]) & (pairs.kind[codes] == _NAME)[None, :]
    return right


_SHARE: Final = {"least": 0.0, "most": 1.0}
_COUNT: Final = {"least": 1}


@dataclass(frozen=True, slots=True)
class HeldConfig:
    """Which documented files are kept for the test."""

    share: float = field(
        default=0.25,  # three quarters are left to learn from
        metadata={
            "about": "share of the documented files whose comments ask the questions of the test",
            "least": 0.0,
            "most": 0.9,
        },
    )
    files: int = field(
        default=24,  # files are what is drawn independently: with a dozen only great differences show
        metadata={"about": "files of the test, at least, as long as they are not more than half", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class NewTerms:
    """Which words of the code base get a row beside those of the model."""

    most: int = field(
        default=4_000,  # a seventh more; the rest are names that occur in a file or two
        metadata={"about": "new terms, at most", **_COUNT},
    )
    pairs: int = field(
        default=3,  # fewer teach nothing that holds elsewhere
        metadata={"about": "pairs that a new term must occur in", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How far and how fast the model is moved."""

    steps: int = field(
        default=50,  # 25 gained less on seven of eight repositories, 100 as much in twice the time (+0.039 on average)
        metadata={"about": "batches learned from, at least", **_COUNT},
    )
    passes: int = field(
        default=20,  # 12,000 pairs gained +0.064 in 4 passes, +0.098 in 12; 7,000 pairs +0.029 in 7, +0.053 in 22
        metadata={"about": "times that each pair is learned from, at least", **_COUNT},
    )
    batch: int = field(
        default=1024,  # as many wrong answers to each question; half as many gained no more on four repositories
        metadata={"about": "pairs of a batch", "least": 2},
    )
    rate: float = field(
        default=2e-3,  # what a model is trained with; a quarter of it gained less on four of four repositories
        metadata={"about": "step length of the vectors and weights at its highest", "least": 0.0},
    )
    overlap_dropout: float = field(
        default=0.25,  # at 0 it gained more than at 0.5 on three of four repositories, but learns no new synonym
        metadata={"about": "share of pairs whose code loses the terms that it shares with the query", **_SHARE},
    )
    blend: float = field(
        # Half is what Wortsman et al. (2022, WiSE-FT) advise where there is nothing to choose by. On eight repositories
        # all of the way lost on three, half on none; a choice on some more files was noise (+0.029 against +0.039).
        default=0.5,
        metadata={"about": "share of the way from the old vectors to the learned ones that is taken", **_SHARE},
    )


@dataclass(frozen=True, slots=True)
class AdaptConfig:
    """One value that, with the model and the repository, decides every byte of the adapted model."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held: HeldConfig = field(default_factory=HeldConfig)
    terms: NewTerms = field(default_factory=NewTerms)
    learning: LearningConfig = field(default_factory=LearningConfig)
    seed: int = field(default=0, metadata={"about": "seed of every random draw", "least": 0})
    threads: int = field(
        default=2,  # sums come out differently with another number of threads
        metadata={"about": "threads of the matrix products", **_COUNT},
    )

    def training(self, dimension: int, pairs: int) -> TrainConfig:
        """Say it as the trainer of a model's vectors reads it; what it holds out itself is nothing."""
        own = self.learning
        steps = max(own.steps, own.passes * pairs // own.batch)
        vectors = VectorTrainConfig(
            dimension=dimension,
            steps=steps,
            batch=own.batch,
            rate=own.rate,
            warmup=steps // 10,
            overlap_dropout=own.overlap_dropout,
            report=max(1, steps // 4),
        )
        held_out = HeldOutConfig(share=0.0)
        return TrainConfig(
            self.mining, kinds=self.kinds, held_out=held_out, vectors=vectors, seed=self.seed, threads=self.threads
        )


BETTER: Final = "better"
_WORDS: Final = {Verdict.BETTER: BETTER, Verdict.WORSE: "worse"}
_OPEN: Final = "not shown to be better"


@dataclass(frozen=True, slots=True)
class PairedTestResult:
    """What the test says."""

    row: ComparisonRow

    @property
    def verdict(self) -> str:
        """In a few words."""
        return _WORDS.get(self.row.verdict or Verdict.INCONCLUSIVE, _OPEN)

    def to_json(self) -> dict[str, Any]:
        """Give the figures by name."""
        row = self.row
        return {
            "verdict": self.verdict, "measure": "nDCG@10", "old": row.baseline_mean, "new": row.mean,
            "difference": row.difference, "interval": [row.interval.low, row.interval.high],
            "level": row.interval.level, "p": row.p, "mde": row.mde, "questions": row.queries, "files": row.clusters,
            "wins": row.wins, "ties": row.ties, "losses": row.losses,
        }  # fmt: skip


def compare_models(
    paths: Sequence[str], old: NDArray[np.float64], new: NDArray[np.float64], *, seed: int
) -> PairedTestResult:
    """Compare two models on the same questions; `paths` names the file of each."""
    before, after = (
        [
            QueryValue(str(nth), value, path)
            for nth, (path, value) in enumerate(zip(paths, values.tolist(), strict=True))
        ]
        for values in (old, new)
    )
    found = compare_values(before, after, names=RunNames("old", "adapted"), bounds=ValueRange(), seed=seed)
    return PairedTestResult(found.rows[0])


_APART = 2  # workers: with one the task would run in this process, and a parser that crashes would end it


@dataclass(frozen=True, slots=True)
class Miner:
    """Mines a repository that is the user's own, and keeps what it finds."""

    repository: GitRepo
    config: MiningConfig
    work: Path

    def mine(self, withheld: frozenset[str] = frozenset()) -> PairShard:
        """Give the pairs of all files but some; what an earlier run kept is not mined again."""
        scope = LearningScope(own=True, withheld=withheld)
        facts = sha256("\n".join(sorted(withheld)).encode("utf-8", "surrogatepass")).hexdigest()
        key = shard_identity(self.repository, self.config, f"own {facts}")
        path = self.work / f"{'part' if withheld else 'whole'}-{key[:16]}.assay"
        if not path.exists():
            self._run(WorkerTask(self.repository.name, partial(self._write, scope, path)))
        return read_shard(path)

    def _run(self, task: WorkerTask[None]) -> None:
        for grammar in GRAMMARS:
            load_grammar(grammar)
        for done in run_tasks([task], _APART):
            if isinstance(done.error, InputError):
                raise done.error
            if done.error is not None:
                problem = f"{self.repository.name}: mining failed: {done.error}"
                raise SetupError(problem, hint="run it again") from done.error

    def _write(self, scope: LearningScope, path: Path) -> None:
        shard = mine_repository(self.repository, self.config, OPEN, scope).shard
        if shard is not None:  # one's own repository is never left out
            write_shard(path, shard)


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A model and the words of its rows."""

    model: StaticModel
    terms: tuple[str, ...]

    @property
    def identity(self) -> str:
        """The digest of its arrays, as its folder says it."""
        return self.model.identity.rpartition(" ")[2]


def read_parent(folder: Path | None) -> BaseModel:
    """Open a model's folder; without one, the model that ships with Assay."""
    model = open_static(folder)
    place = folder if folder else resources.files("assay.data").joinpath("model")
    try:
        text = place.joinpath(TERMS).read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeError) as error:
        problem = f"the words of the model cannot be read: {error}"
        raise ConfigError(problem, file=str(place), hint="name the folder that `assay train` wrote") from error
    terms = tuple(text.split("\n")[:-1])
    if [term_hash(term) for term in terms] != model.term.tolist():
        problem = f"{TERMS} does not belong to the model beside it"
        raise ConfigError(problem, file=str(place), hint="copy the whole folder that `assay train` wrote")
    return BaseModel(model, terms)


def new_terms(parent: BaseModel, shard: PairShard, config: NewTerms) -> tuple[str, ...]:
    """List the words of a code base that the model does not know, those of most pairs first."""
    used = np.concatenate([bags.term for bags in (shard.query, shard.code, shard.path)])
    uses = np.bincount(used, minlength=len(shard.words))
    known = parent.model.rows(np.array([term_hash(word) for word in shard.words], np.uint64)) >= 0
    found = Counter({shard.words[place]: int(uses[place]) for place in np.flatnonzero(~known).tolist()})
    listed = sorted(found, key=lambda word: (-found[word], word))
    return tuple(word for word in listed[: config.most] if found[word] >= config.pairs)


def extend(parent: BaseModel, terms: Sequence[str]) -> InitialModel:
    """Give new words a row of zeros each, so that the model says what it said before, and the middle weight."""
    model = parent.model
    vocabulary = make_vocabulary((*parent.terms, *terms))
    rows = np.searchsorted(vocabulary.hashes, model.term)
    vectors = np.zeros((len(vocabulary), model.dimension), dtype=np.float32)
    vectors[rows] = model.vectors(np.arange(len(model.term)))
    return InitialModel(
        vocabulary, EmbeddingTable(vectors, _logs(model.asked, rows, vocabulary), _logs(model.said, rows, vocabulary))
    )


def _logs(weight: NDArray[np.float32], rows: NDArray[np.int64], vocabulary: Vocabulary) -> NDArray[np.float32]:
    known = np.log(np.maximum(weight, np.finfo(np.float32).tiny))
    logs = np.full(len(vocabulary), np.median(known), dtype=np.float32)
    logs[rows] = known
    return logs


def place_new(parent: BaseModel, start: InitialModel, pairs: Pairs, products: Products) -> EmbeddingTable:
    """Put new words where the codes are that they stand in or ask for, as far from nothing as most words are.

    Zeros would do for a word among known ones, but a question of new words alone has no direction then, and no slope:
    it would never be learned from. What all codes have in common is taken off first, for it tells no word from another.
    """
    table, size = start.table, len(start.vocabulary)
    new = np.flatnonzero(parent.model.rows(start.vocabulary.hashes) < 0)
    code = pool(as_matrix(pairs.code, size), table.said, table.vectors, products).unit
    stands = sum(as_matrix(bags, size) for bags in (pairs.query, pairs.code, pairs.path))
    stands.data[:] = 1.0
    found = products.rows(stands.T.tocsr()[new], code - code.mean(axis=0))
    known = np.sqrt(np.einsum("td,td->t", table.vectors, table.vectors))
    vectors = table.vectors.copy()
    vectors[new] = unit_rows(found) * np.median(known[known > 0])
    return EmbeddingTable(vectors, table.asked, table.said)


def translations_of(parent: BaseModel, vocabulary: Vocabulary) -> Translations:
    """Give the translations of a model in the rows of a larger vocabulary."""
    model = parent.model
    source, target = (np.searchsorted(vocabulary.hashes, one) for one in (model.source, model.target))
    return Translations(source, model.offset, target, model.strength)


def hold_out_files(documented: Iterable[str], config: HeldConfig, seed: int) -> frozenset[str]:
    """Draw the files of the test by the hashes of their paths: what is in a file has no say in where it goes."""
    drawn = sorted(set(documented), key=lambda path: (draw_rank(seed, "adapt", path), path))
    return frozenset(drawn[: max(round(config.share * len(drawn)), min(config.files, len(drawn) // 2))])


_RUN_DOC: Final = KINDS.index("doc")
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

    repository: GitRepo
    parent: str
    terms: int  # that are new
    pairs: dict[str, int]  # that were learned from
    judgement: PairedTestResult
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
    place, better = order.out / MODEL_DIR, judgement.verdict == BETTER
    adapted = Adapted(
        repository, parent.identity, len(start.vocabulary) - len(parent.terms), kinds_of(course.learned),
        judgement, place if better else None, place if place.exists() and not better else None,
    )  # fmt: skip
    if adapted.folder:
        _write(adapted, adapted.folder, table, start.vocabulary, parent, config)
    return adapted


def _held_out(whole: PairShard, paths: Sequence[str], config: AdaptConfig) -> frozenset[str]:
    documented = {paths[number] for number in np.unique(whole.file[whole.kind == _RUN_DOC]).tolist()}
    if len(documented) < _FEWEST:
        problem = f"too few pairs: {len(documented)} files have comments that could be questions, {_FEWEST} are needed"
        raise InputError(problem, hint=_SERVED)
    return hold_out_files(documented, config.held, config.seed)


def _encoded(shard: PairShard, vocabulary: Vocabulary) -> Pairs:
    return encode([shard], vocabulary, HeldOutConfig(share=0.0))


@dataclass(frozen=True, slots=True)
class _Course:
    """From the start of an adaptation to its test."""

    config: AdaptConfig
    start: InitialModel
    learned: Pairs
    whole: Pairs
    paths: Sequence[str]

    def learn(self, parent: BaseModel, work: Path, products: Products, tell: Tell) -> EmbeddingTable:
        table = place_new(parent, self.start, self.learned, products)
        pairs = self.learned
        config = self.config.training(parent.model.dimension, len(pairs))
        columns = (pairs.query_key, pairs.code_key, row_keys(pairs.path), pairs.kind, pairs.file)
        learned = [column.tolist() for column in columns]
        start = start_digest(InitialModel(self.start.vocabulary, table))
        keep = work / f"adapted-{key_of(code_digests(), start, asdict(self.config), learned)}.assay"
        return train_vectors(pairs, table, config, keep=keep, tell=lambda at: tell(_line(at))).table

    def test(self, asked: Questions, table: EmbeddingTable, products: Products) -> PairedTestResult:
        named = [self.paths[number] for number in asked.files.tolist()]
        old, new = (grade(asked, one, products) for one in (self.start.table, table))
        return compare_models(named, old, new, seed=self.config.seed)

    def ask(self, files: Collection[str]) -> Questions:
        numbers = [number for number, path in enumerate(self.paths) if path in files]
        asked = find_questions(self.whole, numbers, self.learned)
        if len(np.unique(asked.files)) < DEFAULT.p_value_clusters:
            problem = f"too few pairs: {len(self.learned)} to learn from, {len(asked.asked)} questions for the test"
            raise InputError(problem, hint=_SERVED)
        return asked


def mix(old: EmbeddingTable, new: EmbeddingTable, share: float) -> EmbeddingTable:
    """Go a share of the way from one table to another, with vectors as a model's folder can hold them."""
    vectors, asked, said = (
        (one + np.float32(share) * (other - one)).astype(np.float32)
        for one, other in ((old.vectors, new.vectors), (old.asked, new.asked), (old.said, new.said))
    )
    small, scale = quantise(vectors)
    return EmbeddingTable(small * scale[:, None], asked, said)


def _line(at: TrainProgress) -> str:
    return f"step {at.step}/{at.steps}: loss {at.loss:.3f}"


def _write(
    adapted: Adapted,
    folder: Path,
    table: EmbeddingTable,
    vocabulary: Vocabulary,
    parent: BaseModel,
    config: AdaptConfig,
) -> None:
    packed = pack(table, vocabulary, translations_of(parent, vocabulary))
    about = {"settings": asdict(config), "terms": len(vocabulary), **adapted.about()}
    manifest = {"parent": adapted.parent, "repositories": [about["repository"] | {"pairs": adapted.pairs}]}
    licence = _LICENCE.format(parent=adapted.parent, repository=adapted.repository.name)
    write_model(folder, packed, vocabulary, about, manifest, licence)
