"""`assay train` without its flags: mine, learn, pack; told in lines, and begun again where it was interrupted."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import Field, asdict, dataclass, fields, is_dataclass
from hashlib import blake2b, sha256
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.digests import digest_of
from assay.errors import ConfigError, InputError, SetupError
from assay.files import remove_leftovers, sync_folder, write_atomic
from assay.search.index_files import LockTimeout, writer_lock
from assay.settings import joined, leaves, nested, read_settings
from assay.store import code_digest
from assay.store.array_file import JSON, write_store
from assay.toml import TomlFile, line_of, read_toml
from assay.training.config import TrainConfig
from assay.training.dataset import (
    TF_POWER,
    HardNegatives,
    Pairs,
    Vocabulary,
    choose_vocabulary,
    encode,
    find_hard,
    kinds_of,
    read_hard,
    read_pairs,
    read_vocabulary,
    write_hard,
    write_pairs,
    write_vocabulary,
)
from assay.training.exclusion import ExclusionIndex, Exclusions
from assay.training.mine import Event, MiningPlan, prepare
from assay.training.shards import KINDS, RepoReport, read_report, read_shard
from assay.training.translations import Translations, learn_translations, read_translations, write_translations
from assay.training.vectors import EmbeddingTable, Trained, TrainProgress, random_table, train_vectors

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
class InitialModel:
    """A model to start from in place of random numbers: its terms, and what is known of them."""

    vocabulary: Vocabulary
    table: EmbeddingTable


def learn(
    shards: Sequence[Path], config: TrainConfig, work: Path, tell: Tell, start: InitialModel | None = None
) -> Learned:
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
    path = work / f"vocabulary-{key_of(base, asdict(config.vocabulary))}.txt"
    if path.exists():
        return read_vocabulary(path)
    vocabulary = choose_vocabulary(map(read_shard, shards), config.vocabulary)
    write_vocabulary(path, vocabulary)
    tell(f"vocabulary: {len(vocabulary):,} terms")
    return vocabulary


def _pairs(shards: Sequence[Path], vocabulary: Vocabulary, config: TrainConfig, path: Path, tell: Tell) -> Pairs:
    if not path.exists():
        pairs = encode(map(read_shard, shards), vocabulary, config.held_out)
        write_pairs(path, pairs)
        tell(f"pairs: {len(pairs):,} of {len(pairs.repositories)} repositories, {pairs.held_out.sum():,} held out")
    return read_pairs(path)


def _hard(pairs: Pairs, config: TrainConfig, work: Path, within: str, tell: Tell) -> HardNegatives | None:
    own = config.vectors
    if not own.hard.share:
        return None
    path = work / f"hard-{key_of(within, asdict(own.hard) | {'share': 0}, own.same_file, config.seed)}.assay"
    if not path.exists():
        write_hard(path, find_hard(pairs, own.same_file, own.hard, config.seed))
        tell(f"hard negatives: of {len(read_hard(path).rows):,} questions")
    return read_hard(path)


def _translations(pairs: Pairs, terms: int, config: TrainConfig, work: Path, within: str, tell: Tell) -> Translations:
    path = work / f"translations-{key_of(within, asdict(config.translations))}.assay"
    if not path.exists():
        write_translations(path, learn_translations(pairs, terms, config.translations))
        tell(f"translations: of {len(read_translations(path).source):,} terms")
    return read_translations(path)


def _line(at: TrainProgress) -> str:
    seen = at.grade
    return (
        f"step {at.step}/{at.steps}: loss {at.loss:.3f}, temperature {at.temperature:.4f}; {seen.questions} held-out "
        f"questions: {seen.first:.3f} right at once, MRR {seen.reciprocal:.3f}; "
        f"without shared words {seen.bare_first:.3f}, {seen.bare_reciprocal:.3f}"
    )


def _digests(shards: Sequence[Path]) -> list[str]:
    if not shards:
        raise InputError("there is nothing to train on", hint="name a folder of permissively licensed repositories")
    return sorted(blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in shards)


def start_digest(start: InitialModel) -> list[str]:
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


T = TypeVar("T")


def read_recipe(path: Path, kind: type[T]) -> T:
    """Read a recipe of any kind; what it does not say is as there."""
    file = read_toml(path, hint="write a recipe, or leave --recipe out")
    _check(file, kind)
    config = read_settings(kind, file.data, "recipe")
    for dotted, field, value in settings_of(config, ""):
        if wanted := _breach(field, value):
            raise ConfigError(f"{dotted} = {value!r}", file=path, line=line_of(file.text, dotted), hint=wanted)
    return config


def _check(file: TomlFile, kind: type[T]) -> None:
    """Read each setting for itself, so that an error has its line."""
    for names, value in leaves(file.data):
        try:
            read_settings(kind, nested(names, value), "recipe")
        except ConfigError as error:
            line = line_of(file.text, joined(names))
            raise ConfigError(error.message, file=file.path, line=line, hint=error.hint) from error


def settings_of(record: object, prefix: str) -> Iterator[tuple[str, Field[Any], Any]]:
    """List the settings of a record and of the records in it, by dotted name."""
    for field in fields(cast(Any, record)):
        value = getattr(record, field.name)
        if is_dataclass(value):
            yield from settings_of(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field, value


def _breach(field: Field[Any], value: float) -> str | None:
    """Say what a number must be, if it is not."""
    least, most = field.metadata.get("least"), field.metadata.get("most")
    if (least is None or value >= least) and (most is None or value <= most):
        return None
    return f"it must be {least:g} or more" if most is None else f"it must be from {least:g} to {most:g}"


FORMAT: Final = 1
WEIGHTS, TERMS, MODEL, MANIFEST, LICENCE = (
    "weights.assay", "vocabulary.txt", "model.json", "manifest.json", "LICENCE.md",
)  # fmt: skip
_MOST: Final = 127  # of an int8; -128 has no counterpart

_LICENCE_TEXT: Final = """\
# Licence of this model

