"""Adapt a model to one repository; write the adapted model only if it is significantly better on held-out files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b, sha256
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError, InputError, SetupError
from assay.processes.forks import run_forked
from assay.search.query import term_hash
from assay.search.static import StaticModel, open_static
from assay.search.vectors import unit_rows
from assay.settings import setting
from assay.stats import ComparisonRow, QueryValue, RunNames, ValueRange, Verdict, compare_values
from assay.stats.config import DEFAULT
from assay.syntax.parsing import GRAMMARS, load_grammar
from assay.training.config import HeldOutConfig, KindWeights, MiningConfig, TrainConfig, VectorTrainConfig
from assay.training.dataset import (
    TF_POWER,
    Products,
    TrainingPairs,
    Vocabulary,
    as_matrix,
    count_kinds,
    encode,
    join_rows,
    make_vocabulary,
    pool,
    row_keys,
    take_rows,
)
from assay.training.mining import mine_repository, shard_identity
from assay.training.pipeline import (
    MODEL_DIR,
    TERMS,
    WORK,
    Tell,
    code_digests,
    key_of,
    lock_output,
    pack,
    quantize,
    write_model,
)
from assay.training.repositories import GitRepo, LearningScope, list_files, open_repository
from assay.training.selection import NO_EXCLUSIONS
from assay.training.shards import KINDS, Bags, PairShard, draw_rank, read_shard, write_shard
from assay.training.translations import Translations
from assay.training.vectors import EmbeddingTable, TrainProgress, limit_threads, train_vectors

_VERDICTS: Final = {Verdict.BETTER: "better", Verdict.WORSE: "worse"}
_DEPTH: Final = 10  # of nDCG
_DOC, _NAME = KINDS.index("doc"), KINDS.index("name")
#: Fewest documented files: a test needs six, and at most half of the files are held out.
_FEWEST: Final = 2 * DEFAULT.p_value_clusters
_TOO_FEW: Final = "use the model as it is, or add documentation comments"
_FORKED: Final = 2  # workers; with one the task would run in this process, which a crash of a parser would end

_LICENSE: Final = """\
# License of this model

This model was adapted from the model {parent} to the code and the history of {repository}, whatever their license.
vocabulary.txt contains words of that code. Share this directory only with people who may see the code.
"""


@dataclass(frozen=True, slots=True)
class HoldOutFiles:
    # three quarters are left to learn from
    share: float = setting(0.25, "share of the documented files that are held out for the test", least=0.0, most=0.9)
    # files are the clusters of the test: with a dozen only large differences are significant
    files: int = setting(24, "minimum number of held-out files, but at most half of the documented files", least=1)


@dataclass(frozen=True, slots=True)
class NewTerms:
    """Limits on the terms that are added to the model."""

    # a seventh more; the rest are names that occur in a file or two
    most: int = setting(4_000, "maximum number of new terms", least=1)
    pairs: int = setting(3, "minimum uses of a new term", least=1)  # fewer teach nothing that generalizes


@dataclass(frozen=True, slots=True)
class LearningConfig:
    # 25 gained less on seven of eight repositories, 100 as much in twice the time (+0.039 on average)
    steps: int = setting(50, "minimum number of training steps", least=1)
    # 12,000 pairs gained +0.064 in 4 passes, +0.098 in 12; 7,000 pairs +0.029 in 7, +0.053 in 22
    passes: int = setting(20, "minimum number of passes over the pairs", least=1)
    # also the number of candidates for each query; half as many gained no more on four repositories
    batch: int = setting(1024, "pairs per batch", least=2)
    # as in training; a quarter of it gained less on four of four repositories
    rate: float = setting(2e-3, "maximum learning rate", least=0.0)
    # at 0 it gained more than at 0.5 on three of four repositories, but learns no new synonym
    overlap_dropout: float = setting(
        0.25, "share of pairs whose code loses the terms shared with the query", least=0.0, most=1.0
    )
    # Wortsman et al. (2022, WiSE-FT) recommend half without validation data. On eight repositories 1.0 lost on three,
    # 0.5 on none; choosing it on more held-out files was noise (+0.029 against +0.039).
    blend: float = setting(
        0.5, "interpolation between the old vectors (0) and the learned ones (1)", least=0.0, most=1.0
    )


@dataclass(frozen=True, slots=True)
class AdaptConfig:
    """All settings of an adaptation."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held: HoldOutFiles = field(default_factory=HoldOutFiles)
    terms: NewTerms = field(default_factory=NewTerms)
    learning: LearningConfig = field(default_factory=LearningConfig)
    seed: int = setting(0, "seed of every random draw", least=0)
    # sums are rounded differently with another number of threads
    threads: int = setting(2, "threads of matrix products", least=1)

    def training(self, dimension: int, pairs: int) -> TrainConfig:
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
        none = HeldOutConfig(share=0.0)
        return TrainConfig(
            self.mining, kinds=self.kinds, held_out=none, vectors=vectors, seed=self.seed, threads=self.threads
        )


