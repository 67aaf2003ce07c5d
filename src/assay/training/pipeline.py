"""Train a model from mined pairs; a repeated training reuses the finished steps of an interrupted one."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b, sha256
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.digests import code_digest, digest_of
from assay.errors import ConfigError, InputError, SetupError
from assay.files import remove_leftovers, sync_directory, write_atomic
from assay.settings import iter_leaves, nest, read_settings
from assay.store.array_file import JSON, read_store, write_store
from assay.store.store import writer_lock
from assay.toml import find_line, read_toml, write_key
from assay.training.config import MiningConfig, TrainConfig
from assay.training.dataset import (
    TF_POWER,
    HardNegatives,
    TrainingPairs,
    Vocabulary,
    choose_vocabulary,
    count_kinds,
    encode,
    find_hard,
    read_pairs,
    read_vocabulary,
    write_pairs,
    write_vocabulary,
)
from assay.training.mining import prepare
from assay.training.selection import ExclusionIndex, Exclusions
from assay.training.shards import KINDS, RepoReport, read_report, read_shard
from assay.training.translations import Translations, learn_translations, read_translations, write_translations
from assay.training.vectors import EmbeddingTable, Trained, TrainProgress, random_table, train_vectors

T = TypeVar("T")
Tell = Callable[[str], None]  # prints a line of progress

FORMAT: Final = 1
WORK, MODEL_DIR = "work", "model"
WEIGHTS, TERMS, MODEL, MANIFEST, LICENSE = (
    "weights.assay", "vocabulary.txt", "model.json", "manifest.json", "LICENCE.md",
)  # fmt: skip
_KEY_DIGITS: Final = 16  # 64 bits, for a directory with a few dozen files
_SHOWN: Final = 3  # reasons or names listed in a message
_LARGEST: Final = 127  # of an int8; -128 has no counterpart

_LICENSE_TEXT: Final = """\
# License of this model

The weights, the vocabulary and the tables in this directory are under the MIT license, like Assay itself.