The weights, the vocabulary and the tables in this folder are under the MIT licence, like Assay itself.

They were learned from random numbers; no weights of anybody else are in them. What they were learned from is listed in
manifest.json: each repository with its address, its commit and its licence, all of them permissive. None of its code or
text is in this folder, only words and numbers that were counted and learned over many repositories.
"""


@dataclass(frozen=True, slots=True)
class PackedModel:
    """The arrays of a model, and a name for them that changes with any bit."""

    arrays: Mapping[str, NDArray[Any]]
    identity: str


def pack(table: EmbeddingTable, vocabulary: Vocabulary, translations: Translations) -> PackedModel:
    """Make the arrays that a search reads; terms are named by their hashes."""
    vector, scale = quantise(table.vectors)
    source, offset, target, strength = _by_hash(translations, vocabulary.hashes)
    arrays: dict[str, NDArray[Any]] = {
        "term": vocabulary.hashes, "vector": vector, "scale": scale,
        "asked": np.exp(table.asked), "said": np.exp(table.said),
        "source": source, "offset": offset, "target": target, "strength": strength,
    }  # fmt: skip
    return PackedModel(arrays, _identity(arrays))


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Write each row as whole numbers from -127 to 127 times a scale."""
    scale = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), np.finfo(np.float32).tiny) / np.float32(_MOST)
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _by_hash(
    table: Translations, hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8]]:
    return hashes[table.source], table.offset, hashes[table.target], table.strength