@dataclass(frozen=True, slots=True)
class AdaptRequest:
    repository: Path
    out: Path
    model: Path | None = None  # default: the bundled model


@dataclass(frozen=True, slots=True)
class Adapted:
    repository: GitRepo
    parent: str
    terms: int  # new terms
    pairs: dict[str, int]  # learned from, by kind
    row: ComparisonRow  # the comparison with the old model on held-out files
    directory: Path | None  # the new model; None if the old one is kept
    earlier: Path | None  # the model of an earlier run, if the old one is kept

    @property
    def verdict(self) -> str:
        return _VERDICTS.get(self.row.verdict or Verdict.INCONCLUSIVE, "not shown to be better")

    def about(self) -> dict[str, Any]:
        row = self.row
        return {
            "repository": {"name": self.repository.name, "url": self.repository.url, "commit": self.repository.commit},
            "parent": self.parent, "new_terms": self.terms, "pairs": self.pairs,
            "test": {
                "verdict": self.verdict, "measure": "nDCG@10", "old": row.baseline_mean, "new": row.mean,
                "difference": row.difference, "interval": [row.interval.low, row.interval.high],
                "level": row.interval.level, "p": row.p, "mde": row.mde, "questions": row.queries,
                "files": row.clusters, "wins": row.wins, "ties": row.ties, "losses": row.losses,
            },
        }  # fmt: skip


def adapt(request: AdaptRequest, config: AdaptConfig, tell: Tell) -> Adapted:
    """Adapt a model to a repository; write the adapted model if it is significantly better on held-out files."""
    work, out = request.out / WORK, request.out / MODEL_DIR
    with lock_output(request.out):
        parent, repository = load_base_model(request.model), open_repository(request.repository)
        whole = _mine(repository, config.mining, work)
        paths = tuple(entry.path for entry in list_files(repository))
        documented = {paths[number] for number in np.unique(whole.file[whole.kind == _DOC]).tolist()}
        if len(documented) < _FEWEST:
            problem = f"expected at least {_FEWEST} files with documentation comments, got {len(documented)}"
            raise InputError(problem, hint=_TOO_FEW)
        held = hold_out_files(documented, config.held, config.seed)
        tell(f"mined {len(whole):,} pairs of {repository.name}: {len(held)} files are held out for the test")
        shard = _mine(repository, config.mining, work, held)
        start = add_terms(parent, new_terms(parent, shard, config.terms))
        added = len(start.vocabulary) - len(parent.terms)
        pairs, every = (encode([one], start.vocabulary, HeldOutConfig(share=0.0)) for one in (shard, whole))
        tell(f"learning from {len(pairs):,} pairs, {added:,} new terms")
        test = find_questions(every, [number for number, path in enumerate(paths) if path in held], pairs)
        files = [paths[number] for number in every.file[test.asked].tolist()]  # the clusters of the comparison
        if len(set(files)) < DEFAULT.p_value_clusters:
            problem = f"too few test queries: {len(test.asked)} in {len(set(files))} files"
            raise InputError(f"{problem}; at least {DEFAULT.p_value_clusters} files are needed", hint=_TOO_FEW)
        with limit_threads(config.threads) as products:
            placed = _place_new_terms(parent, start, pairs, products)
            learned = _learn(start.vocabulary, placed, pairs, config, work, tell)
            table = blend(start.table, learned, config.learning.blend)
            grades = [grade(test, one, products).tolist() for one in (start.table, table)]
        before, after = (
            [QueryValue(str(nth), *one) for nth, one in enumerate(zip(values, files, strict=True))] for values in grades
        )
        names = RunNames("old", "adapted")
        row = compare_values(before, after, names=names, bounds=ValueRange(), seed=config.seed).rows[0]
        better = row.verdict is Verdict.BETTER
        directory, earlier = (out, None) if better else (None, out if out.exists() else None)
        identity = parent.model.identity.rpartition(" ")[2]
        adapted = Adapted(repository, identity, added, count_kinds(pairs), row, directory, earlier)
        if better:
            model = parent.model
            about = {"settings": asdict(config), "terms": len(start.vocabulary), **adapted.about()}
            manifest = {"parent": adapted.parent, "repositories": [about["repository"] | {"pairs": adapted.pairs}]}
            text = _LICENSE.format(parent=adapted.parent, repository=repository.name)
            source, target = (np.searchsorted(start.vocabulary.hashes, one) for one in (model.source, model.target))
            packed = pack(table, start.vocabulary, Translations(source, model.offset, target, model.strength))
            write_model(out, packed, start.vocabulary, about, manifest, text)
        return adapted