Training started from random numbers, not from the weights of another model. manifest.json lists the training data: each
repository with its URL, commit and license, all of them permissive. This directory contains none of their code or text,
only words and numbers that were counted and learned over many repositories.
"""


@dataclass(frozen=True, slots=True)
class TrainRequest:
    directory: Path
    out: Path
    exclusions: Exclusions
    corpora: Path | None = None  # repositories whose code is never learned from
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class PackedModel:
    arrays: Mapping[str, NDArray[Any]]
    identity: str


def train(request: TrainRequest, config: TrainConfig, tell: Tell) -> PackedModel:
    work, out = request.out / WORK, request.out / MODEL_DIR
    with lock_output(request.out):
        shards, manifest = mine_shards(request, config.mining, tell)
        learned = learn(shards, config, work, tell)
        packed = pack(learned.trained.table, learned.vocabulary, learned.translations)
        write_model(out, packed, learned.vocabulary, learned.about(config), manifest)
        tell(f"model {packed.identity[:12]} in {out}")
        return packed


def mine_shards(request: TrainRequest, config: MiningConfig, tell: Tell) -> tuple[list[Path], dict[str, Any]]:
    """Mine all repositories of a request; return the paths of their shards, and the manifest."""
    work = request.out / WORK
    plan = prepare(request.directory, config, work, request.exclusions, request.workers, corpora=request.corpora)
    if plan.excluded.unchecked:
        tell(format_unchecked(plan.excluded.unchecked))
    reports: list[RepoReport] = []
    for event in plan.mine():
        report = event.report
        reports.append(report)
        outcome = report.reason or f"{sum(report.pairs.values()):,} pairs, {report.licence}"
        tell(f"mined {event.done}/{event.total}: {report.repository}: {outcome}")
    reports.sort(key=lambda report: report.repository)
    used = _check_reports(reports, request.directory)
    read_reports = ((path, read_report(path)) for path in sorted((work / "shards").glob("*.json")))
    shards = [path.with_suffix(".assay") for path, report in read_reports if report and report.repository in used]
    return shards, make_manifest(reports, plan.excluded)


@contextmanager
def lock_output(out: Path) -> Iterator[None]:
    """Lock an output directory, and remove incomplete files of an interrupted training."""
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(out / WORK, 0.0))
        except SetupError as error:
            raise SetupError("the output directory is in use or not writable", file=out, hint=error.hint) from error
        remove_leftovers(out / WORK / "shards")
        for half in sorted(out.glob(f".{MODEL_DIR}.*")):
            shutil.rmtree(half)
        yield


def format_unchecked(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return (
        f"not checked for copies: {len(names)} excluded repositories that are missing or unreadable ({shown}); "
        "add these repositories with --exclude-corpora"
    )


def _check_reports(reports: Sequence[RepoReport], directory: Path) -> set[str]:
    """Return the names of the repositories with pairs; raise if mining one failed or if none has pairs."""
    for report in reports:
        if report.reason.startswith("failed:"):  # the model must cover all repositories
            hint = "run the command again, or add the repository to the --exclude file"
            raise SetupError(f"{report.repository}: mining {report.reason}", hint=hint)
    used = {report.repository for report in reports if sum(report.pairs.values())}
    if not used:
        reasons = Counter(_category(report) for report in reports).most_common(_SHOWN)
        shown = ", ".join(f"{reason} ({count})" for reason, count in reasons)
        hint = "add permissively licensed repositories with documented code"
        raise InputError(f"no pairs found: {shown}", file=directory, hint=hint)
    return used


def make_manifest(reports: Sequence[RepoReport], excluded: ExclusionIndex) -> dict[str, Any]:
    used = [asdict(report) for report in reports if sum(report.pairs.values())]
    left_out = Counter(_category(report) for report in reports if not sum(report.pairs.values()))
    kinds = {kind: sum(report.pairs.get(kind, 0) for report in reports) for kind in KINDS}
    windows = {"checked": dict(excluded.checked), "not_checked": list(excluded.unchecked)}
    return {"repositories": used, "pairs": kinds, "left_out": dict(sorted(left_out.items())), "windows": windows}


def _category(report: RepoReport) -> str:
    return (
        "on the exclusion list" if "exclusion list" in report.reason else report.reason.partition(":")[0] or "no pairs"
    )


@dataclass(frozen=True, slots=True)
class Learned:
    vocabulary: Vocabulary
    pairs: TrainingPairs
    trained: Trained
    translations: Translations

    def about(self, config: TrainConfig) -> dict[str, Any]:
        pairs = self.pairs
        return {
            "settings": asdict(config),
            "terms": len(self.vocabulary),
            "repositories": len(pairs.repositories),
            "held_out": sorted({pairs.repositories[number] for number in np.unique(pairs.repository[pairs.held_out])}),
            "pairs": count_kinds(pairs),
            "translations": {"terms": len(self.translations.source), "entries": len(self.translations.target)},
            "temperature": round(self.trained.temperature, 6),
            "reports": [asdict(report) for report in self.trained.reports],
        }


def learn(shards: Sequence[Path], config: TrainConfig, work: Path, tell: Tell) -> Learned:
    """Learn a model from shards, reusing earlier results in `work`."""
    digests = sorted(blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in shards)
    base = key_of(digests, code_digests(), {})
    path = work / f"vocabulary-{key_of(base, asdict(config.vocabulary))}.txt"
    if path.exists():
        vocabulary = read_vocabulary(path)
    else:
        vocabulary = choose_vocabulary(map(read_shard, shards), config.vocabulary)
        write_vocabulary(path, vocabulary)
        tell(f"vocabulary: {len(vocabulary):,} terms")
    key = key_of(base, asdict(config.vocabulary), asdict(config.held_out))
    path = work / f"pairs-{key}.assay"
    if not path.exists():
        pairs = encode(map(read_shard, shards), vocabulary, config.held_out)
        write_pairs(path, pairs)
        tell(f"pairs: {len(pairs):,} of {len(pairs.repositories)} repositories, {pairs.held_out.sum():,} held out")
    pairs = read_pairs(path)
    hard, own = None, config.vectors
    if own.hard.share:
        path = work / f"hard-{key_of(key, asdict(own.hard) | {'share': 0}, own.same_file, config.seed)}.assay"
        if not path.exists():
            negatives = find_hard(pairs, own.same_file, own.hard, config.seed)
            write_store(path, {}, {"rows": negatives.rows, "wrong": negatives.wrong})
            tell(f"hard negatives: {len(negatives.rows):,} queries")
        hard = HardNegatives(**read_store(path).arrays)

    def report(at: TrainProgress) -> None:
        score = at.grade
        tell(
            f"step {at.step}/{at.steps}: loss {at.loss:.3f}, temperature {at.temperature:.4f}; {score.questions} "
            f"held-out queries: success@1 {score.first:.3f}, MRR {score.reciprocal:.3f}; "
            f"without shared words {score.bare_first:.3f}, {score.bare_reciprocal:.3f}"
        )

    table = random_table(pairs, len(vocabulary), own, config.seed)
    keep = key_of(key, asdict(own), asdict(config.kinds), config.seed, config.threads)
    trained = train_vectors(pairs, table, config, hard, keep=work / f"vectors-{keep}.assay", tell=report)
    path = work / f"translations-{key_of(key, asdict(config.translations))}.assay"
    if not path.exists():
        write_translations(path, learn_translations(pairs, len(vocabulary), config.translations))
        tell(f"translations: {len(read_translations(path).source):,} terms")
    return Learned(vocabulary, pairs, trained, read_translations(path))


def code_digests() -> dict[str, str]:
    home = resources.files("assay").joinpath("training")
    modules = [f"training/{file.name}" for file in home.iterdir() if file.name.endswith(".py")]
    return {"code": code_digest(*modules)} | {name: metadata.version(name) for name in ("numpy", "scipy")}


def key_of(*facts: object) -> str:
    return digest_of(facts)[:_KEY_DIGITS]


def read_recipe(path: Path, kind: type[T]) -> T:
    """Read a recipe; missing settings get their defaults."""
    file = read_toml(path, hint="check the path, or remove --recipe")
    for names, value in iter_leaves(file.data):  # one by one, so that errors have a line number
        try:
            read_settings(kind, nest(names, value), "recipe")
        except ConfigError as error:
            line = find_line(file.text, write_key(names))
            raise ConfigError(error.message, file=file.path, line=line, hint=error.hint) from error
    return read_settings(kind, file.data, "recipe")


def pack(table: EmbeddingTable, vocabulary: Vocabulary, translations: Translations) -> PackedModel:
    vector, scale = quantize(table.vectors)
    hashes = vocabulary.hashes
    arrays: dict[str, NDArray[Any]] = {
        "term": hashes, "vector": vector, "scale": scale,
        "asked": np.exp(table.asked), "said": np.exp(table.said),
        "source": hashes[translations.source], "offset": translations.offset,
        "target": hashes[translations.target], "strength": translations.strength,
    }  # fmt: skip
    digest = sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode("ascii"))
        digest.update(np.ascontiguousarray(array).data)
    return PackedModel(arrays, digest.hexdigest())


def quantize(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return each row as integers from -127 to 127, and its scale."""
    scale = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), np.finfo(np.float32).tiny) / np.float32(_LARGEST)
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def write_model(
    directory: Path,
    packed: PackedModel,
    vocabulary: Vocabulary,
    about: Mapping[str, Any],
    manifest: Mapping[str, Any],
    license_text: str = _LICENSE_TEXT,
) -> None:
    """Write a model directory, replacing an existing one only when the new one is complete."""
    dimension, identity = int(packed.arrays["vector"].shape[1]), packed.identity
    meta: dict[str, JSON] = {"format": FORMAT, "dimension": dimension, "tf": TF_POWER, "identity": identity}
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}.") as temporary:
            made = Path(temporary, "new")
            made.mkdir()
            made.chmod(0o755)
            write_store(made / WEIGHTS, meta, packed.arrays)
            write_vocabulary(made / TERMS, vocabulary)
            write_atomic(made / MODEL, dump_json({"format": FORMAT, "identity": identity, **about}))
            write_atomic(made / MANIFEST, dump_json(manifest))
            write_atomic(made / LICENSE, license_text)
            if directory.exists():
                directory.replace(Path(temporary, "old"))
            made.replace(directory)
            sync_directory(directory.parent)
    except OSError as error:
        problem = f"cannot write the model: {error.strerror or error}"
        raise SetupError(problem, file=directory, hint="use another directory with --out") from error


def dump_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