def _identity(arrays: Mapping[str, NDArray[Any]]) -> str:
    found = sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode("ascii"))
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def write_model(
    folder: Path,
    packed: PackedModel,
    vocabulary: Vocabulary,
    about: Mapping[str, Any],
    manifest: Mapping[str, Any],
    licence: str = _LICENCE_TEXT,
) -> None:
    """Write a model folder whole; one that stood there is replaced at the end."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        made.chmod(0o755)
        _write_files(made, packed, vocabulary, about, manifest)
        write_atomic(made / LICENCE, licence)
        _swap(made, folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write_files(
    folder: Path, packed: PackedModel, vocabulary: Vocabulary, about: Mapping[str, Any], manifest: Mapping[str, Any]
) -> None:
    dimension = int(packed.arrays["vector"].shape[1])
    meta: dict[str, JSON] = {"format": FORMAT, "dimension": dimension, "tf": TF_POWER, "identity": packed.identity}
    write_store(folder / WEIGHTS, meta, packed.arrays)
    write_vocabulary(folder / TERMS, vocabulary)
    write_atomic(folder / MODEL, _json({"format": FORMAT, "identity": packed.identity, **about}))
    write_atomic(folder / MANIFEST, _json(manifest))


def _swap(made: Path, folder: Path) -> None:
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        folder.replace(old)
        made.replace(folder)
        shutil.rmtree(old)
    else:
        made.replace(folder)
    sync_folder(folder.parent)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _unwritable(folder: Path, error: OSError) -> SetupError:
    return SetupError(
        f"the model cannot be written: {error.strerror or error}", file=folder, hint="name another folder with --out"
    )


def make_model(
    shards: Sequence[Path],
    config: TrainConfig,
    work: Path,
    out: Path,
    *,
    manifest: Mapping[str, Any],
    tell: Tell = lambda _: None,
    start: InitialModel | None = None,
) -> PackedModel:
    """Learn, pack and write; `work` keeps what is done, `out` is replaced whole at the end."""
    learned = learn(shards, config, work, tell, start)
    packed = pack(learned.trained.table, learned.vocabulary, learned.translations)
    write_model(out, packed, learned.vocabulary, learned.about(config), manifest)
    tell(f"model {packed.identity[:12]} in {out}")
    return packed


WORK, MODEL_DIR = "work", "model"
_SHOWN: Final = 3  # reasons or names that a line has room for


@dataclass(frozen=True, slots=True)
class Order:
    """What to train on and where to."""

    folder: Path
    out: Path
    exclusions: Exclusions
    corpora: Path | None = None  # repositories whose code is never learned from
    workers: int | None = None


def train(order: Order, config: TrainConfig, tell: Tell) -> PackedModel:
    """Make the model of a folder of repositories."""
    work = order.out / WORK
    with alone(order.out):
        ready = prepare(order.folder, config.mining, work, order.exclusions, order.workers, corpora=order.corpora)
        if ready.barrier.unchecked:
            tell(unchecked_line(ready.barrier.unchecked))
        reports = _mined(ready, tell)
        used = {report.repository for report in reports if sum(report.pairs.values())}
        if not used:
            raise InputError("no repository gave a pair", file=order.folder, hint=_why_none(reports))
        shards, manifest = _shards(work / "shards", used), make_manifest(reports, ready.barrier)
        return make_model(shards, config, work, order.out / MODEL_DIR, manifest=manifest, tell=tell)


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep other trainings away from a folder, and remove what one that was killed left half-written."""
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(out / WORK, LockTimeout(seconds=0)))
        except SetupError as error:
            raise SetupError("this folder is taken or cannot be written", file=out, hint=error.hint) from error
        remove_leftovers(out / WORK / "shards")
        for half in sorted(out.glob(f".{MODEL_DIR}.*")):
            shutil.rmtree(half)
        yield


def unchecked_line(names: Sequence[str]) -> str:
    """Say of which excluded repositories copies go unnoticed."""
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return (
        f"NOT checked for copies: code of {len(names)} excluded repositories that are not here or cannot be read "
        f"({shown}); lay them under --exclude-corpora"
    )


def _mined(ready: MiningPlan, tell: Tell) -> list[RepoReport]:
    reports: list[RepoReport] = []
    for event in ready.mine():
        reports.append(event.report)
        tell(_line_run(event))
    reports.sort(key=lambda report: report.repository)
    for report in reports:
        if report.reason.startswith("failed:"):  # a model without it would not be the model of these repositories
            hint = "run it again: the others are not mined a second time; or list it in the file of --exclude"
            raise SetupError(f"{report.repository}: mining {report.reason}", hint=hint)
    return reports


def _line_run(event: Event) -> str:
    report = event.report
    found = report.reason or f"{sum(report.pairs.values()):,} pairs, {report.licence}"
    return f"mined {event.done}/{event.total}: {report.repository}: {found}"


def _shards(folder: Path, names: set[str]) -> list[Path]:
    found = ((path, read_report(path)) for path in sorted(folder.glob("*.json")))
    return [path.with_suffix(".assay") for path, report in found if report and report.repository in names]


def make_manifest(reports: Sequence[RepoReport], barrier: ExclusionIndex) -> dict[str, Any]:
    """List what a model was learned from, and whose copied code was looked for; what was left out is only counted."""
    used = [report.to_json() for report in reports if sum(report.pairs.values())]
    left_out = Counter(_category(report) for report in reports if not sum(report.pairs.values()))
    kinds = {kind: sum(report.pairs.get(kind, 0) for report in reports) for kind in KINDS}
    windows = {"checked": dict(barrier.checked), "not_checked": list(barrier.unchecked)}
    return {"repositories": used, "pairs": kinds, "left_out": dict(sorted(left_out.items())), "windows": windows}


def _category(report: RepoReport) -> str:
    if "exclusion list" in report.reason:
        return "on the exclusion list"
    return report.reason.partition(":")[0] or "no pairs"


def _why_none(reports: Sequence[RepoReport]) -> str:
    reasons = Counter(_category(report) for report in reports).most_common(_SHOWN)
    shown = ", ".join(f"{reason} ({count})" for reason, count in reasons)
    return f"{shown}; add permissively licensed repositories with documented code"