def _mine(repository: GitRepo, config: MiningConfig, work: Path, withheld: frozenset[str] = frozenset()) -> PairShard:
    digest = sha256("\n".join(sorted(withheld)).encode("utf-8", "surrogatepass")).hexdigest()
    key = shard_identity(repository, config, f"own {digest}")
    path = work / f"{'part' if withheld else 'whole'}-{key[:16]}.assay"

    def write() -> None:
        shard = mine_repository(repository, config, NO_EXCLUSIONS, LearningScope(own=True, withheld=withheld)).shard
        if shard is not None:  # never None with own=True
            write_shard(path, shard)

    if not path.exists():
        for grammar in GRAMMARS:
            load_grammar(grammar)
        for name, done in run_forked({repository.name: write}, _FORKED):
            if isinstance(error := done.exception(), InputError):
                raise error
            if error:
                raise SetupError(f"{name}: mining failed: {error}", hint="run the command again") from error
    return read_shard(path)


def hold_out_files(documented: Iterable[str], config: HoldOutFiles, seed: int) -> frozenset[str]:
    drawn = sorted(set(documented), key=lambda path: (draw_rank(seed, "adapt", path), path))
    return frozenset(drawn[: max(round(config.share * len(drawn)), min(config.files, len(drawn) // 2))])


def _learn(
    vocabulary: Vocabulary, table: EmbeddingTable, pairs: TrainingPairs, config: AdaptConfig, work: Path, tell: Tell
) -> EmbeddingTable:
    columns = (pairs.query_key, pairs.code_key, row_keys(pairs.path), pairs.kind, pairs.file)
    arrays = (*columns, vocabulary.hashes, table.vectors, table.asked, table.said)
    digests = [blake2b(np.ascontiguousarray(one).data, digest_size=16).hexdigest() for one in arrays]
    keep = work / f"adapted-{key_of(code_digests(), digests, asdict(config))}.assay"
    training = config.training(table.vectors.shape[1], len(pairs))

    def report(at: TrainProgress) -> None:
        tell(f"step {at.step}/{at.steps}: loss {at.loss:.3f}")

    return train_vectors(pairs, table, training, keep=keep, tell=report).table


def blend(old: EmbeddingTable, new: EmbeddingTable, share: float) -> EmbeddingTable:
    """Interpolate between two tables; vectors are rounded as in a model file."""
    vectors, asked, said = (
        (one + np.float32(share) * (other - one)).astype(np.float32)
        for one, other in ((old.vectors, new.vectors), (old.asked, new.asked), (old.said, new.said))
    )
    small, scale = quantize(vectors)
    return EmbeddingTable(small * scale[:, None], asked, said)


class InitialModel(NamedTuple):
    vocabulary: Vocabulary
    table: EmbeddingTable


@dataclass(frozen=True, slots=True)
class BaseModel:
    model: StaticModel
    terms: tuple[str, ...]


def load_base_model(directory: Path | None) -> BaseModel:
    """Load a model directory, or the bundled model if None; raise ConfigError if the vocabulary does not match."""
    model = open_static(directory)
    source = directory if directory else resources.files("assay.data").joinpath("model")
    try:
        text = source.joinpath(TERMS).read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeError) as error:
        problem = f"cannot read the vocabulary of the model: {error}"
        raise ConfigError(problem, file=str(source), hint="pass a directory that `assay train` wrote") from error
    terms = tuple(text.split("\n")[:-1])
    if [term_hash(term) for term in terms] != model.term.tolist():
        problem = f"{TERMS} does not belong to the model in this directory"
        raise ConfigError(problem, file=str(source), hint="copy the whole directory that `assay train` wrote")
    return BaseModel(model, terms)


def new_terms(parent: BaseModel, shard: PairShard, config: NewTerms) -> tuple[str, ...]:
    """Return the frequent terms of a shard that are not in the model, most frequent first."""
    used = np.concatenate([bags.term for bags in (shard.query, shard.code, shard.path)])
    uses = np.bincount(used, minlength=len(shard.words))
    known = parent.model.rows(np.array([term_hash(word) for word in shard.words], np.uint64)) >= 0
    counted = sorted((-int(uses[row]), shard.words[row]) for row in np.flatnonzero(~known).tolist())
    return tuple(word for count, word in counted[: config.most] if -count >= config.pairs)


def add_terms(parent: BaseModel, terms: Sequence[str]) -> InitialModel:
    """Add terms with the median weight and zero vectors, which do not change the results of the model."""
    model = parent.model
    vocabulary = make_vocabulary((*parent.terms, *terms))
    rows = np.searchsorted(vocabulary.hashes, model.term)
    vectors = np.zeros((len(vocabulary), model.dimension), dtype=np.float32)
    vectors[rows] = model.vectors(np.arange(len(model.term)))

    def log_weights(weight: NDArray[np.float32]) -> NDArray[np.float32]:
        known = np.log(np.maximum(weight, np.finfo(np.float32).tiny))
        logs = np.full(len(vocabulary), np.median(known), dtype=np.float32)
        logs[rows] = known
        return logs

    return InitialModel(vocabulary, EmbeddingTable(vectors, log_weights(model.asked), log_weights(model.said)))


def _place_new_terms(
    parent: BaseModel, start: InitialModel, pairs: TrainingPairs, products: Products
) -> EmbeddingTable:
    """Set the vector of each new term to the mean code vector of its pairs, scaled to the median length.

    With zero vectors, a query of only new terms would have no direction and no gradient, so its pair would teach
    nothing. The mean of all code vectors is subtracted first, since it does not distinguish terms.
    """
    table, size = start.table, len(start.vocabulary)
    new = np.flatnonzero(parent.model.rows(start.vocabulary.hashes) < 0)
    code = pool(as_matrix(pairs.code, size), table.said, table.vectors, products).unit
    occurs = sum(as_matrix(bags, size) for bags in (pairs.query, pairs.code, pairs.path))
    occurs.data[:] = 1.0
    means = products.rows(occurs.T.tocsr()[new], code - code.mean(axis=0))
    known = np.sqrt(np.einsum("td,td->t", table.vectors, table.vectors))
    vectors = table.vectors.copy()
    vectors[new] = unit_rows(means) * np.median(known[known > 0])
    return EmbeddingTable(vectors, table.asked, table.said)


@dataclass(frozen=True, slots=True)
class Questions:
    pairs: TrainingPairs
    asked: NDArray[np.int64]
    codes: NDArray[np.int64]


def find_questions(pairs: TrainingPairs, files: Collection[int], learned: TrainingPairs) -> Questions:
    """Use the comments of the held-out files as queries, except if the query or the code also occurs in training."""
    known = np.isin(pairs.query_key, learned.query_key) | np.isin(pairs.code_key, learned.code_key)
    asks = (pairs.kind == _DOC) & np.isin(pairs.file, sorted(files)) & ~known
    return Questions(pairs, np.flatnonzero(asks), np.flatnonzero(np.isin(pairs.kind, (_DOC, _NAME))))


def grade(questions: Questions, table: EmbeddingTable, products: Products) -> NDArray[np.float64]:
    """Return nDCG@10 of each query, which has one target: 1 / log2(1 + rank), and 0 beyond rank 10."""
    pairs, asked, codes = questions.pairs, questions.asked, questions.codes
    size = len(table.vectors)
    query = pool(as_matrix(take_rows(pairs.query, asked), size), table.asked, table.vectors, products).unit
    code = pool(code_matrix(pairs, codes, size), table.said, table.vectors, products).unit
    scores = query @ code.T
    own = scores[np.arange(len(asked)), np.searchsorted(codes, asked)][:, None]
    relevant = pairs.code_key[asked][:, None] == pairs.code_key[codes][None, :]
    relevant |= pairs.query_key[asked][:, None] == pairs.query_key[codes][None, :]
    relevant |= (pairs.file[asked][:, None] == pairs.file[codes][None, :]) & (pairs.kind[codes] == _NAME)[None, :]
    rank = 1 + ((scores > own) & ~relevant).sum(axis=1) + ((scores == own) & ~relevant).sum(axis=1) / 2
    return np.asarray(np.where(rank <= _DEPTH, 1 / np.log2(1 + rank), 0.0))


def code_matrix(pairs: TrainingPairs, rows: NDArray[np.int64], terms: int) -> Any:  # noqa: ANN401 - scipy has no stubs
    """Count the terms of code and paths together, as an index does, and scale the counts as a search does."""
    code = take_rows(pairs.code, rows)
    counts = Bags(code.offset, code.term, code.count ** (1 / TF_POWER))
    matrix = as_matrix(join_rows(counts, take_rows(pairs.path, rows)), terms)
    matrix.sum_duplicates()
    matrix.data = matrix.data**TF_POWER
    return matrix
